// Keys, read from typed bytes.

/// A key that `workerctl top` knows.
enum Key: Equatable {
    case character(Character)
    case up, down, enter, escape, backspace

    /// Reads keys from what a terminal sends; unknown sequences are passed over.
    ///
    /// - Source: ECMA-48: a control sequence is ESC [ and ends with a byte from @ to ~.
    static func all(in bytes: [UInt8]) -> [Key] {
        var keys: [Key] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            switch byte {
            case 0x1B:
                guard let next = rest.first, next == UInt8(ascii: "[") || next == UInt8(ascii: "O")
                else {
                    keys.append(.escape)
                    continue
                }
                rest = rest.dropFirst()
                let end = rest.firstIndex { (0x40...0x7E).contains($0) } ?? rest.endIndex
                switch end < rest.endIndex ? rest[end] : 0 {
                case UInt8(ascii: "A"): keys.append(.up)
                case UInt8(ascii: "B"): keys.append(.down)
                default: break
                }
                rest = rest[min(end + 1, rest.endIndex)...]
            case 0x0A, 0x0D: keys.append(.enter)
            case 0x08, 0x7F: keys.append(.backspace)
            case 0x20..<0x7F: keys.append(.character(Character(Unicode.Scalar(byte))))
            default: break
            }
        }
        return keys
    }
}
