// Cuts the bytes of replies into pieces: a line, a bulk string, the header of an aggregate. Knows
// nothing of how pieces nest.

/// Reads one piece of a reply at a time, and remembers its progress in the current one.
struct ReplyPartReader: Sendable {
    private enum Bulk {
        case string, error, verbatim
    }

    private let limits: ReplyLimits
    /// The bulk string whose header was read, and its length in bytes.
    private var bulk: (kind: Bulk, byteCount: Int)?
    /// Bytes of the unfinished line that contain no carriage return.
    private var searchedCount = 0
    private var replyByteCount = 0

    init(limits: ReplyLimits) {
        self.limits = limits
    }

    /// The bytes that are known to come.
    func missingCount(_ buffer: borrowing InputBuffer) -> Int {
        guard let bulk else { return 0 }
        return max(0, bulk.byteCount + 2 - buffer.pendingCount)
    }

    /// Resets the size of the current reply.
    mutating func finishReply() {
        replyByteCount = 0
    }

    /// Takes the next piece out of the buffer, or nil if more bytes are needed.
    mutating func next(_ buffer: inout InputBuffer) throws(ProtocolError) -> ReplyPart? {
        while true {
            if let bulk {
                guard let value = try readBulk(bulk.kind, bulk.byteCount, &buffer)
                else { return nil }
                self.bulk = nil
                return .scalar(value)
            }
            guard let lineCount = try findLineEnd(buffer) else { return nil }
            let token = try readLine(buffer, byteCount: lineCount)
            buffer.consume(lineCount + 2)
            if let token { return token }
        }
    }

    // MARK: Bulk strings

    private func readBulk(
        _ kind: Bulk, _ byteCount: Int, _ buffer: inout InputBuffer
    ) throws(ProtocolError) -> RESPValue? {
        guard buffer.pendingCount >= byteCount + 2 else { return nil }
        let body = buffer.start..<buffer.start + byteCount
        guard buffer.bytes[body.upperBound] == ASCII.carriageReturn,
            buffer.bytes[body.upperBound + 1] == ASCII.lineFeed
        else { throw .unterminatedBulk(byteCount: byteCount) }
        defer { buffer.consume(byteCount + 2) }
        switch kind {
        case .string: return .bulk(Array(buffer.bytes[body]))
        case .error: return .error(String(decoding: buffer.bytes[body], as: UTF8.self))
        case .verbatim: return try Self.verbatim(buffer.bytes[body])
        }
    }

    private static func verbatim(_ bytes: ArraySlice<UInt8>) throws(ProtocolError) -> RESPValue {
        let format = bytes.prefix(3)
        let rest = bytes.dropFirst(3)
        guard format.count == 3, format.allSatisfy({ $0 > ASCII.space && $0 < 0x7F }),
            rest.first == ASCII.colon
        else {
            throw .invalidScalar(type: "verbatim string", found: ASCII.printable(bytes.prefix(4)))
        }
        return .verbatim(
            format: String(decoding: format, as: UTF8.self), Array(rest.dropFirst()))
    }

    /// Records an announced bulk string, if it is within the limits.
    private mutating func announce(_ kind: Bulk, byteCount: Int) throws(ProtocolError) {
        guard byteCount <= limits.bulkByteCountMax else {
            throw .lengthOverLimit(.bulk, length: byteCount, limit: limits.bulkByteCountMax)
        }
        try countBytes(byteCount)
        bulk = (kind, byteCount)
    }

    private mutating func countBytes(_ count: Int) throws(ProtocolError) {
        replyByteCount += count
        guard replyByteCount <= limits.replyByteCountMax else {
            throw .replyTooLarge(byteCount: replyByteCount, limit: limits.replyByteCountMax)
        }
    }

    // MARK: Lines

    /// Looks for CRLF, from the end of the last search.
    ///
    /// - Returns: the number of bytes in front of it.
    private mutating func findLineEnd(
        _ buffer: borrowing InputBuffer
    ) throws(ProtocolError) -> Int? {
        guard buffer.pendingCount > 0 else { return nil }
        // The first byte reveals a peer that doesn't speak the protocol at all.
        let marker = buffer.bytes[buffer.start]
        guard Self.isMarker(marker) else { throw .unknownReplyType(marker) }
        let limit = limits.lineByteCountMax
        let found = buffer.firstOffset(of: ASCII.carriageReturn, in: searchedCount..<limit)
        guard let found else {
            guard buffer.pendingCount < limit else { throw .replyLineTooLong(limit: limit) }
            searchedCount = buffer.pendingCount
            return nil
        }
        searchedCount = found
        guard found + 1 < buffer.pendingCount else { return nil }
        guard buffer.bytes[buffer.start + found + 1] == ASCII.lineFeed else {
            throw .brokenLineEnd
        }
        searchedCount = 0
        return found
    }

    static func isMarker(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "$"),
            UInt8(ascii: "*"), UInt8(ascii: "_"), UInt8(ascii: "#"), UInt8(ascii: ","),
            UInt8(ascii: "("), UInt8(ascii: "!"), UInt8(ascii: "="), UInt8(ascii: "%"),
            UInt8(ascii: "~"), UInt8(ascii: ">"), UInt8(ascii: "|"):
            true
        default: false
        }
    }

    /// Reads a complete line.
    ///
    /// - Returns: nil if it was the header of a bulk string, which comes next.
    private mutating func readLine(
        _ buffer: borrowing InputBuffer, byteCount: Int
    ) throws(ProtocolError) -> ReplyPart? {
        let marker = buffer.bytes[buffer.start]
        let line = buffer.start + 1..<buffer.start + byteCount
        let text = buffer.bytes[line]
        switch marker {
        case UInt8(ascii: "$"):
            if Self.isNullLength(text) { return .scalar(.null) }
            try announce(.string, byteCount: Self.length(text, .bulk))
            return nil
        case UInt8(ascii: "!"):
            try announce(.error, byteCount: Self.length(text, .bulk))
            return nil
        case UInt8(ascii: "="):
            try announce(.verbatim, byteCount: Self.length(text, .bulk))
            return nil
        case UInt8(ascii: "*"):
            if Self.isNullLength(text) { return .scalar(.null) }
            return .aggregate(.array, count: try Self.length(text, .aggregate))
        case UInt8(ascii: "%"):
            return .aggregate(.map, count: try Self.length(text, .aggregate))
        case UInt8(ascii: "~"):
            return .aggregate(.set, count: try Self.length(text, .aggregate))
        case UInt8(ascii: ">"):
            return .aggregate(.push, count: try Self.length(text, .aggregate))
        case UInt8(ascii: "|"):
            return .aggregate(.attribute, count: try Self.length(text, .aggregate))
        default:
            try countBytes(text.count)
            return .scalar(try ReplyScalar.read(marker, text))
        }
    }

    /// Whether a length is the -1 by which version 2 means null.
    static func isNullLength(_ text: ArraySlice<UInt8>) -> Bool {
        text.elementsEqual([ASCII.minus, UInt8(ascii: "1")])
    }

    static func length(
        _ text: ArraySlice<UInt8>, _ header: ProtocolError.Header
    ) throws(ProtocolError) -> Int {
        if text.elementsEqual([UInt8(ascii: "?")]) { throw .streamedReply }
        guard let length = DecimalInteger.parse(text.span), length >= 0 else {
            throw .invalidLength(header, found: ASCII.printable(text.prefix(24)))
        }
        return length
    }
}
