// The words of a JSON5 text: blanks, comments, strings, numbers, names, each with its place. It
// knows nothing of objects and arrays (`JSON5Reader` does) and nothing of configurations.

/// Reads through a text once, scalar by scalar, and keeps track of line and column.
struct JSON5Scanner {
    private let scalars: [Unicode.Scalar]
    private var index = 0
    private(set) var position = JSON5Position(line: 1, column: 1)

    init(_ bytes: [UInt8]) throws(JSON5Fault) {
        if let offset = Self.firstInvalidOffset(bytes) {
            var valid = try JSON5Scanner(Array(bytes[..<offset]))
            while valid.next != nil { valid.advance() }
            throw JSON5Fault(valid.position, "this is not UTF-8 (byte \(offset + 1) of the file)")
        }
        scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        // A byte order mark is not a character of the first line: it must not move its columns.
        if scalars.first == "\u{FEFF}" { index = 1 }
    }

    private static func firstInvalidOffset(_ bytes: [UInt8]) -> Int? {
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: bytes.span)
            return nil
        } catch {
            return error.byteOffsets.lowerBound
        }
    }

    /// The place of the cursor, in Unicode scalars from the beginning of the text.
    var offset: Int { index }

    /// The scalar under the cursor; nil at the end of the text.
    var next: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    private var afterNext: Unicode.Scalar? {
        index + 1 < scalars.count ? scalars[index + 1] : nil
    }

    mutating func advance() {
        let scalar = scalars[index]
        let followsReturn = index > 0 && scalars[index - 1] == "\r"
        index += 1
        if scalar == "\n" && followsReturn { return }
        if scalar == "\n" || scalar == "\r" {
            position = JSON5Position(line: position.line + 1, column: 1)
        } else {
            position.column += 1
        }
    }

    /// Steps over `scalar` if it is the next one.
    mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        advance()
        return true
    }

    /// The word under the cursor, for the end of a sentence that begins with "expected".
    var found: String {
        next.map { "found \(String(Character($0)).quoted)" } ?? "found the end of the file"
    }

    /// Steps over blanks and comments.
    mutating func skipBlanks() throws(JSON5Fault) {
        while let scalar = next {
            if scalar.isJSON5Blank {
                advance()
            } else if scalar == "/", afterNext == "/" {
                while let scalar = next, !scalar.isJSON5LineEnd { advance() }
            } else if scalar == "/", afterNext == "*" {
                try skipBlockComment()
            } else {
                return
            }
        }
    }

    private mutating func skipBlockComment() throws(JSON5Fault) {
        let start = position
        advance()
        advance()
        while next != nil {
            if next == "*", afterNext == "/" {
                advance()
                advance()
                return
            }
            advance()
        }
        throw JSON5Fault(start, "this comment is not closed: its end is \"*/\"")
    }
}

// MARK: - Names and strings

extension JSON5Scanner {
    /// Reads a name that needs no quotes: ECMAScript 5.1's IdentifierName.
    ///
    /// - Returns: nil if no name begins here; then the cursor has not moved.
    mutating func readName() throws(JSON5Fault) -> String? {
        var name = String.UnicodeScalarView()
        while let scalar = next {
            let place = position
            guard scalar == "\\" || scalar.isJSON5NamePart(first: name.isEmpty) else { break }
            advance()
            guard scalar == "\\" else {
                name.append(scalar)
                continue
            }
            guard skip("u") else {
                throw JSON5Fault(place, "in a name a backslash begins \\u and four hex digits")
            }
            let escaped = try readUnicodeEscape(from: place)
            guard escaped.isJSON5NamePart(first: name.isEmpty) else {
                let shown = String(Character(escaped)).quoted
                throw JSON5Fault(place, "\(shown) needs quotes around the name it is in")
            }
            name.append(escaped)
        }
        return name.isEmpty ? nil : String(name)
    }

    /// Reads a string; the cursor is on its opening quote.
    mutating func readString() throws(JSON5Fault) -> String {
        let start = position
        let quote = next
        advance()
        var text = String.UnicodeScalarView()
        while let scalar = next {
            if scalar == quote {
                advance()
                return String(text)
            }
            if scalar == "\n" || scalar == "\r" {
                throw JSON5Fault(
                    start, "this string is not closed on its line (a \\ there would continue it)")
            }
            if scalar == "\\" {
                try readEscape(into: &text)
            } else {
                text.append(scalar)
                advance()
            }
        }
        throw JSON5Fault(start, "this string is not closed")
    }

    private static let simpleEscapes: [Unicode.Scalar: Unicode.Scalar] = [
        "b": "\u{8}", "f": "\u{C}", "n": "\n", "r": "\r", "t": "\t", "v": "\u{B}",
    ]

