// Every fault that incoming bytes can have, and its text. The texts begin as Redis's do, so that
// people and tools recognise them; then come the value and the limit.

/// A fault in the bytes of the peer.
///
/// Fatal for the connection: after a broken length the beginning of the next command is unknown.
/// `description` is the server's reply, behind the word `ERR`, before it closes.
package enum ProtocolError: Error, Equatable, Sendable {
    /// The line in front of something that has a length.
    package enum Header: String, Sendable {
        /// `*3`, how many arguments a command has.
        case multibulk
        /// `$7`, how many bytes an argument or a string has.
        case bulk
        /// `*3`, `%2`, `~1`, `>2`, `|1`, how many elements a reply has.
        case aggregate
    }

    // MARK: Both directions
    /// The length isn't a decimal number, or is negative.
    case invalidLength(Header, found: String)
    /// The length is a number, but a larger one than the limit allows.
    case lengthOverLimit(Header, length: Int, limit: Int)
    /// Another byte than the required one.
    case unexpectedByte(expected: UInt8, found: UInt8)
    /// The bytes of a bulk aren't followed by CRLF: its length was wrong.
    case unterminatedBulk(byteCount: Int)
    /// A carriage return without a line feed, or a line feed without a carriage return.
    case brokenLineEnd

    // MARK: Commands
    /// The name of a command is longer than any name is.
    case commandNameTooLong(length: Int, limit: Int)
    /// The arguments of one command have too many bytes together.
    case commandTooLarge(byteCount: Int, limit: Int)
    /// No line feed within the limit.
    case inlineTooLong(limit: Int)
    /// More words than a command may have arguments.
    case tooManyInlineWords(limit: Int)
    /// A quote that isn't closed, or one that is closed in the middle of a word.
    case unbalancedQuotes
    /// A zero byte in a line: this isn't text.
    case zeroByteInLine
    /// The first byte of a handshake of TLS in the place of a command.
    case tlsHandshake

    // MARK: Replies
    /// No type of the protocol begins with this byte.
    case unknownReplyType(UInt8)
    /// A value that is not in the form of its type.
    case invalidScalar(type: String, found: String)
    /// `$?` and its kin, which RESP3 describes and no server sends.
    case streamedReply
    /// A line of a reply isn't ended within the limit.
    case replyLineTooLong(limit: Int)
    /// One reply has too many bytes.
    case replyTooLarge(byteCount: Int, limit: Int)
    /// One reply announces too many elements, over all its levels.
    case tooManyElements(count: Int, limit: Int)
    /// Aggregates in aggregates, deeper than the limit.
    case replyTooDeep(limit: Int)
}

extension ProtocolError: CustomStringConvertible {
    /// One line of printable ASCII without CR and LF.
    package var description: String { "Protocol error: \(fault)" }

    private var fault: String {
        switch self {
        case .invalidLength(let header, let found):
            "invalid \(header.rawValue) length '\(found)', expected a decimal number from 0 up"
        case .lengthOverLimit(let header, let length, let limit):
            "invalid \(header.rawValue) length \(length), the limit is \(limit)"
        case .unexpectedByte(let expected, let found):
            "expected '\(ASCII.printable([expected]))', got '\(ASCII.printable([found]))'"
        case .unterminatedBulk(let byteCount):
            "expected CRLF after a bulk of \(byteCount) bytes"
        case .brokenLineEnd:
            "expected CRLF at the end of a line, found only half of it"
        case .commandNameTooLong, .commandTooLarge, .inlineTooLong, .tooManyInlineWords,
            .unbalancedQuotes, .zeroByteInLine, .tlsHandshake:
            commandFault
        case .unknownReplyType, .invalidScalar, .streamedReply, .replyLineTooLong,
            .replyTooLarge, .tooManyElements, .replyTooDeep:
            replyFault
        }
    }

    private var commandFault: String {
        switch self {
        case .commandNameTooLong(let length, let limit):
            "invalid bulk length \(length), the limit for a command name is \(limit)"
        case .commandTooLarge(let byteCount, let limit):
            "too big request, \(byteCount) bytes of arguments, the limit is \(limit)"
        case .inlineTooLong(let limit):
            "too big inline request, no line feed within \(limit) bytes"
        case .tooManyInlineWords(let limit):
            "too many words in inline request, the limit is \(limit)"
        case .unbalancedQuotes:
            "unbalanced quotes in request"
        case .zeroByteInLine:
            "zero byte in inline request"
        case .tlsHandshake:
            "TLS where plaintext is expected"
        default:
            preconditionFailure("not the fault of a command: \(self)")
        }
    }

    private var replyFault: String {
        switch self {
        case .unknownReplyType(let byte):
            "unknown reply type '\(ASCII.printable([byte]))'"
        case .invalidScalar(let type, let found):
            "invalid \(type) '\(found)'"
        case .streamedReply:
            "streamed replies of unknown length are not supported"
        case .replyLineTooLong(let limit):
            "too long line in reply, no CRLF within \(limit) bytes"
        case .replyTooLarge(let byteCount, let limit):
            "too big reply, \(byteCount) bytes, the limit is \(limit)"
        case .tooManyElements(let count, let limit):
            "too many elements in reply, \(count), the limit is \(limit)"
        case .replyTooDeep(let limit):
            "too deep reply, the limit is \(limit) levels"
        default:
            preconditionFailure("not the fault of a reply: \(self)")
        }
    }
}
