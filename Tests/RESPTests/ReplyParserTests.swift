// Proves the client's half of reading: every type of both versions, in any cut, and the refusals.

import RESP
import Support
import Testing

@Suite struct ReplyParserTests {
    /// The dumps of RESP3.md, and the two nulls of version 2.
    static let dumps: [(Wire, RESPValue)] = [
        ("$11\r\nhello world\r\n", .bulk("hello world".bytes)),
        ("$0\r\n\r\n", .bulk([])),
        ("+hello world\r\n", .simpleString("hello world")),
        ("+\r\n", .simpleString("")),
        (
            "-ERR this is the error description\r\n",
            .error("ERR this is the error description")
        ),
        (":1234\r\n", .integer(1234)),
        (":-1\r\n", .integer(-1)),
        (":+5\r\n", .integer(5)),
        ("_\r\n", .null),
        ("$-1\r\n", .null),
        ("*-1\r\n", .null),
        (",1.23\r\n", .double(1.23)),
        (",10\r\n", .double(10)),
        (",-1.5e-3\r\n", .double(-0.0015)),
        (",+2E+10\r\n", .double(2e10)),
        (",inf\r\n", .double(.infinity)),
        (",-inf\r\n", .double(-.infinity)),
        ("#t\r\n", .boolean(true)),
        ("#f\r\n", .boolean(false)),
        ("!21\r\nSYNTAX invalid syntax\r\n", .error("SYNTAX invalid syntax")),
        ("=15\r\ntxt:Some string\r\n", .verbatim(format: "txt", "Some string".bytes)),
        (
            "(3492890328409238509324850943850943825024385\r\n",
            .bigNumber("3492890328409238509324850943850943825024385")
        ),
        ("(-1\r\n", .bigNumber("-1")),
        ("*3\r\n:1\r\n:2\r\n:3\r\n", .array([.integer(1), .integer(2), .integer(3)])),
        (
            "*2\r\n*3\r\n:1\r\n$5\r\nhello\r\n:2\r\n#f\r\n",
            .array([
                .array([.integer(1), .bulk("hello".bytes), .integer(2)]), .boolean(false),
            ])
        ),
        ("*0\r\n", .array([])),
        ("*2\r\n*0\r\n%0\r\n", .array([.array([]), .map([])])),
        (
            "%2\r\n+first\r\n:1\r\n+second\r\n:2\r\n",
            .map([
                .init(.simpleString("first"), .integer(1)),
                .init(.simpleString("second"), .integer(2)),
            ])
        ),
        (
            "~5\r\n+orange\r\n+apple\r\n#t\r\n:100\r\n:999\r\n",
            .set([
                .simpleString("orange"), .simpleString("apple"), .boolean(true), .integer(100),
                .integer(999),
            ])
        ),
        (
            ">3\r\n+message\r\n+somechannel\r\n+this is the message\r\n",
            .push([
                .simpleString("message"), .simpleString("somechannel"),
                .simpleString("this is the message"),
            ])
        ),
        (
            Wire(
                "|1\r\n+key-popularity\r\n%2\r\n$1\r\na\r\n,0.1923\r\n$1\r\nb\r\n,0.0012\r\n"
                    + "*2\r\n:2039123\r\n:9543892\r\n"),
            .array([.integer(2_039_123), .integer(9_543_892)])
        ),
        (
            "*3\r\n:1\r\n:2\r\n|1\r\n+ttl\r\n:3600\r\n:3\r\n",
            .array([.integer(1), .integer(2), .integer(3)])
        ),
        ("*2\r\n|1\r\n|0\r\n+a\r\n*1\r\n:0\r\n*0\r\n:3\r\n", .array([.array([]), .integer(3)])),
    ]

    @Test(arguments: dumps)
    func `every type of the specification is read`(wire: Wire, value: RESPValue) throws {
        #expect(try reply(wire.text) == value)
    }

    @Test func `every split position gives the same replies`() {
        let stream = Self.dumps.flatMap(\.0.bytes)
        let expected = Self.dumps.map { ReplyEvent.value($0.1) }
        #expect(replyEvents(stream) == expected)
        for cut in 0...stream.count {
            #expect(replyEvents(stream, pieces: [cut]) == expected, "cut at \(cut)")
        }
        let single = Array(repeating: 1, count: stream.count)
        #expect(replyEvents(stream, pieces: single) == expected)
    }

