// The dumps of PROTOCOL.md: blocks of `C:` lines, what a client sends, and `S:` lines, what the
// daemon answers. Knows how they are written, and nothing of what they say.

import Support

/// A block of such lines.
struct Dump {
    /// The steps, in order.
    enum Step: Equatable {
        /// The client sends this.
        case send([UInt8])
        /// The daemon answers with this.
        case expect([UInt8])
        /// The client sends nothing more.
        case endSending
        /// The daemon closes the connection.
        case closed
        /// The job begins; without this line it may or may not have begun.
        case begins(job: Int)
        /// A section of the configuration file has this text from now on.
        case rewrites(section: String)
    }

    /// The line of the document in which it begins.
    let line: Int
    /// Whether it is played on a daemon of its own; all others share one.
    private(set) var hasOwnDaemon = false
    /// Whether the client comes in through the door that asks for a password.
    private(set) var isAtPasswordDoor = false
    /// Commands that the client sends before, one a line.
    private(set) var commands: [Substring] = []
    /// Each with its line in the document.
    private(set) var steps: [(line: Int, step: Step)] = []

    private init(line: Int) { self.line = line }

    /// The dumps of a document.
    ///
    /// The needs of a dump are in a comment right before its block, such as `<!-- dump: own daemon;
    /// HELLO 3 -->`: `own daemon`, `password door`, and commands that its connection sends first.
    static func all(in document: String) throws -> [Dump] {
        var dumps: [Dump] = []
        var (block, needs): ([(Int, Substring)]?, (line: Int, words: Substring)?)
        let lines = document.split(separator: "\n", omittingEmptySubsequences: false)
        for (number, line) in zip(1..., lines) {
            if line.hasPrefix("```") {
                if let lines = block, let dump = try Dump(lines, needs?.words) {
                    dumps.append(dump)
                    needs = nil
                }
                block = block == nil ? [] : nil
            } else if block != nil {
                block?.append((number, line))
            } else if let words = words(ofComment: line) {
                needs = (number, words)
            } else if let needs, !line.isEmpty {
                throw Unexpected("PROTOCOL.md:\(needs.line): no dump follows")
            }
        }
        return dumps
    }

    private static func words(ofComment line: Substring) -> Substring? {
        let (start, end) = ("<!-- dump: ", " -->")
        guard line.hasPrefix(start), line.hasSuffix(end) else { return nil }
        return line.dropFirst(start.count).dropLast(end.count)
    }

    /// - Returns: nil if the block is no dump.
    private init?(_ lines: [(Int, Substring)], _ needs: Substring?) throws {
        guard let first = lines.first, lines.contains(where: { $0.1.hasPrefix("C: ") }) else {
            return nil
        }
        self.init(line: first.0)
        for (number, line) in lines {
            do {
                try read(line, number)
            } catch {
                throw Unexpected("PROTOCOL.md:\(number): \(error)")
            }
        }
        for need in needs?.split(separator: "; ") ?? [] {
            switch need {
            case "own daemon": hasOwnDaemon = true
            case "password door": isAtPasswordDoor = true
            default: commands.append(need)
            }
        }
    }

    private mutating func read(_ line: Substring, _ number: Int) throws {
        let text = line.dropFirst(3)
        switch line.prefix(3) {
        case "C: ": steps.append((number, .send(try Self.bytes(text))))
        case "S: ": steps.append((number, .expect(try Self.bytes(text))))
        case "   " where text.hasPrefix("("): steps.append((number, try Self.event(text)))
        case "   ":
            let more = try Self.bytes(text)
            switch steps.last?.step {
            case .send(let bytes): steps[steps.count - 1].step = .send(bytes + more)
            case .expect(let bytes): steps[steps.count - 1].step = .expect(bytes + more)
            default: throw Unexpected("nothing that could go on here")
            }
        default: throw Unexpected("neither C: nor S:, nor what goes on with one")
        }
    }

    private static func event(_ text: Substring) throws -> Step {
        switch text {
        case "(closes its sending side)": return .endSending
        case "(closes the connection)": return .closed
        case _ where text.hasPrefix("(the file has ") && text.hasSuffix(")"):
            return .rewrites(
                section: String(text.dropFirst("(the file has ".count).dropLast()))
        default:
            guard let match = text.wholeMatch(of: /\(job ([0-9]+) begins\)/), let id = Int(match.1)
            else { throw Unexpected("what is \(text)?") }
            return .begins(job: id)
        }
    }

    /// The bytes of a line: `\r`, `\n` and `\\` stand for one byte, `(70000 bytes)` for so many.
    static func bytes(_ text: Substring) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text
        while let character = rest.first {
            if let match = rest.prefixMatch(of: /\(([0-9]+) bytes\)/), let count = Int(match.1) {
                bytes += [UInt8](repeating: UInt8(ascii: "x"), count: count)
                rest = rest[match.range.upperBound...]
            } else if character == "\\" {
                guard let byte = escapes[rest.prefix(2)] else {
                    throw Unexpected("what is \(rest.prefix(2))?")
                }
                bytes.append(byte)
                rest = rest.dropFirst(2)
            } else {
                bytes += Array(String(character).utf8)
                rest = rest.dropFirst()
            }
        }
        return bytes
    }

    private static let escapes: [Substring: UInt8] = [
        "\\r": UInt8(ascii: "\r"), "\\n": UInt8(ascii: "\n"), "\\\\": UInt8(ascii: "\\"),
    ]

    /// Bytes as the lines of a dump, broken where the document would break them.
    static func text(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes, as: UTF8.self).unicodeScalars.reduce(into: "") {
            switch $1 {
            case "\r": $0 += "\\r"
            case "\n": $0 += "\\n"
            case "\\": $0 += "\\\\"
            default: $0.unicodeScalars.append($1)
            }
        }
        var lines = ["S: "]
        for piece in text.split(separator: "\\r\\n", omittingEmptySubsequences: false).dropLast() {
            let isPush = piece.hasPrefix(">")
            let isTooLong = lines[lines.count - 1].count + piece.count > 95
            if isPush || isTooLong, lines[lines.count - 1].count > 3 { lines.append("   ") }
            lines[lines.count - 1] += piece + "\\r\\n"
        }
        return lines.joined(separator: "\n")
    }
}
