import RESP
import Testing
import WorkerDaemon

@Suite struct `A body of JSON` {
    private func read(_ text: String) throws -> JSONValue { try JSONReader.read(Array(text.utf8)) }

    @Test func `has values of every kind`() throws {
        let value = try read(" {\"a\" : [1, -2.5e+3, true,false ,null], \"b\":{}, \"c\":[]} \n")
        #expect(
            value["a"]
                == .array([
                    .number("1"), .number("-2.5e+3"), .boolean(true), .boolean(false), .null,
                ]))
        #expect(value["b"] == .object([]))
        #expect(value["c"] == .array([]))
        #expect(value["d"] == nil)
    }

    @Test func `has strings with escapes`() throws {
        #expect(
            try read(#""\"\\\/\b\f\n\r\t\u00e4\uD83D\uDE00 ä\u0000""#)
                == .string("\"\\/\u{8}\u{C}\n\r\t\u{e4}\u{1F600} ä\0"))
    }

    @Test(arguments: [
        "", " ", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}", "[1,]", "[1 2]",
        "{\"a\":1,\"a\":2}", "01", "1.", ".5", "+1", "1e", "-", "NaN", "Infinity", "tru", "nul",
        "\"", "\"\n\"", #""\x41""#, #""\u12""#, #""\uD800""#, #""\uD800\u0041""#, #""\uDC00""#,
        #""\u+123""#, "1 1", "// a\n1", "\u{FEFF}1", String(repeating: "[", count: 100),
        "[" + String(repeating: "0,", count: 2_000) + "0]",
    ])
    func `is refused if it is none`(text: String) {
        #expect(throws: JSONFault.self) { try read(text) }
    }

    @Test func `is refused if it is not UTF-8`() {
        #expect(throws: JSONFault.self) { try JSONReader.read([0x22, 0xFF, 0x22]) }
        #expect(throws: JSONFault.self) { try JSONReader.read([0x22, 0xC3, 0x22]) }
    }
}

@Suite struct `An answer in JSON` {
    private func text(_ value: RESPValue) -> String {
        var output: [UInt8] = []
        JSONText.append(value, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @Test func `shows values of every kind`() {
        let map = RESPValue.map([
            RESPValue.Entry(.bulk(Array("a".utf8)), .integer(-1)),
            RESPValue.Entry(.simpleString("b"), .array([.null, .boolean(true), .double(0.5)])),
        ])
        #expect(text(map) == #"{"a":-1,"b":[null,true,0.5]}"#)
        #expect(text(.double(.infinity)) == "null")
    }

    @Test func `shows text as it is, and other bytes in base64`() {
        #expect(text(.bulk(Array("ä\"\\\n\t".utf8))) == #""ä\"\\\n\t""#)
        #expect(text(.bulk([])) == "\"\"")
        #expect(text(.bulk([0xFF])) == #"{"base64":"/w=="}"#)
        #expect(text(.bulk([0])) == #"{"base64":"AA=="}"#)
        #expect(text(.simpleString("\u{1}")) == "\"\\u0001\"")
    }

    @Test func `is read as what was written, for each character wherever it stands`() throws {
        for scalar in (0...0x2FF).compactMap(Unicode.Scalar.init) {
            let character = String(Character(scalar))
            for written in [
                character, "a\(character)b", "\(character)\(character)", "a\(character)",
            ] {
                #expect(
                    try JSONReader.read(Array(text(.simpleString(written)).utf8))
                        == .string(written))
                let isText =
                    scalar.value >= 0x20 && scalar.value != 0x7F
                    || [9, 10, 13].contains(scalar.value)
                let bulk = try JSONReader.read(Array(text(.bulk(Array(written.utf8))).utf8))
                #expect((bulk == .string(written)) == isText)
            }
        }
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func `has base64 as others have it`(plain: String, text: String) {
        var output: [UInt8] = []
        Base64.append(Array(plain.utf8), to: &output)
        #expect(String(decoding: output, as: UTF8.self) == text)
        #expect(Base64.bytes(of: text) == Array(plain.utf8))
    }

    @Test(arguments: ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Zm9v!", "Zm 9", "Zg==Zg=="])
    func `takes no base64 with a fault`(text: String) {
        #expect(Base64.bytes(of: text) == nil)
    }
}
