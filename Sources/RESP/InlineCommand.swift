// Splits the line that a person types, `PERFORM mail "hello world"`, into words. Knows nothing of
// buffers and reads: the line is complete.

/// The rules of `sdssplitargs` in Redis, byte for byte.
///
/// Words are separated by white space. In double quotes, `\n \r \t \b \a` and `\x1f` mean what they
/// mean in C, and any other escaped byte is itself; in single quotes only `\'` is an escape. A
/// quote may begin in the middle of a word, and must end with it.
enum InlineCommand {
    /// Splits the line in place: a word with quotes is overwritten, since it only gets shorter.
    ///
    /// - Returns: the places of the words, relative to `lineStart`.
    /// - Throws: `unbalancedQuotes`, `zeroByteInLine`, `tooManyInlineWords`.
    static func split(
        _ bytes: inout [UInt8], from lineStart: Int, to lineEnd: Int, countMax: Int
    ) throws(ProtocolError) -> [ArgumentRanges.Slot] {
        var words: [ArgumentRanges.Slot] = []
        var index = lineStart
        while true {
            while index < lineEnd && ASCII.isSpace(bytes[index]) { index += 1 }
            guard index < lineEnd else { return words }
            guard words.count < countMax else { throw .tooManyInlineWords(limit: countMax) }
            var word = InlineWord(start: index)
            try word.read(&bytes, to: lineEnd)
            words.append(.init(start: word.start - lineStart, count: word.end - word.start))
            index = word.next
        }
    }
}

/// One word while it is read: the read and write positions move apart at each quote.
private struct InlineWord {
    let start: Int
    private(set) var end: Int
    private(set) var next: Int

    init(start: Int) {
        self.start = start
        end = start
        next = start
    }

    mutating func read(_ bytes: inout [UInt8], to lineEnd: Int) throws(ProtocolError) {
        while next < lineEnd {
            let byte = bytes[next]
            switch byte {
            case ASCII.space, ASCII.lineFeed, ASCII.carriageReturn, ASCII.tab:
                return
            case ASCII.null:
                // Redis takes it for the end of the line and ignores the rest.
                throw .zeroByteInLine
            case ASCII.doubleQuote:
                next += 1
                try readDoubleQuoted(&bytes, to: lineEnd)
                return try checkEnd(bytes, lineEnd)
            case ASCII.singleQuote:
                next += 1
                try readSingleQuoted(&bytes, to: lineEnd)
                return try checkEnd(bytes, lineEnd)
            default:
                write(byte, to: &bytes)
                next += 1
            }
        }
    }

    private mutating func readDoubleQuoted(
        _ bytes: inout [UInt8], to lineEnd: Int
    ) throws(ProtocolError) {
        while next < lineEnd {
            let byte = bytes[next]
            next += 1
            switch byte {
            case ASCII.doubleQuote: return
            case ASCII.null: throw .zeroByteInLine
            case ASCII.backslash where next < lineEnd:
                let escaped = readEscape(bytes, lineEnd)
                write(escaped, to: &bytes)
            default: write(byte, to: &bytes)
            }
        }
        throw .unbalancedQuotes
    }

    private mutating func readSingleQuoted(
        _ bytes: inout [UInt8], to lineEnd: Int
    ) throws(ProtocolError) {
        while next < lineEnd {
            let byte = bytes[next]
            next += 1
            switch byte {
            case ASCII.singleQuote: return
            case ASCII.null: throw .zeroByteInLine
            case ASCII.backslash where next < lineEnd && bytes[next] == ASCII.singleQuote:
                write(ASCII.singleQuote, to: &bytes)
                next += 1
            default: write(byte, to: &bytes)
            }
        }
        throw .unbalancedQuotes
    }

    /// Reads the byte after a backslash in double quotes.
    private mutating func readEscape(_ bytes: [UInt8], _ lineEnd: Int) -> UInt8 {
        let byte = bytes[next]
        next += 1
        switch byte {
        case UInt8(ascii: "n"): return ASCII.lineFeed
        case UInt8(ascii: "r"): return ASCII.carriageReturn
        case UInt8(ascii: "t"): return ASCII.tab
        case UInt8(ascii: "b"): return ASCII.backspace
        case UInt8(ascii: "a"): return ASCII.bell
        case UInt8(ascii: "x"):
            guard next + 1 < lineEnd, let high = ASCII.hexadecimalValue(bytes[next]),
                let low = ASCII.hexadecimalValue(bytes[next + 1])
            else { return byte }
            next += 2
            return high << 4 | low
        default: return byte
        }
    }

    private func checkEnd(_ bytes: [UInt8], _ lineEnd: Int) throws(ProtocolError) {
        guard next == lineEnd || ASCII.isSpace(bytes[next]) else { throw .unbalancedQuotes }
    }

    private mutating func write(_ byte: UInt8, to bytes: inout [UInt8]) {
        if end != next || bytes[end] != byte { bytes[end] = byte }
        end += 1
    }
}
