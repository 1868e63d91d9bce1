// Values of the Redis protocol as JSON (RFC 8259): the answers of commands, for programs that speak
// HTTP. Bytes that are no text are shown as `{"base64": "…"}`, as they are read.

package import RESP

/// Appends JSON to an array that the caller owns.
package enum JSONText {
    /// Appends a value.
    ///
    /// A map is an object; a list, a set and a push are arrays. A number that JSON lacks is null.
    package static func append(_ value: RESPValue, to output: inout [UInt8]) {
        switch value {
        case .simpleString(let text), .error(let text), .bigNumber(let text):
            append(text, to: &output)
        case .bulk(let bytes), .verbatim(_, let bytes): append(bytes, to: &output)
        case .integer(let number): output += "\(number)".utf8
        case .null: output += "null".utf8
        case .boolean(let flag): output += (flag ? "true" : "false").utf8
        case .double(let number):
            output += (number.isFinite ? "\(number)" : "null").utf8
        case .array(let values), .set(let values), .push(let values):
            output.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                append(value, to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .map(let entries):
            output.append(UInt8(ascii: "{"))
            for (index, entry) in entries.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                append(entry.key.jsonKey, to: &output)
                output.append(UInt8(ascii: ":"))
                append(entry.value, to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// An object with one member.
    static func object(_ key: String, _ value: RESPValue) -> [UInt8] {
        var output: [UInt8] = []
        append(.map([RESPValue.Entry(.simpleString(key), value)]), to: &output)
        return output
    }

    /// Appends bytes: as a string if they are text, else in base64.
    ///
    /// Text is UTF-8 without control characters but tab and line ends. So a string takes at most
    /// twice as many bytes.
    private static func append(_ bytes: [UInt8], to output: inout [UInt8]) {
        guard !isText(bytes) else { return appendString(bytes, to: &output) }
        output += "{\"base64\":\"".utf8
        Base64.append(bytes, to: &output)
        output += "\"}".utf8
    }

    static func append(_ text: String, to output: inout [UInt8]) {
        appendString(Array(text.utf8), to: &output)
    }

    private static func isText(_ bytes: [UInt8]) -> Bool {
        let escapes = escapes
        // Counted by hand, here and below: a result has millions of bytes, and an iterator costs
        // ten times as much where nothing is inlined.
        var index = 0
        while index < bytes.count {
            guard escapes[Int(bytes[index])] != hexadecimal else { return false }
            index += 1
        }
        return (try? UTF8Span(validating: bytes.span)) != nil
    }

    private static let plain: UInt8 = 0
    private static let hexadecimal = UInt8(ascii: "u")

    /// For each byte the character behind the `\` that stands for it, or `plain`.
    private static let escapes = {
        var escapes = [UInt8](repeating: plain, count: 256)
        for byte in Array(0..<0x20) + [0x7F] { escapes[byte] = hexadecimal }
        for (byte, escape): (UInt8, Unicode.Scalar) in [
            (0x09, "t"), (0x0A, "n"), (0x0D, "r"), (UInt8(ascii: "\""), "\""),
            (UInt8(ascii: "\\"), "\\"),
        ] {
            escapes[Int(byte)] = UInt8(ascii: escape)
        }
        return escapes
    }()

    /// Appends a string, each stretch of plain bytes at once.
    private static func appendString(_ text: [UInt8], to output: inout [UInt8]) {
        let escapes = escapes
        output.reserveCapacity(output.count + text.count + 2)
        output.append(UInt8(ascii: "\""))
        var (start, index) = (0, 0)
        while index < text.count {
            let byte = text[index]
            let escape = escapes[Int(byte)]
            if escape != plain {
                if start < index { output += text[start..<index] }
                start = index + 1
                output.append(UInt8(ascii: "\\"))
                output.append(escape)
                if escape == hexadecimal {
                    output += "00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
                }
            }
            index += 1
        }
        output += text[start...]
        output.append(UInt8(ascii: "\""))
    }
}

extension RESPValue {
    /// The text of a map's key.
    fileprivate var jsonKey: String {
        switch self {
        case .bulk(let bytes): String(decoding: bytes, as: UTF8.self)
        case .simpleString(let text): text
        default: "\(self)"
        }
    }
}

/// Bytes as text in 64 characters (RFC 4648, section 4).
package enum Base64 {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The value of each byte that is a digit, 255 of any other.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    package static func append(_ bytes: [UInt8], to output: inout [UInt8]) {
        var index = 0
        while index < bytes.count {
            let count = min(3, bytes.count - index)
            var group = 0
            for offset in 0..<3 {
                group = group << 8 | (offset < count ? Int(bytes[index + offset]) : 0)
            }
            for place in 0..<4 {
                output.append(
                    place <= count ? digits[group >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
            index += 3
        }
    }

    /// The bytes of a text with its padding; nil if it is none.
    package static func bytes(of text: String) -> [UInt8]? {
        let text = Array(text.utf8)
        guard text.count % 4 == 0 else { return nil }
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var (group, bitCount) = (0, 0)
        for digit in text.dropLast(padding) {
            let value = values[Int(digit)]
            guard value < 64 else { return nil }
            group = group << 6 | Int(value)
            bitCount += 6
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(group >> bitCount & 255))
            group &= 1 << bitCount - 1
        }
        // Bits that mean nothing are 0, so that each text has one spelling.
        return group == 0 ? bytes : nil
    }
}
