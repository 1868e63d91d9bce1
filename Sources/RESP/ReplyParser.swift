// From the bytes of a server to values: the client's half of reading. Joins an input buffer, a
// reader of lines and bulks, and a stack of unfinished aggregates.

/// Reads replies, and pushes, from the bytes of one connection, in either version of the protocol.
///
/// The version needn't be known: no type of version 3 begins with a byte that version 2 uses.
/// Attributes are read and dropped. Each string is copied once, out of the buffer, as soon as it is
/// complete, so the buffer never has more than the string that is still to come.
///
/// Streamed strings and aggregates of RESP3, which no server sends, are not supported.
///
/// - Thread: one at a time.
/// - Complexity: O(1) per byte over the life of the connection, and no recursion.
package struct ReplyParser: ~Copyable, Sendable {
    private let limits: ReplyLimits
    private var buffer = InputBuffer()
    private var tokens: ReplyPartReader
    private var builder: ReplyBuilder
    private var failure: ProtocolError?

    /// Creates a parser that holds no memory yet.
    package init(limits: ReplyLimits = ReplyLimits()) {
        self.limits = limits
        tokens = ReplyPartReader(limits: limits)
        builder = ReplyBuilder(limits: limits)
    }

    /// The memory that the input buffer holds, in bytes.
    package var memoryByteCount: Int { buffer.capacity }

    /// Whether a reply has begun and is incomplete; if the server leaves now, it was cut off.
    package var isInsideReply: Bool {
        buffer.pendingCount > 0 || tokens.missingCount(buffer) > 0 || builder.isInsideReply
    }

    /// Lets `body` append bytes of the server in place, so that a read needs no buffer of its own.
    ///
    /// - Parameter minimum: the least room there is; often there is more, and when a large string
    ///   was announced, enough for the rest of it.
    package mutating func withUninitializedTail<Failure>(
        atLeast minimum: Int, _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        let missing = tokens.missingCount(buffer)
        try buffer.withUninitializedTail(atLeast: minimum, missing: missing, body)
    }

    /// Takes the next complete reply, or push, out of the buffer.
    ///
    /// Call it until it returns nil, then read more.
    ///
    /// - Returns: nil if more bytes are needed.
    /// - Throws: what was wrong, and the same on every later call.
    package mutating func next() throws(ProtocolError) -> RESPValue? {
        if let failure {
            buffer.removeAll()
            throw failure
        }
        do {
            while let token = try tokens.next(&buffer) {
                if let reply = try builder.add(token) {
                    tokens.finishReply()
                    return reply
                }
            }
        } catch {
            failure = error
            buffer.removeAll()
            tokens = ReplyPartReader(limits: limits)
            builder = ReplyBuilder(limits: limits)
            throw error
        }
        let missing = tokens.missingCount(buffer)
        buffer.releaseSurplus(missing: missing, retained: limits.retainedByteCountMax)
        return nil
    }
}
