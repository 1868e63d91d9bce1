// From the bytes of a server to whole replies as they came: for replies that are passed on, whose
// meaning does not matter. Finds the end of each, and makes no values.

/// Cuts the bytes of a connection into replies and pushes, in either version of the protocol.
///
/// - Thread: one at a time.
/// - Complexity: O(1) per byte; the bytes of a bulk string are not looked at.
package struct ReplyFramer: ~Copyable, Sendable {
    private let limits: ReplyLimits
    private var buffer = InputBuffer()
    /// The bytes of the present reply that are known to belong to it; some may not be here yet.
    private var byteCount = 0
    /// How many bytes of an unfinished line have no carriage return.
    private var searchedCount = 0
    /// How many values are still to come, on all levels.
    private var valueCount = 1

    /// Creates a framer that holds no memory yet.
    package init(limits: ReplyLimits = ReplyLimits()) { self.limits = limits }

    /// The bytes that have arrived of replies that were not returned yet.
    package var pendingByteCount: Int { buffer.pendingCount }

    /// Lets `body` append bytes of the server in place.
    package mutating func withUninitializedTail<Failure>(
        atLeast minimum: Int, _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        let missing = max(0, byteCount - buffer.pendingCount)
        try buffer.withUninitializedTail(atLeast: minimum, missing: missing, body)
    }

    /// Takes memory for the bytes to come, if it holds none.
    package mutating func takeMemory(_ spare: inout [UInt8]) { buffer.takeMemory(&spare) }

    /// Lets go of its memory, if no byte is pending.
    package mutating func giveMemory(_ spare: inout [UInt8]) { buffer.giveMemory(&spare) }

    /// Takes the next complete reply, or push, out of the buffer.
    ///
    /// - Returns: its bytes; nil if more are needed.
    /// - Throws: why the bytes are no reply, or one over a limit; the connection is of no use then.
    package mutating func next() throws(ProtocolError) -> [UInt8]? {
        while valueCount > 0 {
            guard try readLine() else { return nil }
        }
        guard byteCount <= buffer.pendingCount else { return nil }
        let reply = Array(buffer.bytes[buffer.start..<buffer.start + byteCount])
        buffer.consume(byteCount)
        (byteCount, valueCount) = (0, 1)
        buffer.releaseSurplus(missing: 0, retained: limits.retainedByteCountMax)
        return reply
    }

    /// Reads a line, and counts the bytes of the string that it announces.
    ///
    /// - Returns: whether it is here.
    private mutating func readLine() throws(ProtocolError) -> Bool {
        guard byteCount < buffer.pendingCount else { return false }
        let marker = buffer.bytes[buffer.start + byteCount]
        guard ReplyPartReader.isMarker(marker) else { throw .unknownReplyType(marker) }
        let limit = limits.lineByteCountMax
        let found = buffer.firstOffset(
            of: ASCII.carriageReturn, in: byteCount + searchedCount..<byteCount + limit)
        guard let found else {
            searchedCount = buffer.pendingCount - byteCount
            guard searchedCount < limit else { throw .replyLineTooLong(limit: limit) }
            return false
        }
        searchedCount = found - byteCount
        guard found + 1 < buffer.pendingCount else { return false }
        guard buffer.bytes[buffer.start + found + 1] == ASCII.lineFeed else {
            throw .brokenLineEnd
        }
        let text = buffer.bytes[buffer.start + byteCount + 1..<buffer.start + found]
        byteCount = found + 2
        searchedCount = 0
        valueCount -= 1
        try count(marker, text)
        return true
    }

    /// Counts the bytes or the values that a line announces.
    private mutating func count(
        _ marker: UInt8, _ text: ArraySlice<UInt8>
    ) throws(ProtocolError) {
        switch marker {
        case UInt8(ascii: "$"), UInt8(ascii: "!"), UInt8(ascii: "="):
            if ReplyPartReader.isNullLength(text) { return }
            let length = try ReplyPartReader.length(text, .bulk)
            guard length <= limits.bulkByteCountMax else {
                throw .lengthOverLimit(.bulk, length: length, limit: limits.bulkByteCountMax)
            }
            byteCount += length + 2
        case UInt8(ascii: "*"), UInt8(ascii: "~"), UInt8(ascii: ">"):
            if ReplyPartReader.isNullLength(text) { return }
            try announce(try ReplyPartReader.length(text, .aggregate), perEntry: 1)
        case UInt8(ascii: "%"):
            try announce(try ReplyPartReader.length(text, .aggregate), perEntry: 2)
        case UInt8(ascii: "|"):
            // Its value comes behind it.
            try announce(try ReplyPartReader.length(text, .aggregate), perEntry: 2)
            valueCount += 1
        default: break
        }
        guard byteCount <= limits.replyByteCountMax else {
            throw .replyTooLarge(byteCount: byteCount, limit: limits.replyByteCountMax)
        }
    }

    private mutating func announce(_ count: Int, perEntry: Int) throws(ProtocolError) {
        let limit = limits.elementCountMax
        guard count <= limit, valueCount + perEntry * count <= limit else {
            throw .tooManyElements(count: count, limit: limit)
        }
        valueCount += perEntry * count
    }
}

extension RESPValue {
    /// The value of a whole reply; nil if the bytes are none, or one over the limits.
    package init?(reply bytes: [UInt8], limits: ReplyLimits = ReplyLimits()) {
        var parser = ReplyParser(limits: limits)
        parser.withUninitializedTail(atLeast: bytes.count + 1) { room in
            for byte in bytes { room.append(byte) }
        }
        guard let value = try? parser.next() else { return nil }
        self = value
    }
}
