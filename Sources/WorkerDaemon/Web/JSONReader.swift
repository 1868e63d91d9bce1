// From a JSON text to a value (RFC 8259), as requests have it: strict, and no key twice. The
// configuration has a reader of its own, which tells people lines and columns and takes comments.

internal import Wording

/// A value of JSON.
package indirect enum JSONValue: Equatable, Sendable {
    /// A member of an object.
    package struct Member: Equatable, Sendable {
        package let key: String
        package let value: JSONValue
    }

    case null
    case boolean(Bool)
    /// As it was written.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// The member of a key; nil if there is none, or if the value is no object.
    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }
}

/// Why a text is no JSON, with the offset of the byte.
package struct JSONFault: Error, Equatable, CustomStringConvertible, Sendable {
    package let offset: Int
    package let reason: String

    package var description: String { "the body is no JSON: \(reason) at byte \(offset + 1)" }
}

/// Reads a whole text.
package struct JSONReader {
    /// Deeper than any request.
    private static let depthMax = 16
    /// More values than any request: each takes more memory than it has bytes.
    package static let valueCountMax = 1_024

    private let bytes: [UInt8]
    private let valueCountMax: Int
    private var index = 0
    private var valueCount = 0

    /// Reads a text that contains exactly one value.
    ///
    /// - Parameter valueCountMax: the most values in it.
    /// - Complexity: O(bytes).
    package static func read(
        _ bytes: [UInt8], valueCountMax: Int = valueCountMax
    ) throws(JSONFault) -> JSONValue {
        var reader = JSONReader(bytes: bytes, valueCountMax: valueCountMax)
        let value = try reader.readValue(depth: 0)
        reader.skipBlanks()
        guard reader.index == bytes.count else { throw reader.fault("something follows it") }
        return value
    }

    private init(bytes: [UInt8], valueCountMax: Int) {
        self.bytes = bytes
        self.valueCountMax = valueCountMax
    }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private func fault(_ reason: String) -> JSONFault { JSONFault(offset: index, reason: reason) }

    private mutating func skipBlanks() {
        while let byte = next, [0x20, 0x0A, 0x0D, 0x09].contains(byte) { index += 1 }
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func readValue(depth: Int) throws(JSONFault) -> JSONValue {
        guard depth < Self.depthMax else { throw fault("it is too deep") }
        valueCount += 1
        guard valueCount <= valueCountMax else { throw fault("it has too many values") }
        skipBlanks()
        switch next {
        case UInt8(ascii: "{"): return try readObject(depth: depth)
        case UInt8(ascii: "["): return try readArray(depth: depth)
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
            return .number(try readNumber())
        default: break
        }
        for (word, value) in [
            ("null", JSONValue.null), ("true", .boolean(true)), ("false", .boolean(false)),
        ] where bytes[index...].starts(with: word.utf8) {
            index += word.utf8.count
            return value
        }
        throw fault(next == nil ? "it ends too early" : "a value was expected")
    }

    private mutating func readObject(depth: Int) throws(JSONFault) -> JSONValue {
        index += 1
        var members: [JSONValue.Member] = []
        skipBlanks()
        if skip("}") { return .object([]) }
        while true {
            skipBlanks()
            guard next == UInt8(ascii: "\"") else { throw fault("a key in quotes was expected") }
            let key = try readString()
            guard !members.contains(where: { $0.key == key }) else {
                throw fault("the key \(quoted(key)) is given twice")
            }
            skipBlanks()
            guard skip(":") else { throw fault("a colon was expected") }
            members.append(.init(key: key, value: try readValue(depth: depth + 1)))
            skipBlanks()
            if skip("}") { return .object(members) }
            guard skip(",") else { throw fault("a comma or a brace was expected") }
        }
    }

    private mutating func readArray(depth: Int) throws(JSONFault) -> JSONValue {
        index += 1
        var values: [JSONValue] = []
        skipBlanks()
        if skip("]") { return .array([]) }
        while true {
            values.append(try readValue(depth: depth + 1))
            skipBlanks()
            if skip("]") { return .array(values) }
            guard skip(",") else { throw fault("a comma or a bracket was expected") }
        }
    }

    private mutating func readNumber() throws(JSONFault) -> String {
        let start = index
        _ = skip("-")
        if !skip("0") { try skipDigits() }
        if skip(".") { try skipDigits() }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            index += 1
            if !skip("+") { _ = skip("-") }
            try skipDigits()
        }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func skipDigits() throws(JSONFault) {
        let start = index
        while let byte = next, byte &- UInt8(ascii: "0") < 10 { index += 1 }
        if index == start { throw fault("a digit was expected") }
    }

    private mutating func readString() throws(JSONFault) -> String {
        index += 1
        var text: [UInt8] = []
        var runStart = index
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                text += bytes[runStart..<index]
                guard let valid = String(validating: text, as: UTF8.self) else {
                    throw fault("the string before is not UTF-8")
                }
                index += 1
                return valid
            case UInt8(ascii: "\\"):
                text += bytes[runStart..<index]
                text += UTF8.encode(try readEscape()) ?? UTF8.encodedReplacementCharacter
                runStart = index
            case 0..<0x20: throw fault("a string has no control characters")
            default: index += 1
            }
        }
        throw fault("a string is not closed")
    }

    private static let escapes: [UInt8: Unicode.Scalar] = [
        UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/",
        UInt8(ascii: "b"): "\u{8}", UInt8(ascii: "f"): "\u{C}", UInt8(ascii: "n"): "\n",
        UInt8(ascii: "r"): "\r", UInt8(ascii: "t"): "\t",
    ]

    private mutating func readEscape() throws(JSONFault) -> Unicode.Scalar {
        index += 1
        guard let byte = next else { throw fault("a string is not closed") }
        index += 1
        if let scalar = Self.escapes[byte] { return scalar }
        guard byte == UInt8(ascii: "u") else { throw fault("an unknown escape") }
        let unit = try readHex()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard (0xD800..<0xDC00).contains(unit), skip("\\"), skip("u") else {
            throw fault("half of a surrogate pair")
        }
        let low = try readHex()
        guard (0xDC00..<0xE000).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        else { throw fault("half of a surrogate pair") }
        return scalar
    }

    private static func hexadecimalDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }

    private mutating func readHex() throws(JSONFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = next.flatMap(Self.hexadecimalDigit) else {
                throw fault("four hexadecimal digits were expected")
            }
            value = value << 4 | digit
            index += 1
        }
        return value
    }
}
