// A socket to the daemon and the parser of its bytes: what both clients have in common. Knows
// neither how readiness is waited for nor what the replies are for.

internal import Glibc
internal import Kernel
internal import RESP
internal import TLS

/// The two directions of a connection; never blocks.
struct Wire: ~Copyable {
    let socket: Descriptor
    /// TLS on the socket; nil for plaintext.
    private let tls: TLSConnection?
    private var parser: ReplyParser
    /// Whether the daemon's end of the connection was read, orderly or not.
    private(set) var hasEnded = false

    private static let readByteCount = 64 << 10
    /// The size that a whole reply may have in any case, however small the limit of its strings.
    private static let replyByteCountFloor = 64 << 20

    /// Takes over a connected socket.
    ///
    /// - Parameters:
    ///   - tls: settings of TLS, and the name in the server's certificate; nil for plaintext.
    ///   - stringByteCountMax: of one string in a reply; more than a parser takes is as much as it
    ///     takes.
    init(
        _ socket: consuming Descriptor, _ tls: (context: TLSContext, serverName: String)?,
        stringByteCountMax: Int
    ) throws(TLSError) {
        do throws(SystemError) {
            try socket.setNonBlocking(true)
        } catch {
            throw .system(error)
        }
        if let tls {
            self.tls = try TLSConnection(client: tls.context, socket, toServer: tls.serverName)
        } else {
            self.tls = nil
        }
        self.socket = socket
        let stringMax = min(stringByteCountMax, ReplyLimits.bulkByteCountLimit)
        parser = ReplyParser(
            limits: ReplyLimits(
                bulkByteCountMax: stringMax,
                replyByteCountMax: max(2 * stringMax, Self.replyByteCountFloor)))
    }

    deinit { tls?.shutdownWriting() }

    /// Goes on with the handshake of TLS, if there is one.
    ///
    /// - Returns: what the socket has to be ready for before it goes on; nil once it is done.
    func shakeHands() throws(TLSError) -> Readiness? {
        guard let tls else { return nil }
        try tls.shakeHands()
        if tls.isEstablished { return nil }
        return tls.handshakeNeed == .readable ? .readable : .writable
    }

    /// Whether bytes can be read that the socket does not report.
    var holdsInput: Bool { tls?.holdsInput ?? false }

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
        do throws(TLSError) {
            try parser.withUninitializedTail(atLeast: Self.readByteCount) {
                (room: inout OutputSpan<UInt8>) throws(TLSError) in
                result = try Self.read(socket, tls, into: &room)
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

    private static func read(
        _ socket: borrowing Descriptor, _ tls: TLSConnection?, into room: inout OutputSpan<UInt8>
    ) throws(TLSError) -> ReadResult {
        if let tls { return try tls.read(into: &room) }
        do throws(SystemError) {
            return try socket.read(into: &room)
        } catch {
            throw .system(error)
        }
    }

    /// Sends as much of a queue as the socket takes.
    ///
    /// - Returns: how many bytes went out; nil when the daemon reads no more. What it said before
    ///   it hung up can still be read.
    mutating func send(_ outbox: inout Outbox) throws(WorkerClientError) -> Int? {
        do throws(TLSError) {
            if let tls {
                return try outbox.send { (chunks, offset) throws(TLSError) in
                    try tls.write(chunks, from: offset)
                }
            }
            return try outbox.send { (chunks, offset) throws(TLSError) in
                do throws(SystemError) {
                    return try socket.sendVector(chunks, from: offset)
                } catch {
                    throw .system(error)
                }
            }
        } catch {
            if case .system(let error) = error, [EPIPE, ECONNRESET].contains(error.errno) {
                return nil
            }
            throw .closed(error.description)
        }
    }
}

extension TLSError {
    /// The reason without the name of the call.
    var reason: String {
        if case .system(let error) = self { error.reason } else { description }
    }
}
