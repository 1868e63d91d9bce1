// Proves which commands the server's parser refuses, when, and with which words.

import RESP
import Support
import Testing

@Suite struct CommandLimitsTests {
    /// Faulty bytes and the fault; where Redis 7.0.15 refuses them too, its text begins the same.
    static let malformed: [(Wire, String)] = [
        ("*1\r\nfoo\r\n", "expected '$', got 'f'"),
        ("*1\r\n\r\n", "expected '$', got '\\x0d'"),
        ("*x\r\n", "invalid multibulk length 'x', expected a decimal number from 0 up"),
        ("*\r\n", "invalid multibulk length '', expected a decimal number from 0 up"),
        ("*-10\r\n", "invalid multibulk length '-10', expected a decimal number from 0 up"),
        ("*01\r\n", "invalid multibulk length '01', expected a decimal number from 0 up"),
        ("* 1\r\n", "invalid multibulk length ' 1', expected a decimal number from 0 up"),
        ("*+1\r\n", "invalid multibulk length '+1', expected a decimal number from 0 up"),
        ("*1000000\r\n", "invalid multibulk length 1000000, the limit is 1024"),
        ("*20000000\r\n", "invalid multibulk length 20000000, the limit is 1024"),
        (
            "*99999999999999999999\r\n",
            "invalid multibulk length '99999999999999999999', expected a decimal number from 0 up"
        ),
        (
            "*\u{0}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            """
            invalid multibulk length '\\x00aaaaaaaaaaaaaaaaaaaaaaa', \
            expected a decimal number from 0 up
            """
        ),
        ("*1\r\n$-1\r\n", "invalid bulk length '-1', expected a decimal number from 0 up"),
        ("*1\r\n$bla\r\n", "invalid bulk length 'bla', expected a decimal number from 0 up"),
        ("*1\r\n$04\r\nPING\r\n", "invalid bulk length '04', expected a decimal number from 0 up"),
        ("*1\r\n$65\r\n", "invalid bulk length 65, the limit for a command name is 64"),
        (
            "*2\r\n$1\r\na\r\n$1000000000\r\n",
            "invalid bulk length 1000000000, the limit is 8388608"
        ),
        ("*1\n$4\nPING\n", "expected CRLF at the end of a line, found only half of it"),
        ("*1\rx", "expected CRLF at the end of a line, found only half of it"),
        ("*1\r\n$4\r\nPINGxx", "expected CRLF after a bulk of 4 bytes"),
        ("*1\r\n$4\r\nPING\rx", "expected CRLF after a bulk of 4 bytes"),
        ("*1\r\n$4\r\nPING\n\n", "expected CRLF after a bulk of 4 bytes"),
        ("echo \"a\r\n", "unbalanced quotes in request"),
        ("echo a\u{0}b\r\n", "zero byte in inline request"),
    ]

    @Test(arguments: malformed)
    func `what is not a command is refused with a reason`(stream: Wire, fault: String) {
        let expected = [CommandEvent.failure("Protocol error: \(fault)")]
        #expect(commandEvents(stream.bytes) == expected)
        #expect(commandEvents(stream.bytes, pieces: stream.bytes.map { _ in 1 }) == expected)
    }

    @Test func `a refused client stays refused, and costs no memory`() throws {
        var parser = CommandParser()
        parser.append("*1\r\n$-1\r\n*1\r\n$4\r\nPING\r\n".utf8)
        let error = ProtocolError.invalidLength(.bulk, found: "-1")
        #expect(throws: error) { try parser.next() }
        parser.append("PING\r\n".utf8)
        #expect(throws: error) { try parser.next() }
        #expect(parser.memoryByteCount == 0)
    }

    @Test func `a header is refused before anything behind it has come`() throws {
        for header in ["*1000000\r\n", "*2\r\n$1\r\na\r\n$1000000000\r\n"] {
            var parser = CommandParser()
            parser.append(header.utf8)
            #expect(throws: ProtocolError.self) { try parser.next() }
            #expect(parser.memoryByteCount == 0)
        }
    }

    @Test func `the number of arguments has a limit`() {
        let limits = CommandLimits(argumentCountMax: 3)
        let three = "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n".bytes
        #expect(commandEvents(three, limits: limits) == [.command(["a", "b", "c"])])
        #expect(commandEvents("a b c\n".bytes, limits: limits) == [.command(["a", "b", "c"])])
        let four = [
            CommandEvent.failure("Protocol error: invalid multibulk length 4, the limit is 3")
        ]
        #expect(commandEvents("*4\r\n".bytes, limits: limits) == four)
        let words = [
            CommandEvent.failure("Protocol error: too many words in inline request, the limit is 3")
        ]
        #expect(commandEvents("a b c d\n".bytes, limits: limits) == words)
    }

    @Test func `the name has a limit`() {
        let limits = CommandLimits(nameByteCountMax: 4)
        #expect(
            commandEvents("*1\r\n$4\r\nPING\r\n".bytes, limits: limits) == [.command(["PING"])])
        let refused = [
            CommandEvent.failure(
                "Protocol error: invalid bulk length 5, the limit for a command name is 4")
        ]
        #expect(commandEvents("*1\r\n$5\r\n".bytes, limits: limits) == refused)
    }

    @Test func `an argument has a limit, and without skipping it is fatal`() {
        let limits = CommandLimits(argumentByteCountMax: 10, skippedByteCountMax: 0)
        let fits = "*2\r\n$1\r\na\r\n$10\r\n0123456789\r\n".bytes
        #expect(commandEvents(fits, limits: limits) == [.command(["a", "0123456789"])])
        let refused = [
            CommandEvent.failure("Protocol error: invalid bulk length 11, the limit is 10")
        ]
        #expect(commandEvents("*2\r\n$1\r\na\r\n$11\r\n".bytes, limits: limits) == refused)
    }

    @Test func `all arguments together have a limit`() {
        let limits = CommandLimits(argumentByteCountMax: 10, commandByteCountMax: 12)
        let fits = "*3\r\n$1\r\na\r\n$10\r\n0123456789\r\n$1\r\nb\r\n".bytes
        let words = ["a", "0123456789", "b"]
        #expect(commandEvents(fits + fits, limits: limits) == [.command(words), .command(words)])
        let over = "*3\r\n$1\r\na\r\n$10\r\n0123456789\r\n$2\r\n".bytes
        let refused = [
            CommandEvent.failure(
                "Protocol error: too big request, 13 bytes of arguments, the limit is 12")
        ]
        #expect(commandEvents(over, limits: limits) == refused)
    }

    @Test func `a line has a limit`() {
        let limits = CommandLimits(inlineByteCountMax: 8)
        #expect(commandEvents("1234567\n".bytes, limits: limits) == [.command(["1234567"])])
        let refused = [
            CommandEvent.failure(
                "Protocol error: too big inline request, no line feed within 8 bytes")
        ]
        #expect(commandEvents("12345678".bytes, limits: limits) == refused)
        #expect(commandEvents("12345678\n".bytes, limits: limits) == refused)
    }

    @Test func `limits may change between two commands`() throws {
        var parser = CommandParser(limits: .unauthenticated)
        parser.append("AUTH secret\r\n".utf8)
        #expect(try parser.nextCommand() != nil)
        parser.limits = CommandLimits()
        parser.append("*2\r\n$4\r\nECHO\r\n$20000\r\n".utf8)
        #expect(try parser.nextCommand() == nil)

        var other = CommandParser(limits: .unauthenticated)
        other.append("*2\r\n$4\r\nECHO\r\n$20000\r\n".utf8)
        #expect(throws: ProtocolError.lengthOverLimit(.bulk, length: 20_000, limit: 16_384)) {
            try other.next()
        }
    }

    @Test func `a limit may be lowered in the middle of a line`() throws {
        var parser = CommandParser()
        parser.append(Array(repeating: UInt8(ascii: "a"), count: 500))
        #expect(try parser.nextCommand() == nil)
        parser.limits = CommandLimits(inlineByteCountMax: 100)
        #expect(throws: ProtocolError.inlineTooLong(limit: 100)) { try parser.next() }
    }

    @Test func `an oversized argument is skipped and the connection goes on`() throws {
        let limits = CommandLimits(argumentByteCountMax: 1000, skippedByteCountMax: 1 << 20)
        var stream: [UInt8] = []
        let large = Array(repeating: UInt8(ascii: "\r"), count: 1_000_000)
        CommandWriter.write(["ECHO", .bytes(large), "rest"], to: &stream)
        CommandWriter.write(["ECHO", .bytes(Array(large.prefix(1000)))], to: &stream)
        CommandWriter.write(["ECHO", .bytes(Array(large.prefix(1001)))], to: &stream)
        CommandWriter.write(["PING"], to: &stream)
        let expected: [CommandEvent] = [
            .tooLarge(OversizedArgument(index: 1, byteCount: 1_000_000, limit: 1000)),
            .command(["ECHO", latin1(large.prefix(1000))]),
            .tooLarge(OversizedArgument(index: 1, byteCount: 1001, limit: 1000)),
            .command(["PING"]),
        ]
        for size in [1, 999, 4096, stream.count] {
            let pieces = Array(repeating: size, count: stream.count / size)
            #expect(commandEvents(stream, pieces: pieces, limits: limits) == expected)
        }

        var parser = CommandParser(limits: limits)
        for start in stride(from: 0, to: 900_000, by: 4096) {
            parser.append(stream[start..<start + 4096])
            #expect(try parser.next() == nil)
            #expect(parser.memoryByteCount < 32_768)
            #expect(parser.isInsideCommand == true)
        }
    }

    @Test func `skipping has a limit too`() {
        let limits = CommandLimits(argumentByteCountMax: 10, skippedByteCountMax: 20)
        let twenty = "*2\r\n$1\r\na\r\n$20\r\n01234567890123456789\r\n".bytes
        #expect(
            commandEvents(twenty, limits: limits) == [
                .tooLarge(OversizedArgument(index: 1, byteCount: 20, limit: 10))
            ])
        #expect(
            commandEvents("*2\r\n$1\r\na\r\n$21\r\n".bytes, limits: limits) == [
                .failure("Protocol error: invalid bulk length 21, the limit is 10")
            ])
        let together = "*3\r\n$1\r\na\r\n$20\r\n01234567890123456789\r\n$1\r\n".bytes
        #expect(
            commandEvents(together, limits: limits) == [
                .failure("Protocol error: too big request, 21 bytes of arguments, the limit is 20")
            ])
    }

    @Test(arguments: [11, 12, 13, 14] as [UInt64])
    func `random bytes never crash and never cost more than the limits`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let limits = CommandLimits(
            argumentByteCountMax: 1000, commandByteCountMax: 2000, inlineByteCountMax: 1000)
        // Bytes with a meaning are frequent, so that the noise gets past the first header.
        let alphabet = "*$*$0123456789\r\n\r\n\r\n-\"'\\x a\u{0}".bytes
        for round in 0..<2000 {
            var parser = CommandParser(limits: limits)
            do {
                for _ in 0..<20 {
                    var piece: [UInt8] = []
                    for _ in 0..<random.below(40) {
                        let isNoise = random.below(20) == 0
                        let byte = UInt8.random(in: 0...255, using: &random)
                        piece.append(isNoise ? byte : alphabet[random.below(alphabet.count)])
                    }
                    if random.below(3) == 0 {
                        piece += "*2\r\n$1\r\na\r\n$\(random.below(1200))\r\n".utf8
                    }
                    parser.append(piece)
                    while let request = try parser.next() {
                        guard case .command(let command) = request else { continue }
                        #expect((1...1024).contains(command.count))
                        for index in 0..<command.count { _ = command.text(at: index) }
                    }
                    #expect(parser.memoryByteCount < 8192, "seed \(seed), round \(round)")
                }
            } catch {
                #expect(error.description.hasPrefix("Protocol error: "))
                #expect(!error.description.contains { $0.isNewline })
            }
        }
    }
}
