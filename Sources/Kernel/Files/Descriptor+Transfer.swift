// Bytes in and out of a descriptor, one system call at a time. It knows neither what the bytes
// mean nor when the descriptor is ready: it answers "would block" and the poller says when to ask
// again.
//
// Every call here: EINTR is retried; EBADF and EFAULT trap; EAGAIN is the result `.wouldBlock`;
// anything else (EPIPE, ECONNRESET, EIO, EISDIR, ENOSPC, ...) is thrown.

internal import CLinux
internal import Glibc

/// The result of one read.
package enum ReadResult: Equatable, Sendable {
    /// That many bytes, at least 1.
    case bytes(Int)
    /// The end: the other side writes no more.
    case end
    /// Nothing now; the poller reports when it is worth asking again.
    case wouldBlock
}

/// The result of one write.
package enum WriteResult: Equatable, Sendable {
    /// That many bytes, perhaps fewer than offered.
    case wrote(Int)
    /// Nothing now; the poller reports when it is worth asking again.
    case wouldBlock
}

extension Descriptor {
    /// Reads the bytes that have arrived, once.
    ///
    /// - Parameter buffer: where the bytes go; not empty, as reading nothing looks like the end.
    /// - Throws: ECONNRESET, EIO, EISDIR and the like.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never when the descriptor is non-blocking.
    /// - Source: read(2).
    package borrowing func read(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> ReadResult {
        let byteCount = buffer.count
        require(byteCount > 0, "a read needs room for at least one byte")
        let count: Int
        do throws(SystemError) {
            count = try retrying("read") {
                unsafe Glibc.read(number, buffer.baseAddress, byteCount)
            }
        } catch {
            if error.errno == EAGAIN { return .wouldBlock }
            throw error
        }
        return count == 0 ? .end : .bytes(count)
    }

    /// Reads the bytes that have arrived, once, to the end of `bytes`, without clearing the room
    /// first.
    ///
    /// - Parameters:
    ///   - bytes: grows by what was read; unchanged at the end, when it would block and on errors.
    ///   - byteCountMax: how much to read at most, at least 1.
    /// - Throws: as `read(into:)`.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never when the descriptor is non-blocking.
    /// - Source: read(2).
    package borrowing func read(
        appendingTo bytes: inout [UInt8], atMost byteCountMax: Int
    ) throws(SystemError) -> ReadResult {
        require(byteCountMax > 0, "a read needs room for at least one byte")
        var result = ReadResult.wouldBlock
        try bytes.append(addingCapacity: byteCountMax) {
            (room: inout OutputSpan<UInt8>) throws(SystemError) in
            result = try read(into: &room, atMost: byteCountMax)
        }
        return result
    }

    /// Reads the bytes that have arrived, once, into the free room of a buffer.
    ///
    /// - Parameters:
    ///   - room: has room for at least one byte; grows by what was read.
    ///   - byteCountMax: how much to read at most, at least 1.
    /// - Throws: as `read(into:)`.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never when the descriptor is non-blocking.
    /// - Source: read(2).
    package borrowing func read(
        into room: inout OutputSpan<UInt8>, atMost byteCountMax: Int = .max
    ) throws(SystemError) -> ReadResult {
        try unsafe room.withUnsafeMutableBufferPointer {
            (buffer, initializedCount) throws(SystemError) in
            let free = unsafe UnsafeMutableRawBufferPointer(
                rebasing: UnsafeMutableRawBufferPointer(buffer)[initializedCount...])
            let result = try unsafe read(
                into: UnsafeMutableRawBufferPointer(rebasing: free.prefix(byteCountMax)))
            if case .bytes(let count) = result { initializedCount += count }
            return result
        }
    }

    /// Writes once; perhaps only the first part.
    ///
    /// - Throws: EPIPE and ECONNRESET when the other end is gone, and the like. The process
    ///   ignores SIGPIPE (`Signal.ignoreBrokenPipes`), or uses `send` on sockets.
    /// - Thread: the one that owns the descriptor.
    /// - Blocks: never when the descriptor is non-blocking.
    /// - Source: write(2).
    package borrowing func write(
        _ bytes: UnsafeRawBufferPointer
    ) throws(SystemError) -> WriteResult {
        unsafe try transfer("write", bytes) { base, count in
            unsafe Glibc.write(number, base, count)
        }
    }

    /// Writes with `body`, which stands for write(2) or send(2).
    borrowing func transfer(
        _ operation: String, _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawPointer?, Int) -> Int
    ) throws(SystemError) -> WriteResult {
        if bytes.count == 0 { return .wrote(0) }
        do throws(SystemError) {
            return .wrote(
                try retrying(operation) { unsafe body(bytes.baseAddress, bytes.count) })
        } catch {
            if error.errno == EAGAIN { return .wouldBlock }
            throw error
        }
    }
}
