// A socket to the daemon and the parser of its bytes: what both clients have in common. Knows
// neither how readiness is waited for nor what the replies are for.

internal import Glibc
internal import Kernel
internal import RESP

/// The two directions of a connection; never blocks.
struct Wire: ~Copyable {
    let socket: Descriptor
    private var parser: ReplyParser
    /// Whether the daemon's end of the connection was read, orderly or not.
    private(set) var hasEnded = false

    private static let readByteCount = 64 << 10
    /// The size that a whole reply may have in any case, however small the limit of its strings.
    private static let replyByteCountFloor = 64 << 20

    /// Takes over a connected socket.
    ///
    /// - Parameter stringByteCountMax: of one string in a reply; more than a parser takes is as
    ///   much as it takes.
    init(_ socket: consuming Descriptor, stringByteCountMax: Int) throws(SystemError) {
        try socket.setNonBlocking(true)
        self.socket = socket
        let stringMax = min(stringByteCountMax, ReplyLimits.bulkByteCountLimit)
        parser = ReplyParser(
            limits: ReplyLimits(
                bulkByteCountMax: stringMax,
                replyByteCountMax: max(2 * stringMax, Self.replyByteCountFloor)))
    }

    /// The next reply that is complete; nil if more has to be read.
    ///
    /// Pushes, which no command asked for, are passed over.
    ///
    /// - Throws: `.protocolFault`.
    mutating func nextReply() throws(WorkerClientError) -> RESPValue? {
        while true {
            guard let reply = try nextValue() else { return nil }
            if case .push = reply { continue }
            return reply
        }
    }

    /// The next reply or push that is complete; nil if more has to be read.
    ///
    /// - Throws: `.protocolFault`; `.closed` if it is larger than this client takes.
    mutating func nextValue() throws(WorkerClientError) -> RESPValue? {
        do throws(ProtocolError) {
            return try parser.next()
        } catch .lengthOverLimit(.bulk, let length, let limit) {
            // No fault of the daemon, which keeps results as large as its handlers make them.
            throw .closed(
                "it has \(length) bytes, and replyByteCountMax of this client is \(limit)")
        } catch {
            throw .protocolFault("\(error)")
        }
    }

    /// Reads the bytes that have arrived, once.
    ///
    /// - Throws: `.closed` at the end, too.
    /// - Returns: whether anything was there.
    mutating func read() throws(WorkerClientError) -> Bool {
        var result = ReadResult.wouldBlock
        do throws(SystemError) {
            try parser.withUninitializedTail(atLeast: Self.readByteCount) {
                (room: inout OutputSpan<UInt8>) throws(SystemError) in
                result = try socket.read(into: &room)
            }
        } catch {
            hasEnded = true
            throw .closed(error.reason)
        }
        if result == .end {
            hasEnded = true
            throw .closed(
                parser.isInsideReply
                    ? "the daemon hung up in the middle of it" : "the daemon hung up")
        }
        return result != .wouldBlock
    }

    /// Sends as much of a queue as the socket takes.
    ///
    /// - Returns: how many bytes went out; nil when the daemon reads no more. What it said before
    ///   it hung up can still be read.
    mutating func send(_ outbox: inout Outbox) throws(WorkerClientError) -> Int? {
        do throws(SystemError) {
            return try outbox.send(to: socket)
        } catch {
            if error.errno == EPIPE || error.errno == ECONNRESET { return nil }
            throw .closed(error.description)
        }
    }
}
