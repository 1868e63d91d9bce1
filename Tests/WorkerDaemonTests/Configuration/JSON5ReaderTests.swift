// That every feature of JSON5 (https://spec.json5.org) is read, and that every value has its place.

internal import Testing
internal import WorkerDaemon

/// A value without its places, in a form that is easy to compare.
private func plain(_ value: JSON5Value) -> String {
    switch value {
    case .null: "null"
    case .boolean(let flag, _): "\(flag)"
    case .number(let number, _, _): "\(number)"
    case .string(let text, _): text.debugDescription
    case .array(let values, _): "[" + values.map(plain).joined(separator: ", ") + "]"
    case .object(let object, _):
        "{"
            + object.members.map { "\($0.key.debugDescription): \(plain($0.value))" }
            .joined(separator: ", ") + "}"
    }
}

private func read(_ text: String) throws -> JSON5Value {
    try JSON5Reader.read(Array(text.utf8))
}

@Suite struct JSON5ReaderTests {
    @Test func `the short example of the specification is read`() throws {
        let text = #"""
            {
              // comments
              unquoted: 'and you can quote me on that',
              singleQuotes: 'I can use "double quotes" here',
              lineBreaks: "Look, Mom! \
            No \\n's!",
              hexadecimal: 0xdecaf,
              leadingDecimalPoint: .8675309, andTrailing: 8675309.,
              positiveSign: +1,
              trailingComma: 'in objects', andIn: ['arrays',],
              "backwardsCompatible": "with JSON",
            }
            """#
        let expected = [
            #""unquoted": "and you can quote me on that""#,
            #""singleQuotes": "I can use \"double quotes\" here""#,
            #""lineBreaks": "Look, Mom! No \\n\'s!""#,
            #""hexadecimal": 912559.0"#,
            #""leadingDecimalPoint": 0.8675309, "andTrailing": 8675309.0"#,
            #""positiveSign": 1.0"#,
            #""trailingComma": "in objects", "andIn": ["arrays"]"#,
            #""backwardsCompatible": "with JSON""#,
        ]
        #expect(plain(try read(text)) == "{" + expected.joined(separator: ", ") + "}")
    }

    @Test(arguments: [
        // Objects and arrays.
        ("{}", "{}"),
        ("{ width: 1920, height: 1080, }", #"{"width": 1920.0, "height": 1080.0}"#),
        (
            #"{ image: { width: 1920, "aspect-ratio": "16:9", } }"#,
            #"{"image": {"width": 1920.0, "aspect-ratio": "16:9"}}"#
        ),
        ("{'':1}", #"{"": 1.0}"#),
        ("[]", "[]"), ("[ 1, true, 'three', ]", #"[1.0, true, "three"]"#),
        (
            #"[ [1, true, 'three'], [4, "five", 0x6], ]"#,
            #"[[1.0, true, "three"], [4.0, "five", 6.0]]"#
        ),
        // Names without quotes: reserved words, letters of every script, escapes, joiners.
        ("{null:1,true:2,$_a9:3}", #"{"null": 1.0, "true": 2.0, "$_a9": 3.0}"#),
        ("{größe:1,名前:2,ūn\u{200D}i:3}", "{\"größe\": 1.0, \"名前\": 2.0, \"ūn\u{200D}i\": 3.0}"),
        (#"{\u0061b\u0063:1}"#, #"{"abc": 1.0}"#),
        // Literals.
        ("null", "null"), ("true", "true"), ("false", "false"),
        // Numbers.
        ("123", "123.0"), ("123.456", "123.456"), (".456", "0.456"), ("5.", "5.0"), ("0", "0.0"),
        ("123e-456", "0.0"), ("1e3", "1000.0"), ("1E+2", "100.0"), ("5.e1", "50.0"),
        ("0xdecaf", "912559.0"), ("-0xC0FFEE", "-12648430.0"), ("0X1f", "31.0"),
        ("Infinity", "inf"), ("-Infinity", "-inf"), ("+Infinity", "inf"), ("1e999", "inf"),
        ("NaN", "nan"), ("-NaN", "nan"), ("+1", "1.0"), ("-0", "-0.0"), ("-.5", "-0.5"),
        // Strings.
        (#"'it\'s' "#, #""it\'s""#), (#"'A\C\/\D\C'"#, #""AC/DC""#),
        (#"'\b\f\n\r\t\v\0\\\"'"#, #""\u{08}\u{0C}\n\r\t\u{0B}\0\\\"""#),
        (#"'\x41\u00e9\uD83D\uDE00'"#, #""Aé😀""#), ("'tab\there'", #""tab\there""#),
        ("'a\\\nb\\\r\nc\\\rd\\\u{2028}e\\\u{2029}f'", #""abcdef""#),
        ("'\u{2028}\u{2029}'", "\u{2028}\u{2029}".debugDescription),
        // Comments and blanks.
        ("// one\n1 // two", "1.0"), ("/* a\n * b **/ 1 /**/", "1.0"), ("//a\r1", "1.0"),
        ("\u{FEFF}\t\u{B}\u{C}\u{A0}\u{2003}\u{3000}\u{2028}\u{2029}1\u{FEFF}", "1.0"),
    ])
    func `every feature is read`(text: String, expected: String) throws {
        let value = plain(try read(text)).replacing("-nan", with: "nan")
        #expect(value == expected)
    }

    @Test func `each key and value has its place`() throws {
        let text = "\u{FEFF}{ a: 1,\r\n  'b' : [ true,\r /* é */ {} ],\n}"
        guard case .object(let object, let start) = try read(text),
            let second = object["b"], case .array(let values, _) = second.value
        else {
            Issue.record("no object with a list")
            return
        }
        #expect(start == JSON5Position(line: 1, column: 1))
        #expect(object["a"]?.keyPosition == JSON5Position(line: 1, column: 3))
        #expect(object["a"]?.value == .number(1, written: "1", at: .init(line: 1, column: 6)))
        #expect(second.keyPosition == JSON5Position(line: 2, column: 3))
        #expect(second.value.position == JSON5Position(line: 2, column: 9))
        #expect(values.map(\.position) == [.init(line: 2, column: 11), .init(line: 3, column: 10)])
    }

    @Test func `a number keeps how it was written`() throws {
        #expect(
            try read("-0xC0") == .number(-192, written: "-0xC0", at: .init(line: 1, column: 1)))
    }

    @Test func `the first of two equal keys is kept and both places are known`() throws {
        guard case .object(let object, _) = try read("{a:1,\n'a':2, \\u0061:3}") else {
            Issue.record("no object")
            return
        }
        #expect(object.members.map(\.key) == ["a"])
        #expect(object["a"]?.value.position == JSON5Position(line: 1, column: 4))
        let first = JSON5Position(line: 1, column: 2)
        #expect(object.repetitions.map(\.first) == [first, first])
        #expect(
            object.repetitions.map(\.again) == [
                .init(line: 2, column: 1), .init(line: 2, column: 8),
            ])
    }

    @Test func `64 brackets inside each other are read and one more is a fault`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(try read(nested(64)).position.column == 1)
        let fault = #expect(throws: JSON5Fault.self) { try read(nested(65)) }
        #expect(
            fault?.description == "line 1, column 65: more than 64 brackets inside each other")
    }

    @Test func `1 MiB is read and one byte more is a fault`() throws {
        let allowed = [UInt8](repeating: UInt8(ascii: " "), count: (1 << 20) - 1)
        #expect(try JSON5Reader.read(allowed + [UInt8(ascii: "1")]).position.column == 1 << 20)
        let fault = #expect(throws: JSON5Fault.self) {
            try JSON5Reader.read(allowed + Array("10".utf8))
        }
        #expect(
            fault?.description
                == "line 1, column 1: the file has 1,048,577 bytes, at most 1,048,576 are read")
    }
}
