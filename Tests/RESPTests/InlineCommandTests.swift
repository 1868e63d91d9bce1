// Proves the words of a line. Every expectation is the answer of Redis 7.0.15 to the same line, but
// for the zero byte: Redis drops the rest of the line, and this refuses it.

import RESP
import Testing

@Suite struct InlineCommandTests {
    @Test(
        arguments: [
            ("PING\r\n", ["PING"]),
            ("PING\n", ["PING"]),
            ("PING\r\r\n", ["PING"]),
            ("  \t PING  \r\n", ["PING"]),
            ("echo a\rb\r\n", ["echo", "a", "b"]),
            (#"echo "a\x41b""#, ["echo", "aAb"]),
            (#"echo "\x00\xfF""#, ["echo", "\u{0}\u{ff}"]),
            (#"echo "\xZZ""#, ["echo", "xZZ"]),
            (#"echo "a\x4""#, ["echo", "ax4"]),
            (#"echo 'it\'s'"#, ["echo", "it's"]),
            (#"echo '\n'"#, ["echo", #"\n"#]),
            (#"echo "\n\r\t\b\a\q\\""#, ["echo", "\n\r\t\u{8}\u{7}q\\"]),
            (#"echo "\"""#, ["echo", "\""]),
            (#"echo """#, ["echo", ""]),
            (#"echo a"b c""#, ["echo", "ab c"]),
            (#"echo a\b"#, ["echo", #"a\b"#]),
            ("echo a\u{b}b", ["echo", "a\u{b}b"]),
            ("\u{b}echo ab", ["echo", "ab"]),
            ("echo 'a'\u{b}", ["echo", "a"]),
            ("'one two' \"three four\" five", ["one two", "three four", "five"]),
        ] as [(Wire, [String])])
    func `a line is split as Redis splits it`(line: Wire, words: [String]) {
        #expect(commands(line.text + "\n") == [.command(words)])
    }

    @Test(arguments: [
        #"echo "a"#, #"echo 'a"#, #"echo "a"b"#, "echo 'a''b'", "echo a'b'c", #"echo \""#,
        #"echo 'a\"#, #"echo "a\"#, #"echo "a\""#,
    ])
    func `a quote that is not closed at the end of a word is refused`(line: String) {
        let refused = CommandEvent.failure("Protocol error: unbalanced quotes in request")
        #expect(commands(line + "\r\n") == [refused])
    }

    @Test func `bytes that are not ASCII are part of a word`() {
        #expect(commandEvents([0xFF, 0x20, 0xFE, 0x0A]) == [.command(["\u{ff}", "\u{fe}"])])
    }

    @Test func `splitting one line leaves the next as it is`() {
        let stream = "a \"\\x41\\x42\\x43\" 'd'\r\n*1\r\n$4\r\nPING\r\nb \"c\" d\n"
        let expected: [CommandEvent] = [
            .command(["a", "ABC", "d"]), .command(["PING"]), .command(["b", "c", "d"]),
        ]
        #expect(commands(stream) == expected)
    }
}