    private mutating func readEscape(into text: inout String.UnicodeScalarView) throws(JSON5Fault) {
        let start = position
        advance()
        guard let scalar = next else { return }
        advance()
        switch scalar {
        case "x": text.append(Unicode.Scalar(UInt8(try readHex(digitCount: 2, from: start))))
        case "u": text.append(try readUnicodeEscape(from: start))
        case "\r": _ = skip("\n")
        case "\n", "\u{2028}", "\u{2029}": break
        case "0" where next?.isDecimalDigit != true: text.append("\0")
        case "0"..."9": throw JSON5Fault(start, "\\ may not be followed by a digit (write \\x..)")
        default: text.append(Self.simpleEscapes[scalar] ?? scalar)
        }
    }

    /// Reads what follows `\u`, both halves if it is a surrogate pair.
    private mutating func readUnicodeEscape(
        from start: JSON5Position
    ) throws(JSON5Fault) -> Unicode.Scalar {
        let high = try readHex(digitCount: 4, from: start)
        if let scalar = Unicode.Scalar(high) { return scalar }
        if high < 0xDC00, next == "\\", afterNext == "u" {
            advance()
            advance()
            let low = try readHex(digitCount: 4, from: start)
            if (0xDC00...0xDFFF).contains(low),
                let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
            {
                return scalar
            }
        }
        throw JSON5Fault(start, "this is one half of a surrogate pair without the other")
    }

    private mutating func readHex(
        digitCount: Int, from start: JSON5Position
    ) throws(JSON5Fault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<digitCount {
            guard let digit = next?.hexDigitValue else {
                throw JSON5Fault(start, "this escape needs \(digitCount) hex digits, \(found)")
            }
            advance()
            value = value << 4 | digit
        }
        return value
    }
}

// MARK: - Numbers

extension JSON5Scanner {
    /// Reads a number; the cursor is on its sign, point or first digit, or on `Infinity` or `NaN`.
    mutating func readNumber() throws(JSON5Fault) -> JSON5Value {
        let start = position
        let startIndex = index
        let isNegative = next == "-"
        if next == "-" || next == "+" { advance() }
        let magnitude: Double
        if next == "0", afterNext == "x" || afterNext == "X" {
            magnitude = try readHexNumber(from: start)
        } else if next == "." || next?.isDecimalDigit == true {
            magnitude = try readDecimalNumber(from: start)
        } else {
            let place = found
            switch try readName() {
            case "Infinity": magnitude = .infinity
            case "NaN": magnitude = .nan
            default: throw JSON5Fault(start, "expected a number after the sign, \(place)")
            }
        }
        if let scalar = next, scalar == "." || scalar.isJSON5NamePart(first: false) {
            throw JSON5Fault(start, "this number may not go on with \(String(scalar).quoted)")
        }
        let written = String(String.UnicodeScalarView(scalars[startIndex..<index]))
        return .number(isNegative ? -magnitude : magnitude, written: written, at: start)
    }

    private mutating func readHexNumber(from start: JSON5Position) throws(JSON5Fault) -> Double {
        advance()
        advance()
        guard next?.hexDigitValue != nil else {
            throw JSON5Fault(start, "0x needs hex digits, \(found)")
        }
        var value = 0.0
        while let digit = next?.hexDigitValue {
            value = value * 16 + Double(digit)
            advance()
        }
        return value
    }

    private mutating func readDecimalNumber(from start: JSON5Position) throws(JSON5Fault) -> Double
    {
        let whole = readDigits()
        if whole.count > 1, whole.first == "0" {
            throw JSON5Fault(start, "a number may not begin with a zero and another digit")
        }
        let fraction = skip(".") ? readDigits() : ""
        guard !(whole.isEmpty && fraction.isEmpty) else {
            throw JSON5Fault(start, "a number needs a digit before or after its point")
        }
        var exponent = "0"
        if next == "e" || next == "E" {
            advance()
            let sign = next == "-" ? "-" : ""
            if next == "-" || next == "+" { advance() }
            let digits = readDigits()
            guard !digits.isEmpty else {
                throw JSON5Fault(start, "the exponent of this number needs digits, \(found)")
            }
            exponent = sign + digits
        }
        guard let value = Double("0\(whole).\(fraction)0e\(exponent)") else {
            throw JSON5Fault(start, "this number cannot be understood")
        }
        return value
    }

    private mutating func readDigits() -> String {
        var digits = String.UnicodeScalarView()
        while let scalar = next, scalar.isDecimalDigit {
            digits.append(scalar)
            advance()
        }
        return String(digits)
    }
}
