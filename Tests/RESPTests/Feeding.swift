// Feeds bytes to the parsers in any cut, and records the results, so that tests compare one cut
// with another.

import RESP
import Support
import Testing

/// A result of a parser of commands, which can be compared and printed.
enum CommandEvent: Equatable {
    case command([String])
    case tooLarge(OversizedArgument)
    case failure(String)
}

/// A result of a parser of replies.
enum ReplyEvent: Equatable {
    case value(RESPValue)
    case failure(String)
}

extension String {
    /// The bytes of the text.
    var bytes: [UInt8] { Array(utf8) }
}

/// Bytes of a test case, which the log of a test run shows with escapes instead of raw.
struct Wire: Sendable, ExpressibleByStringLiteral, CustomTestStringConvertible {
    let text: String
    var bytes: [UInt8] { text.bytes }
    var testDescription: String { text.debugDescription }

    init(_ text: String) { self.text = text }
    init(stringLiteral value: String) { text = value }
}

/// One character for each byte, so that arguments of any bytes are compared and printed exactly.
func latin1(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
    return text
}

/// Feeds `bytes` in pieces of these sizes, the rest in one, and takes all commands after each.
func commandEvents(
    _ bytes: [UInt8], pieces: [Int] = [], limits: CommandLimits = CommandLimits()
) -> [CommandEvent] {
    var parser = CommandParser(limits: limits)
    var events: [CommandEvent] = []
    for piece in cut(bytes, pieces) {
        parser.append(piece)
        do {
            while let request = try parser.next() {
                switch request {
                case .command(let command):
                    events.append(.command((0..<command.count).map { latin1(command[$0]) }))
                case .tooLarge(let oversized):
                    events.append(.tooLarge(oversized))
                }
            }
        } catch {
            return events + [.failure(error.description)]
        }
    }
    return events
}

/// Feeds `bytes` in pieces of these sizes, the rest in one, and takes all replies after each.
func replyEvents(
    _ bytes: [UInt8], pieces: [Int] = [], limits: ReplyLimits = ReplyLimits()
) -> [ReplyEvent] {
    var parser = ReplyParser(limits: limits)
    var events: [ReplyEvent] = []
    for piece in cut(bytes, pieces) {
        parser.append(piece)
        do {
            while let value = try parser.next() { events.append(.value(value)) }
        } catch {
            return events + [.failure(error.description)]
        }
    }
    return events
}

/// All the arguments of the commands in `text`.
func commands(_ text: String) -> [CommandEvent] { commandEvents(text.bytes) }

/// The reply in `text`.
func reply(_ text: String) throws -> RESPValue? {
    var parser = ReplyParser()
    parser.append(text.utf8)
    return try parser.next()
}

private func cut(_ bytes: [UInt8], _ sizes: [Int]) -> [ArraySlice<UInt8>] {
    var rest = bytes[...]
    var pieces: [ArraySlice<UInt8>] = []
    for size in sizes {
        pieces.append(rest.prefix(size))
        rest = rest.dropFirst(size)
    }
    if !rest.isEmpty { pieces.append(rest) }
    return pieces
}

extension SeededRandom {
    /// Sizes of pieces that together are at least `total`.
    mutating func pieces(_ total: Int, upTo largest: Int) -> [Int] {
        var sizes: [Int] = []
        var sum = 0
        while sum < total {
            sizes.append(1 + below(largest))
            sum += sizes[sizes.count - 1]
        }
        return sizes
    }
}
