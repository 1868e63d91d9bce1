// Proves the server's half of reading: commands in any cut, and the questions that a command
// answers.

import RESP
import Support
import Testing

@Suite struct CommandParserTests {
    @Test func `an array of bulk strings is a command`() {
        #expect(commands("*1\r\n$4\r\nPING\r\n") == [.command(["PING"])])
        #expect(
            commands("*2\r\n$4\r\nLLEN\r\n$6\r\nmylist\r\n") == [.command(["LLEN", "mylist"])])
        #expect(commands("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n") == [.command(["ECHO", ""])])
    }

    @Test func `an argument may hold any byte, CR and LF and zero too`() {
        let payload = (0...255).map { UInt8($0) }
        let bytes = "*2\r\n$4\r\nECHO\r\n$256\r\n".bytes + payload + "\r\n".bytes
        #expect(commandEvents(bytes) == [.command(["ECHO", latin1(payload)])])
    }

    @Test func `empty lines and empty arrays are passed over`() {
        let stream = "\r\n\n*0\r\n   \r\n*1\r\n$4\r\nPING\r\n*0\r\nPING\r\n"
        #expect(commands(stream) == [.command(["PING"]), .command(["PING"])])
    }

    @Test func `a command may have many arguments, and the next one few`() {
        let words = (0..<1024).map { "argument\($0)" }
        var stream: [UInt8] = []
        CommandWriter.write(words.map { .text($0) }, to: &stream)
        CommandWriter.write(["PING"], to: &stream)
        CommandWriter.write(words.prefix(9).map { .text($0) }, to: &stream)
        let expected: [CommandEvent] = [
            .command(words), .command(["PING"]), .command(Array(words.prefix(9))),
        ]
        #expect(commandEvents(stream) == expected)
        #expect(commandEvents(stream, pieces: Array(repeating: 1, count: stream.count)) == expected)
    }

    @Test(arguments: streams)
    func `every split position gives the same commands`(stream: Wire) {
        let bytes = stream.bytes
        let limits = CommandLimits(
            argumentCountMax: 12, argumentByteCountMax: 40, skippedByteCountMax: 100,
            inlineByteCountMax: 64)
        let whole = commandEvents(bytes, limits: limits)
        #expect(whole.count >= 1)
        for first in 0...bytes.count {
            #expect(
                commandEvents(bytes, pieces: [first], limits: limits) == whole, "cut at \(first)")
            for second in 0...min(3, bytes.count - first) {
                let pieces = [first, second]
                #expect(commandEvents(bytes, pieces: pieces, limits: limits) == whole, "\(pieces)")
            }
        }
        let single = Array(repeating: 1, count: bytes.count)
        #expect(commandEvents(bytes, pieces: single, limits: limits) == whole)
    }

    /// Commands of every kind, and every kind of fault behind some of them.
    static let streams = [
        "*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$10\r\n0123456789\r\n*1\r\n$4\r\nPING\r\nPING\r\n*0\r\n\r\n"
            + "set key 'it\\'s' \"a\\x41\\n\"\n*2\r\n$4\r\nECHO\r\n$0\r\n\r\n",
        "*3\r\n$3\r\nSET\r\n$50\r\n" + String(repeating: "x", count: 50)
            + "\r\n$2\r\nab\r\nPING\r\n",
        "PING\r\n*13\r\n", "PING\r\n*-1\r\n", "PING\r\n*1\n$4\nPING\n", "PING\r\n*12x\r\n",
        "PING\r\n*1\r\nfoo\r\n", "PING\r\n*1\r\n$-1\r\n", "PING\r\n*1\r\n$3\r\nabcd\r\n",
        "PING\r\n*1\r\n$3\r\nabc\rx", "PING\r\n*2\r\n$3\r\nabc\r\n$101\r\n",
        "PING\r\n$3\r\nabc\r\n",
        "PING\r\n*111111111111111111111111111111111111111111\r\n", "PING\r\n*1\r\n$5\rx",
        "PING\r\n" + String(repeating: "a", count: 80), "PING\r\necho \"a\r\nPING\r\n",
        "PING\r\n*2\r\n$3\r\nSET\r\n$60\r\n" + String(repeating: "y", count: 61) + "\r\n",
        "PING\r\n*3\r\n$3\r\nSET\r\n$60\r\n" + String(repeating: "y", count: 60) + "\r\n$41\r\n",
    ].map { Wire($0) }

    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func `random commands come back as they were written`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var stream: [UInt8] = []
        var expected: [CommandEvent] = []
        for _ in 0..<300 {
            let count = 1 + random.below(12)
            var arguments = ["NAME\(random.below(1000))".bytes]
            for _ in 1..<max(2, count) { arguments.append(random.bytes(random.below(60))) }
            if random.below(40) == 0 { arguments.append(random.bytes(30_000)) }
            CommandWriter.write(arguments.map { .bytes($0) }, to: &stream)
            expected.append(.command(arguments.map { latin1($0) }))
        }
        for largest in [7, 100, 5000, 70_000] {
            let pieces = random.pieces(stream.count, upTo: largest)
            let events = commandEvents(stream, pieces: pieces)
            #expect(events == expected, "seed \(seed), pieces up to \(largest)")
        }
    }

    @Test func `a command says what it is without copying`() throws {
        var parser = CommandParser()
        parser.append(
            "*5\r\n$7\r\npErForM\r\n$3\r\n-42\r\n$2\r\n\u{e9}\r\n$1\r\n\r\r\n$3\r\nabc\r\n".utf8)
        let command = try #require(try parser.nextCommand())
        #expect(command.count == 5)
        #expect(command.matches(0, "PERFORM"))
        #expect(!command.matches(0, "PERFORMS"))
        #expect(!command.matches(0, "PERFORN"))
        #expect(!command.matches(5, "PERFORM"))
        #expect(command.integer(at: 1) == -42)
        #expect(command.text(at: 2) == "é")
        #expect(command.bytes(at: 3) == [13])
        #expect(command.byteCount(at: 4) == 3)
        #expect(Array(command[4]) == [97, 98, 99])
        #expect(command.integer(at: 4) == nil)
        #expect(command.description == "pErForM (5 arguments, 16 bytes)")
    }

    @Test func `matching folds ASCII letters and nothing else`() throws {
        var parser = CommandParser()
        parser.append("{}|~ a[b\n".utf8)
        let command = try #require(try parser.nextCommand())
        #expect(!command.matches(0, "[]\\^"))
        #expect(command.matches(0, "{}|~"))
        #expect(command.matches(1, "A[B"))
        #expect(!command.matches(1, "A{B"))
    }

    @Test func `text that is not UTF-8 is repaired`() throws {
        var parser = CommandParser()
        parser.append([0x61, 0xFF, 0x62, 0x0A])
        let command = try #require(try parser.nextCommand())
        #expect(command.text(at: 0) == "a\u{FFFD}b")
    }

    @Test(arguments: [
        ("0", 0), ("7", 7), ("-1", -1), ("1234567890123456789", 1_234_567_890_123_456_789),
        ("9223372036854775807", Int.max), ("-9223372036854775808", Int.min),
        ("9223372036854775808", nil), ("-9223372036854775809", nil),
        ("18446744073709551616", nil), ("99999999999999999999", nil), ("", nil), ("-", nil),
        ("-0", nil), ("00", nil), ("007", nil), ("+1", nil), (" 1", nil), ("1 ", nil), ("1.0", nil),
        ("0x10", nil), ("1e3", nil), ("--1", nil), ("12345678901234567890123", nil), ("/", nil),
        (":", nil), ("1:", nil), ("123456789012345678/", nil), ("٣", nil),
    ])
    func `an integer is read strictly`(text: String, value: Int?) throws {
        var stream: [UInt8] = []
        CommandWriter.write(["N", .text(text)], to: &stream)
        var parser = CommandParser()
        parser.append(stream)
        let command = try #require(try parser.nextCommand())
        #expect(command.integer(at: 1) == value)
    }
}

extension CommandParser {
    /// The next command; nil if there is none or it was too large.
    mutating func nextCommand() throws(ProtocolError) -> Command? {
        guard case .command(let command) = try next() else { return nil }
        return command
    }
}
