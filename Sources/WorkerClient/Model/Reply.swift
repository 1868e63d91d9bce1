// A reply to a raw command, as a user of the library sees it: the types of both versions of the
// protocol, with the strings told apart only by whether they are errors.

internal import RESP

/// The daemon's reply to a raw command.
public indirect enum Reply: Sendable, Equatable {
    /// A short text, such as `OK`.
    case status(String)
    /// Bytes, such as a result; text is UTF-8.
    case bytes([UInt8])
    /// A number.
    case integer(Int)
    /// A floating-point number.
    case double(Double)
    /// True or false.
    case boolean(Bool)
    /// The absence of a value.
    case null
    /// Values in order.
    case list([Reply])
    /// Keys with values, in the order in which they came.
    case map([Entry])
    /// An error inside of a list or map; an error as the whole reply is thrown.
    case error(word: String, message: String)

    /// A key and its value.
    public struct Entry: Sendable, Equatable {
        /// The key.
        public let key: Reply
        /// The value.
        public let value: Reply

        /// A key and its value.
        public init(_ key: Reply, _ value: Reply) {
            self.key = key
            self.value = value
        }
    }

    /// The text of a status or of bytes, or nil; what is not UTF-8 becomes U+FFFD.
    public var text: String? {
        switch self {
        case .status(let text): text
        case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
        default: nil
        }
    }

    /// The value of the first entry with this key, if this is a map.
    ///
    /// - Complexity: O(entries).
    public subscript(key: String) -> Reply? {
        guard case .map(let entries) = self else { return nil }
        return entries.first { $0.key.text == key }?.value
    }

    init(_ value: RESPValue) {
        switch value {
        case .simpleString(let text), .bigNumber(let text): self = .status(text)
        case .bulk(let bytes), .verbatim(_, let bytes): self = .bytes(bytes)
        case .integer(let integer): self = .integer(integer)
        case .double(let double): self = .double(double)
        case .boolean(let boolean): self = .boolean(boolean)
        case .null: self = .null
        case .array(let elements), .set(let elements), .push(let elements):
            self = .list(elements.map(Reply.init))
        case .map(let entries):
            self = .map(entries.map { Entry(Reply($0.key), Reply($0.value)) })
        case .error:
            self = .error(word: value.errorWord ?? "ERR", message: value.errorMessage ?? "")
        }
    }
}

/// One argument of a raw command.
public enum CommandPart: Sendable, Equatable, ExpressibleByStringLiteral,
    ExpressibleByIntegerLiteral
{
    /// Text, sent as UTF-8.
    case text(String)
    /// Bytes as they are, such as a payload.
    case bytes([UInt8])
    /// A number, sent as decimal digits.
    case integer(Int)

    /// Text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// A number.
    public init(integerLiteral value: Int) { self = .integer(value) }

    var argument: CommandArgument {
        switch self {
        case .text(let text): .text(text)
        case .bytes(let bytes): .bytes(bytes)
        case .integer(let integer): .integer(integer)
        }
    }
}
