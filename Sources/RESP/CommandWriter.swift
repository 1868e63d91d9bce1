// From commands to bytes: the client's half of writing. A command is an array of bulk strings in
// either version.

/// One argument of a command that a client sends.
package enum CommandArgument: Sendable, Equatable {
    /// Text, sent as UTF-8.
    case text(String)
    /// Bytes as they are, such as a payload.
    case bytes([UInt8])
    /// An integer, sent as decimal digits.
    case integer(Int)
}

extension CommandArgument: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
}

/// Appends commands to a byte array, in the form of programs.
///
/// A large payload need not be copied: write the header, the arguments in front of it and the
/// payload's header, send the payload itself, and then the trailer.
package enum CommandWriter {
    /// Appends a whole command.
    ///
    /// ```swift
    /// CommandWriter.write(
    ///     ["PERFORM", "images", "thumbnail", "DELAY", 500, .bytes(picture)], to: &output)
    /// ```
    package static func write(_ arguments: [CommandArgument], to output: inout [UInt8]) {
        writeHeader(argumentCount: arguments.count, to: &output)
        for argument in arguments {
            switch argument {
            case .text(let text): writeArgument(text, to: &output)
            case .bytes(let bytes): writeArgument(bytes, to: &output)
            case .integer(let value): writeArgument(value, to: &output)
            }
        }
    }

    /// Begins a command; `argumentCount` arguments must follow, its name the first of them.
    package static func writeHeader(argumentCount: Int, to output: inout [UInt8]) {
        precondition(argumentCount > 0, "a command has a name")
        DecimalInteger.appendLine(ASCII.asterisk, argumentCount, to: &output)
    }

    /// Appends an argument of text.
    package static func writeArgument(_ text: String, to output: inout [UInt8]) {
        writeArgumentHeader(byteCount: text.utf8.count, to: &output)
        output.append(contentsOf: text.utf8)
        writeArgumentTrailer(to: &output)
    }

    /// Appends an argument of bytes.
    package static func writeArgument(_ bytes: [UInt8], to output: inout [UInt8]) {
        writeArgumentHeader(byteCount: bytes.count, to: &output)
        output.append(contentsOf: bytes)
        writeArgumentTrailer(to: &output)
    }

    /// Appends an integer as an argument.
    package static func writeArgument(_ value: Int, to output: inout [UInt8]) {
        var digits: [UInt8] = []
        DecimalInteger.append(value, to: &digits)
        writeArgument(digits, to: &output)
    }

    /// Appends the header of an argument whose bytes are sent from elsewhere.
    package static func writeArgumentHeader(byteCount: Int, to output: inout [UInt8]) {
        DecimalInteger.appendLine(ASCII.dollar, byteCount, to: &output)
    }

    /// Appends what stands behind the bytes of an argument.
    package static func writeArgumentTrailer(to output: inout [UInt8]) {
        output.append(ASCII.carriageReturn)
        output.append(ASCII.lineFeed)
    }
}
