// A reply as a value: every type that the two versions of the protocol have. Plain data; reading
// and writing it are elsewhere.

/// A value of the Redis serialisation protocol.
///
/// Attributes aren't among the cases: they are remarks beside a value, and a client skips them.
package enum RESPValue: Sendable, Equatable {
    /// `+OK`: a short text of one line.
    case simpleString(String)
    /// `-ERR unknown command`, or the same as a bulk: a word in capitals, a space, a message.
    case error(String)
    /// `:1000`: 64 bits with a sign.
    case integer(Int)
    /// `$5`: bytes.
    case bulk([UInt8])
    /// `$-1` and `*-1` in version 2, `_` in version 3.
    case null
    /// `*2`: values in order.
    case array([RESPValue])
    /// `%1`: keys with values, in order of arrival.
    case map([Entry])
    /// `#t` or `#f`.
    case boolean(Bool)
    /// `,1.5`: a floating-point number, which may be infinite or not a number.
    case double(Double)
    /// `(12345678901234567890123`: decimal digits, maybe behind a sign.
    case bigNumber(String)
    /// `=8`: text for people, and its format: `txt` or `mkd`.
    case verbatim(format: String, [UInt8])
    /// `~3`: values in no particular order; the sender makes sure that they are different.
    case set([RESPValue])
    /// `>3`: a message that no command asked for.
    case push([RESPValue])

    /// A key and its value.
    package struct Entry: Sendable, Equatable {
        package let key: RESPValue
        package let value: RESPValue

        package init(_ key: RESPValue, _ value: RESPValue) {
            self.key = key
            self.value = value
        }
    }
}

extension ReplyWriter {
    /// Appends a value, nested values included.
    package func write(_ value: RESPValue, to output: inout [UInt8]) {
        switch value {
        case .simpleString(let text): writeSimpleString(text, to: &output)
        case .error(let text): writeError(text, "", to: &output)
        case .integer(let integer): writeInteger(integer, to: &output)
        case .bulk(let bytes): writeBulk(bytes, to: &output)
        case .null: writeNull(to: &output)
        case .boolean(let boolean): writeBoolean(boolean, to: &output)
        case .double(let double): writeDouble(double, to: &output)
        case .bigNumber(let digits): writeBigNumber(digits, to: &output)
        case .verbatim(let format, let bytes):
            writeVerbatim(bytes, format: format, to: &output)
        case .array(let elements):
            writeArrayHeader(count: elements.count, to: &output)
            for element in elements { write(element, to: &output) }
        case .set(let elements):
            writeSetHeader(count: elements.count, to: &output)
            for element in elements { write(element, to: &output) }
        case .push(let elements):
            writePushHeader(count: elements.count, to: &output)
            for element in elements { write(element, to: &output) }
        case .map(let entries):
            writeMapHeader(count: entries.count, to: &output)
            for entry in entries {
                write(entry.key, to: &output)
                write(entry.value, to: &output)
            }
        }
    }
}

/// A version of the Redis serialisation protocol.
///
/// A connection begins with version 2 and changes to 3 when its client asks for it with `HELLO 3`.
///
/// - Source: https://github.com/redis/redis-specifications, protocol/RESP3.md
package enum ProtocolVersion: Int, Sendable, CaseIterable {
    /// Strings, errors, integers, arrays and nothing else.
    case two = 2

    /// Adds null, booleans, doubles, big numbers, verbatim strings, maps, sets and pushes.
    case three = 3
}
