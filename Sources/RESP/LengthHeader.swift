// The line `*3` CRLF or `$7` CRLF in front of a command or an argument: the innermost loop of the
// server's parser. Knows neither limits nor the purpose of the length.

/// A length, and the end of the line that announced it.
struct LengthHeader {
    let length: Int
    /// The offset of the byte behind the line feed.
    let end: Int

    /// Reads the header whose marker is at `offset`.
    ///
    /// Nothing is remembered between two calls for the same header, since a header is refused when
    /// it is longer than a few bytes.
    ///
    /// - Returns: nil if more bytes are needed.
    /// - Throws: `invalidLength`, `brokenLineEnd`.
    @inline(__always)
    static func read(
        _ bytes: Span<UInt8>, at offset: Int, _ kind: ProtocolError.Header
    ) throws(ProtocolError) -> LengthHeader? {
        // Nearly every length has one digit or two; a chain of branches beats the loop for them.
        if offset &+ 4 < bytes.count {
            let first = bytes[offset &+ 1] &- ASCII.zero
            let second = bytes[offset &+ 2] &- ASCII.zero
            if first < 10 {
                if bytes[offset &+ 2] == ASCII.carriageReturn {
                    if bytes[offset &+ 3] == ASCII.lineFeed {
                        return LengthHeader(length: Int(first), end: offset &+ 4)
                    }
                } else if second < 10 && first > 0 && bytes[offset &+ 3] == ASCII.carriageReturn
                    && bytes[offset &+ 4] == ASCII.lineFeed
                {
                    return LengthHeader(length: Int(first) &* 10 &+ Int(second), end: offset &+ 5)
                }
            }
        }
        return try readAny(bytes, at: offset, kind)
    }

    @inline(never)
    private static func readAny(
        _ bytes: Span<UInt8>, at offset: Int, _ kind: ProtocolError.Header
    ) throws(ProtocolError) -> LengthHeader? {
        let firstDigit = offset + 1
        var index = firstDigit
        var length = 0
        while index < bytes.count {
            let digit = bytes[index] &- ASCII.zero
            if digit > 9 { break }
            if index - firstDigit == digitCountMax { break }
            length = length &* 10 &+ Int(digit)
            index += 1
        }
        guard index + 1 < bytes.count else {
            return try incomplete(bytes)
        }
        let hasLeadingZero = index - firstDigit > 1 && bytes[firstDigit] == ASCII.zero
        guard index > firstDigit, !hasLeadingZero, bytes[index] == ASCII.carriageReturn else {
            return try malformed(bytes, at: firstDigit, kind)
        }
        guard bytes[index + 1] == ASCII.lineFeed else { throw .brokenLineEnd }
        return LengthHeader(length: length, end: index + 2)
    }

    /// Eighteen digits can't overflow, and are far above every limit.
    private static let digitCountMax = 18

    /// How much of a malformed line is waited for and shown, in bytes.
    private static let shownByteCountMax = 24

    /// Refuses a header that ends too early; waits for the rest of any other.
    @inline(never)
    private static func incomplete(_ bytes: Span<UInt8>) throws(ProtocolError) -> LengthHeader? {
        if bytes[bytes.count - 1] == ASCII.lineFeed { throw .brokenLineEnd }
        return nil
    }

    /// Refuses a header as soon as all bytes that the error shows are there.
    ///
    /// The text must not depend on how the bytes were cut into reads, so this waits for the end of
    /// the line, for a few bytes at most.
    @inline(never)
    private static func malformed(
        _ bytes: Span<UInt8>, at firstDigit: Int, _ kind: ProtocolError.Header
    ) throws(ProtocolError) -> LengthHeader? {
        var shown: [UInt8] = []
        for index in firstDigit..<bytes.count {
            if bytes[index] == ASCII.lineFeed { throw .brokenLineEnd }
            if bytes[index] == ASCII.carriageReturn || shown.count == shownByteCountMax {
                throw .invalidLength(kind, found: ASCII.printable(shown))
            }
            shown.append(bytes[index])
        }
        return nil
    }
}
