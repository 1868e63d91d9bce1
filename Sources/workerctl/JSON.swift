// A JSON document, written. No reader, no Foundation.

internal import Wording

/// A value of a JSON document; the keys of an object keep their order.
indirect enum JSON {
    case null
    case boolean(Bool)
    case integer(Int)
    case double(Double)
    case string(String)
    /// A string if it is UTF-8, else an object: `{"base64": "…"}`.
    case bytes([UInt8])
    case array([JSON])
    case object([(String, JSON)])

    /// The document, on one line.
    var text: String {
        var output = ""
        write(to: &output)
        return output
    }

    private func write(to output: inout String) {
        switch self {
        case .null: output += "null"
        case .boolean(let value): output += value ? "true" : "false"
        case .integer(let value): output += "\(value)"
        // JSON has no word for infinities and for what is not a number.
        case .double(let value): output += value.isFinite ? "\(value)" : "null"
        case .string(let text): Self.write(text, to: &output)
        case .bytes(let bytes):
            if let text = String(validating: bytes, as: UTF8.self) {
                Self.write(text, to: &output)
            } else {
                JSON.object([("base64", .string(Self.base64(bytes)))]).write(to: &output)
            }
        case .array(let elements):
            output += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { output += "," }
                element.write(to: &output)
            }
            output += "]"
        case .object(let entries):
            output += "{"
            for (index, entry) in entries.enumerated() {
                if index > 0 { output += "," }
                Self.write(entry.0, to: &output)
                output += ":"
                entry.1.write(to: &output)
            }
            output += "}"
        }
    }

    private static func write(_ text: String, to output: inout String) {
        output += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\r": output += "\\r"
            case "\t": output += "\\t"
            case _ where isControl(scalar):
                let digits = String(scalar.value, radix: 16)
                output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: output.unicodeScalars.append(scalar)
            }
        }
        output += "\""
    }

    /// - Source: RFC 4648, section 4.
    private static func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var output: [UInt8] = []
        output.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var word: UInt32 = 0
            for offset in 0..<3 {
                word = word << 8 | (offset < group.count ? UInt32(group[start + offset]) : 0)
            }
            for position in 0..<4 {
                let index = Int(word >> UInt32(18 - 6 * position)) & 63
                output.append(position <= group.count ? alphabet[index] : UInt8(ascii: "="))
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
