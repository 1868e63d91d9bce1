// The three streams a program is started with, which have no owner, and the writing of everything
// to a descriptor that may make us wait, for logs and command line tools.

internal import CLinux
internal import Glibc

/// A stream that the program was started with; it is never closed here.
package enum StandardStream: CInt, Sendable, CaseIterable {
    case input = 0
    case output = 1
    case error = 2

    /// The numbers below this one belong to the standard streams.
    static let count: CInt = 3

    /// Whether a person sits at the other end.
    ///
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: isatty(3).
    package var isTerminal: Bool { isatty(rawValue) == 1 }

    /// Writes all of `bytes`.
    ///
    /// - Throws: EPIPE when the reader is gone, ENOSPC, EIO.
    /// - Thread: any; two threads' bytes may mix when they are more than PIPE_BUF (4,096).
    /// - Blocks: until the reader took everything.
    package func write(everything bytes: [UInt8]) throws(SystemError) {
        try writeAll(bytes, to: rawValue)
    }

    /// Writes `bytes` as far as the reader takes them in time.
    ///
    /// - Parameter milliseconds: how long is waited for a reader that takes nothing.
    /// - Returns: how many were written.
    /// - Throws: EPIPE when the reader is gone, ENOSPC, EIO.
    /// - Thread: one at a time, or what others write comes in between, and is waited for.
    /// - Blocks: so long at most, each time that the reader takes nothing.
    /// - Source: poll(2), pipe(7): what is writable takes PIPE_BUF bytes.
    package func write(
        _ bytes: [UInt8], withinMilliseconds milliseconds: Int
    ) throws(SystemError) -> Int {
        var count = 0
        while count < bytes.count {
            let isReady = try waitUntilReady(
                rawValue, for: CShort(POLLOUT), timeoutMilliseconds: CInt(milliseconds))
            guard isReady else { break }
            let piece = Array(bytes[count...].prefix(Int(PIPE_BUF)))
            try writeAll(piece, to: rawValue)
            count += piece.count
        }
        return count
    }

    /// Reads to the end.
    ///
    /// - Throws: EFBIG when there is more than `byteCountMax`; EIO, EISDIR.
    /// - Thread: any.
    /// - Blocks: until the writer closes its end.
    package func read(atMost byteCountMax: Int) throws(SystemError) -> [UInt8] {
        let descriptor = try duplicate()
        return try descriptor.readEverything("standard input", atMost: byteCountMax)
    }

    /// A descriptor of the same stream, which has an owner.
    ///
    /// - Throws: EMFILE; EBADF if the program was started without the stream.
    /// - Thread: any.
    /// - Blocks: never.
    package func duplicate() throws(SystemError) -> Descriptor {
        let copy = clinux_fcntl(rawValue, F_DUPFD_CLOEXEC, StandardStream.count)
        guard copy >= 0 else { throw SystemError(operation: "fcntl F_DUPFD", errno: -copy) }
        return Descriptor(owning: copy)
    }

    /// Opens `/dev/null` in place of each standard stream that the program was started without.
    ///
    /// Otherwise the first sockets would get those numbers, and the log would be written to them.
    ///
    /// - Throws: what open says.
    /// - Thread: the main thread, before others start.
    /// - Blocks: never.
    package static func openMissing() throws(SystemError) {
        while true {
            let number = try retrying("open /dev/null") {
                unsafe clinux_open("/dev/null", O_RDWR, 0)
            }
            if number >= count {
                _ = Glibc.close(number)
                return
            }
        }
    }
}

extension Descriptor {
    /// Writes all of `bytes`, also to a descriptor that is set non-blocking.
    ///
    /// - Throws: EPIPE when the reader is gone, ENOSPC, EIO.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: until the reader took everything.
    package borrowing func write(everything bytes: [UInt8]) throws(SystemError) {
        try writeAll(bytes, to: number)
    }

    /// Reads the next bytes, also from a descriptor that is set non-blocking.
    ///
    /// - Returns: false at the end.
    /// - Throws: EIO, EISDIR.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: until there is something.
    package borrowing func readSome(
        appendingTo bytes: inout [UInt8], atMost byteCountMax: Int
    ) throws(SystemError) -> Bool {
        while true {
            switch try read(appendingTo: &bytes, atMost: byteCountMax) {
            case .bytes: return true
            case .end: return false
            case .wouldBlock: try waitUntilReady(number, for: CShort(POLLIN))
            }
        }
    }

    /// Reads to the end, also from a descriptor that is set non-blocking.
    ///
    /// - Throws: EFBIG when there is more than `byteCountMax`; EIO, EISDIR.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: until the end.
    package borrowing func readEverything(
        _ what: String, atMost byteCountMax: Int
    ) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            // One byte more than allowed tells "exactly full" from "too much".
            let room = min(65_535, byteCountMax - bytes.count) + 1
            switch try read(appendingTo: &bytes, atMost: room) {
            case .end: return bytes
            case .wouldBlock: try waitUntilReady(number, for: CShort(POLLIN))
            case .bytes:
                if bytes.count > byteCountMax {
                    throw SystemError(
                        operation: "read \(what), at most \(byteCountMax) bytes", errno: EFBIG)
                }
            }
        }
    }
}

private func writeAll(_ bytes: [UInt8], to number: CInt) throws(SystemError) {
    var offset = 0
    while offset < bytes.count {
        do throws(SystemError) {
            offset += try retrying("write") {
                unsafe bytes.withUnsafeBytes { bytes in
                    unsafe Glibc.write(
                        number, bytes.baseAddress.map { unsafe $0 + offset }, bytes.count - offset)
                }
            }
        } catch {
            guard error.errno == EAGAIN else { throw error }
            // Another process that shares the terminal or pipe may have set it non-blocking.
            try waitUntilReady(number, for: CShort(POLLOUT))
        }
    }
}

/// Waits until one descriptor is ready.
///
/// - Parameter timeoutMilliseconds: -1 waits without end.
/// - Returns: whether it is ready; false when the time is over.
/// - Source: poll(2).
@discardableResult
func waitUntilReady(
    _ number: CInt, for events: CShort, timeoutMilliseconds: CInt = -1
) throws(SystemError) -> Bool {
    var request = pollfd(fd: number, events: events, revents: 0)
    let limit =
        timeoutMilliseconds < 0 ? nil : TimeLimit(milliseconds: Int(timeoutMilliseconds))
    return try retrying("poll") {
        unsafe poll(&request, 1, limit.map { CInt(clamping: $0.millisecondsLeft) } ?? -1)
    } > 0
}

extension Descriptor {
    /// Waits until a descriptor that other code owns is ready.
    ///
    /// - Parameter patience: nil waits without end.
    /// - Returns: whether it is ready, or closed; false when the time is over.
    /// - Source: poll(2).
    package static func wait(
        _ number: CInt, toRead: Bool, toWrite: Bool, for patience: Duration?
    ) throws(SystemError) -> Bool {
        let events = CShort((toRead ? POLLIN : 0) | (toWrite ? POLLOUT : 0))
        guard let patience else { return try waitUntilReady(number, for: events) }
        // Rounded up: 0 would not wait.
        let (seconds, rest) = patience.components
        let milliseconds = seconds * 1_000 + (rest + 999_999_999_999_999) / 1_000_000_000_000_000
        return try waitUntilReady(
            number, for: events, timeoutMilliseconds: CInt(clamping: milliseconds))
    }
}
