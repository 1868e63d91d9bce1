// The bytes with a meaning in the protocol, by name, and how an error shows a foreign byte. Knows
// nothing of commands or replies.

/// The bytes that the protocol gives a meaning to.
enum ASCII {
    static let null: UInt8 = 0x00
    static let bell: UInt8 = 0x07
    static let backspace: UInt8 = 0x08
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let verticalTab: UInt8 = 0x0B
    static let formFeed: UInt8 = 0x0C
    static let carriageReturn: UInt8 = 0x0D
    static let space = UInt8(ascii: " ")
    static let doubleQuote = UInt8(ascii: "\"")
    static let singleQuote = UInt8(ascii: "'")
    static let backslash = UInt8(ascii: "\\")
    static let minus = UInt8(ascii: "-")
    static let plus = UInt8(ascii: "+")
    static let dot = UInt8(ascii: ".")
    static let zero = UInt8(ascii: "0")
    static let nine = UInt8(ascii: "9")
    static let colon = UInt8(ascii: ":")
    static let asterisk = UInt8(ascii: "*")
    static let dollar = UInt8(ascii: "$")

    static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }

    /// Whether `isspace` accepts the byte in the C locale.
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == space || (byte >= tab && byte <= carriageReturn)
    }

    /// The value of a hexadecimal digit, or nil.
    static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case zero...nine: byte - zero
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Bytes as an error shows them: printable ASCII as it is, the rest as `\x07`.
    ///
    /// Bytes of the peer can then neither end a line of a log nor colour a terminal.
    static func printable(_ bytes: some Sequence<UInt8>) -> String {
        let digits: [UInt8] = Array("0123456789abcdef".utf8)
        var shown: [UInt8] = []
        for byte in bytes {
            if byte >= space && byte < 0x7F && byte != backslash {
                shown.append(byte)
            } else {
                shown += [backslash, UInt8(ascii: "x")]
                shown += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: shown, as: UTF8.self)
    }
}
