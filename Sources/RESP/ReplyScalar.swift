// The values of one line: a marker, then text. Strict about each type's form: the lengths of a
// server that gets a form wrong can't be trusted either.

/// Reads the text of a line as the type that its marker names.
enum ReplyScalar {
    /// Reads a value.
    ///
    /// - Parameter text: the line without marker, CR and LF.
    static func read(
        _ marker: UInt8, _ text: ArraySlice<UInt8>
    ) throws(ProtocolError) -> RESPValue {
        guard !text.contains(ASCII.lineFeed) else { throw .brokenLineEnd }
        switch marker {
        case UInt8(ascii: "+"):
            return .simpleString(String(decoding: text, as: UTF8.self))
        case UInt8(ascii: "-"):
            return .error(String(decoding: text, as: UTF8.self))
        case UInt8(ascii: ":"):
            // The one plus that the specification allows.
            let digits = text.first == ASCII.plus ? text.dropFirst() : text
            guard digits.isEmpty || digits.first != ASCII.minus || digits.count == text.count,
                let value = DecimalInteger.parse(digits.span)
            else { throw invalid("integer", text) }
            return .integer(value)
        case UInt8(ascii: "_"):
            guard text.isEmpty else { throw invalid("null", text) }
            return .null
        case UInt8(ascii: "#"):
            if text.elementsEqual([UInt8(ascii: "t")]) { return .boolean(true) }
            if text.elementsEqual([UInt8(ascii: "f")]) { return .boolean(false) }
            throw invalid("boolean", text)
        case UInt8(ascii: ","):
            guard let value = FloatingPointText.parse(text.span) else {
                throw invalid("double", text)
            }
            return .double(value)
        case UInt8(ascii: "("):
            let isSigned = text.first == ASCII.minus || text.first == ASCII.plus
            let digits = isSigned ? text.dropFirst() : text
            guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else {
                throw invalid("big number", text)
            }
            return .bigNumber(String(decoding: text, as: UTF8.self))
        default:
            throw .unknownReplyType(marker)
        }
    }

    private static func invalid(_ type: String, _ text: ArraySlice<UInt8>) -> ProtocolError {
        .invalidScalar(type: type, found: ASCII.printable(text.prefix(64)))
    }
}
