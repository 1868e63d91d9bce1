// Doubles in the protocol's spelling. The standard library reads more than that (hexadecimal,
// `infinity`), so the form is checked first.

/// Text of floating-point numbers.
enum FloatingPointText {
    /// Reads digits with an optional fraction and exponent, or `inf`, `-inf`, or NaN.
    ///
    /// NaN is also accepted in the spellings of old servers, which printed the text of their C
    /// library: `-nan`, `NAN`, `nan(0x8000)`.
    ///
    /// - Source: RESP3.md, "Double".
    static func parse(_ bytes: Span<UInt8>) -> Double? {
        var text = ""
        for index in bytes.indices { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
        switch text {
        case "inf", "+inf": return .infinity
        case "-inf": return -.infinity
        default: break
        }
        let unsigned = text.first == "-" ? text.dropFirst() : text[...]
        if unsigned.prefix(3).lowercased() == "nan" {
            let rest = unsigned.dropFirst(3)
            return rest.isEmpty || (rest.first == "(" && rest.last == ")") ? .nan : nil
        }
        return isNumeral(bytes) ? Double(text) : nil
    }

    /// `[+-] digits [. digits] [eE [+-] digits]`.
    private static func isNumeral(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        func skipSign() {
            guard index < bytes.count else { return }
            if bytes[index] == ASCII.minus || bytes[index] == ASCII.plus { index += 1 }
        }
        func skipDigits() -> Bool {
            let start = index
            while index < bytes.count && ASCII.isDigit(bytes[index]) { index += 1 }
            return index > start
        }
        skipSign()
        guard skipDigits() else { return false }
        if index < bytes.count && bytes[index] == ASCII.dot {
            index += 1
            guard skipDigits() else { return false }
        }
        if index < bytes.count && bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            skipSign()
            guard skipDigits() else { return false }
        }
        return index == bytes.count
    }
}
