// The classes of bytes in the grammar of HTTP (RFC 9110, section 5.6.2; RFC 3986, section 3).

/// The bytes with a meaning in a request's head.
enum HTTPByte {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space = UInt8(ascii: " ")
    static let colon = UInt8(ascii: ":")
    static let slash = UInt8(ascii: "/")
    static let percent = UInt8(ascii: "%")

    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26
    }

    /// Whether a method or the name of a field may contain the byte: `tchar`.
    static func isToken(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    /// Whether the value of a field may contain the byte: text, a blank or a tab.
    static func isFieldText(_ byte: UInt8) -> Bool {
        byte == tab || byte >= space && byte != 0x7F
    }

    /// Whether a request target may contain the byte.
    ///
    /// A fragment is not sent, and other bytes have to be escaped.
    static func isTarget(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || "-._~!$&'()*+,;=:@/?%[]".utf8.contains(byte)
    }

    /// Whether a host with its port may contain the byte.
    static func isHost(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || "-._~!$&'()*+,;=:[]%".utf8.contains(byte)
    }

    /// The value of a hexadecimal digit, or nil.
    static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The byte in lower case.
    static func small(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }
}

extension Sequence<UInt8> {
    /// Whether these bytes are a word, ignoring the case of ASCII letters.
    ///
    /// - Parameter word: in small letters.
    func isWord(_ word: String) -> Bool { lazy.map(HTTPByte.small).elementsEqual(word.utf8) }
}