    @Test(arguments: [",nan\r\n", ",-nan\r\n", ",NAN\r\n", ",nan(0x8000)\r\n"] as [Wire])
    func `NaN is read in old spellings too`(wire: Wire) throws {
        let value = try #require(try reply(wire.text))
        guard case .double(let number) = value else {
            Issue.record("not a double: \(value)")
            return
        }
        #expect(number.isNaN)
    }

    static let malformed: [(Wire, String)] = [
        ("HTTP/1.1 400 Bad Request\r\n", "unknown reply type 'H'"),
        ("\u{0}", "unknown reply type '\\x00'"),
        ("$-2\r\n", "invalid bulk length '-2', expected a decimal number from 0 up"),
        ("$x\r\n", "invalid bulk length 'x', expected a decimal number from 0 up"),
        ("!-1\r\n", "invalid bulk length '-1', expected a decimal number from 0 up"),
        ("*x\r\n", "invalid aggregate length 'x', expected a decimal number from 0 up"),
        ("%-1\r\n", "invalid aggregate length '-1', expected a decimal number from 0 up"),
        ("$3\r\nabcd\r\n", "expected CRLF after a bulk of 3 bytes"),
        ("+OK\rx\r\n", "expected CRLF at the end of a line, found only half of it"),
        ("+OK\nx\r\n", "expected CRLF at the end of a line, found only half of it"),
        ("$?\r\n", "streamed replies of unknown length are not supported"),
        ("*?\r\n", "streamed replies of unknown length are not supported"),
        (":\r\n", "invalid integer ''"),
        (":1a\r\n", "invalid integer '1a'"),
        (":+-1\r\n", "invalid integer '+-1'"),
        (":9223372036854775808\r\n", "invalid integer '9223372036854775808'"),
        ("_x\r\n", "invalid null 'x'"),
        ("#true\r\n", "invalid boolean 'true'"),
        (",\r\n", "invalid double ''"),
        (",.5\r\n", "invalid double '.5'"),
        (",5.\r\n", "invalid double '5.'"),
        (",1e\r\n", "invalid double '1e'"),
        (",0x1p3\r\n", "invalid double '0x1p3'"),
        (",infinity\r\n", "invalid double 'infinity'"),
        (", 1\r\n", "invalid double ' 1'"),
        ("(12a\r\n", "invalid big number '12a'"),
        ("(\r\n", "invalid big number ''"),
        ("=2\r\nab\r\n", "invalid verbatim string 'ab'"),
        ("=5\r\ntxt-a\r\n", "invalid verbatim string 'txt-'"),
    ]

    @Test(arguments: malformed)
    func `what is not a reply is refused with a reason`(wire: Wire, fault: String) {
        let expected = [ReplyEvent.failure("Protocol error: \(fault)")]
        #expect(replyEvents(wire.bytes) == expected)
        #expect(replyEvents(wire.bytes, pieces: wire.bytes.map { _ in 1 }) == expected)
    }

    @Test func `a refused server stays refused`() throws {
        var parser = ReplyParser()
        parser.append("?\r\n+OK\r\n".utf8)
        #expect(throws: ProtocolError.unknownReplyType(UInt8(ascii: "?"))) { try parser.next() }
        parser.append("+OK\r\n".utf8)
        #expect(throws: ProtocolError.unknownReplyType(UInt8(ascii: "?"))) { try parser.next() }
        #expect(parser.memoryByteCount == 0)
    }

    @Test func `a reply that has begun is known to be unfinished`() throws {
        for begun in ["+", "*1\r\n", "$3\r\n", "$3\r\nabc\r", "|1\r\n+a\r\n:1\r\n", "*2\r\n*0\r\n"]
        {
            var parser = ReplyParser()
            #expect(parser.isInsideReply == false)
            parser.append(begun.utf8)
            #expect(try parser.next() == nil)
            #expect(parser.isInsideReply == true, "\(begun.debugDescription)")
        }
        var parser = ReplyParser()
        parser.append("*2\r\n*0\r\n:1\r\n".utf8)
        #expect(try parser.next() != nil)
        #expect(parser.isInsideReply == false)
    }
}
