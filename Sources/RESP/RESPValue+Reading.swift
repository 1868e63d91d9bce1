// A client's view of a reply in either version of the protocol: version 2 uses strings, integers
// and flat arrays where version 3 has types.

extension RESPValue {
    /// The bytes of a string of any kind, or nil.
    package var bytes: [UInt8]? {
        switch self {
        case .bulk(let bytes), .verbatim(_, let bytes): bytes
        case .simpleString(let text), .bigNumber(let text): Array(text.utf8)
        default: nil
        }
    }

    /// The text of a string of any kind, or nil; invalid UTF-8 becomes U+FFFD.
    package var text: String? {
        switch self {
        case .simpleString(let text), .bigNumber(let text): text
        case .bulk(let bytes), .verbatim(_, let bytes): String(decoding: bytes, as: UTF8.self)
        default: nil
        }
    }

    /// An integer, or a string that spells one, or nil.
    package var integer: Int? {
        switch self {
        case .integer(let value): value
        case .boolean(let value): value ? 1 : 0
        default: bytes.flatMap { DecimalInteger.parse($0.span) }
        }
    }

    /// A floating-point number, or an integer, or a string that spells one, or nil.
    package var double: Double? {
        switch self {
        case .double(let value): value
        case .integer(let value): Double(value)
        default: bytes.flatMap { FloatingPointText.parse($0.span) }
        }
    }

    /// Whether it is the absence of a value.
    package var isNull: Bool { self == .null }

    /// The elements of an array, a set or a push, or nil.
    package var elements: [RESPValue]? {
        switch self {
        case .array(let elements), .set(let elements), .push(let elements): elements
        default: nil
        }
    }

    /// The entries of a map, or of the flat array that version 2 has for it, or nil.
    package var asMap: [Entry]? {
        switch self {
        case .map(let entries): return entries
        case .array(let elements) where elements.count.isMultiple(of: 2):
            return stride(from: 0, to: elements.count, by: 2).map {
                Entry(elements[$0], elements[$0 + 1])
            }
        default: return nil
        }
    }

    /// The value of the first entry with this key, if this is a map in either version.
    ///
    /// - Complexity: O(entries).
    package subscript(key: String) -> RESPValue? {
        asMap?.first { $0.key.text == key }?.value
    }

    /// The first word of an error, such as `NOTHREAD`, for programs.
    ///
    /// Nil if it isn't an error.
    package var errorWord: String? {
        guard case .error(let text) = self else { return nil }
        return String(text.prefix { $0 != " " })
    }

    /// The message of an error behind its first word, for people.
    ///
    /// Nil if it isn't an error.
    package var errorMessage: String? {
        guard case .error(let text) = self else { return nil }
        return String(text.drop { $0 != " " }.dropFirst())
    }
}
