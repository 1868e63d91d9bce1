// That what is no JSON5 is told apart from what is, with the place and a sentence that helps.

internal import Testing
internal import WorkerDaemon

@Suite struct JSON5FaultTests {
    @Test(
        arguments: Mistake.list(
            #"""
            {
                line 1, column 2: expected a key, or "}" for the "{" of line 1, column 1, found
                the end of the file
            {,}
                line 1, column 2: expected a key, or "}" for the "{" of line 1, column 1, found
                ","
            {1:2}
                line 1, column 2: expected a key, or "}" for the "{" of line 1, column 1, found
                "1"
            {a 1}
                line 1, column 4: expected ":" after the key "a", found "1"
            {a:}
                line 1, column 4: expected a value, found "}"
            [1 2]
                line 1, column 4: expected ",", or "]" for the "[" of line 1, column 1, found
                "2"
            [1,,]
                line 1, column 4: expected a value, found ","
            [1}
                line 1, column 3: expected ",", or "]" for the "[" of line 1, column 1, found
                "}"
            1 2
                line 1, column 3: expected the end of the file, found "2"
            {} /
                line 1, column 4: expected the end of the file, found "/"
            info
                line 1, column 1: a string needs quotes: "info"
            'open
                line 1, column 1: this string is not closed
            'open\
                line 1, column 1: this string is not closed
            '\1'
                line 1, column 2: \ may not be followed by a digit (write \x..)
            '\01'
                line 1, column 2: \ may not be followed by a digit (write \x..)
            '\x4'
                line 1, column 2: this escape needs 2 hex digits, found "'"
            '\u12
                line 1, column 2: this escape needs 4 hex digits, found the end of the file
            'a\uD83D'
                line 1, column 3: this is one half of a surrogate pair without the other
            '\uD83D\u0041'
                line 1, column 2: this is one half of a surrogate pair without the other
            '\uDE00\uD83D'
                line 1, column 2: this is one half of a surrogate pair without the other
            {a\x41:1}
                line 1, column 3: in a name a backslash begins \u and four hex digits
            {a\u002d:1}
                line 1, column 3: "-" needs quotes around the name it is in
            {a-b:1}
                line 1, column 3: expected ":" after the key "a", found "-"
            012
                line 1, column 1: a number may not begin with a zero and another digit
            .
                line 1, column 1: a number needs a digit before or after its point
            +
                line 1, column 1: expected a number after the sign, found the end of the file
            + 1
                line 1, column 1: expected a number after the sign, found " "
            --1
                line 1, column 1: expected a number after the sign, found "-"
            -x
                line 1, column 1: expected a number after the sign, found "x"
            0x
                line 1, column 1: 0x needs hex digits, found the end of the file
            1e
                line 1, column 1: the exponent of this number needs digits, found the end of the
                file
            30s
                line 1, column 1: this number may not go on with "s"
            1.2.3
                line 1, column 1: this number may not go on with "."
            0x1g
                line 1, column 1: this number may not go on with "g"
            """#,
            more: [
                Mistake("", "line 1, column 1: expected a value, found the end of the file"),
                Mistake(
                    "// none\n", "line 2, column 1: expected a value, found the end of the file"),
                Mistake(
                    "{a:1\n b:2}",
                    #"line 2, column 2: expected ",", or "}" for the "{" of line 1, column 1,"#
                        + #" found "b""#
                ),
                Mistake("{a:\u{7}}", "line 1, column 4: expected a value, found \"\\u{7}\""),
                Mistake(
                    "\n /* a", "line 2, column 2: this comment is not closed: its end is \"*/\""),
                Mistake(
                    "'two\nlines'",
                    "line 1, column 1: this string is not closed on its line"
                        + " (a \\ there would continue it)"
                ),
            ]))
    func `a fault has its place and its sentence`(mistake: Mistake) {
        let fault = #expect(throws: JSON5Fault.self) {
            try JSON5Reader.read(Array(mistake.text.utf8))
        }
        #expect(fault?.description == mistake.expected)
    }

    @Test(
        arguments: [
            [0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80],
            [0xE2, 0x82],
        ] as [[UInt8]])
    func `what is not UTF-8 is a fault at its first byte`(bytes: [UInt8]) {
        let text = Array("{\n é: '".utf8) + bytes + Array("'}".utf8)
        let fault = #expect(throws: JSON5Fault.self) { try JSON5Reader.read(text) }
        #expect(fault?.description == "line 2, column 6: this is not UTF-8 (byte 9 of the file)")
    }
}
