// Proves the bytes of replies, in both versions. The expected dumps are those of the specification
// where it has one.

import RESP
import Testing

@Suite struct ReplyWriterTests {
    @Test func `a simple string is a line`() {
        #expect(both { $0.writeSimpleString("OK", to: &$1) } == ["+OK\r\n", "+OK\r\n"])
    }

    @Test func `an error is a word and a message`() {
        let written = both { $0.writeError("NOTHREAD", "no thread called 'images'", to: &$1) }
        #expect(written[0] == "-NOTHREAD no thread called 'images'\r\n")
        #expect(written[1] == written[0])
        #expect(both { $0.writeError("BUSY", "", to: &$1) }[0] == "-BUSY\r\n")
    }

    @Test func `a line end in a message cannot begin another reply`() {
        let forged = both { $0.writeError("ERR", "bad name 'x\r\n+OK\n'", to: &$1) }
        #expect(forged[0] == "-ERR bad name 'x  +OK '\r\n")
        #expect(both { $0.writeSimpleString("a\r\nb", to: &$1) }[0] == "+a  b\r\n")
        var output = "earlier\r\n".bytes
        ReplyWriter().writeSimpleString("x\ny", to: &output)
        #expect(output == "earlier\r\n+x y\r\n".bytes)
    }

    @Test func `a protocol error is written as Redis writes it`() {
        let written = both {
            $0.writeError("ERR", ProtocolError.unbalancedQuotes.description, to: &$1)
        }
        #expect(written[0] == "-ERR Protocol error: unbalanced quotes in request\r\n")
    }

    @Test(arguments: [
        0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 12_345, 99_999, 1_234_567_890, Int.max, -1, -9,
        -10, -100, Int.min,
    ])
    func `an integer is a line of digits`(value: Int) {
        #expect(both { $0.writeInteger(value, to: &$1) } == [":\(value)\r\n", ":\(value)\r\n"])
    }

    @Test func `each number of digits is written as the standard library does`() {
        var value = 1
        while value < Int.max / 10 {
            for near in [value - 1, value, value + 1, value * 7, -value] {
                #expect(both { $0.writeInteger(near, to: &$1) }[0] == ":\(near)\r\n")
            }
            value *= 10
        }
    }

    @Test func `a bulk string has its length in front`() {
        let expected = ["$11\r\nhello world\r\n", "$11\r\nhello world\r\n"]
        #expect(both { $0.writeBulk("hello world", to: &$1) } == expected)
        #expect(both { $0.writeBulk("hello world".bytes, to: &$1) } == expected)
        #expect(both { $0.writeBulk("", to: &$1) }[0] == "$0\r\n\r\n")
        #expect(both { $0.writeBulk("é", to: &$1) }[0] == "$2\r\né\r\n")
    }

    @Test func `a bulk string can be written around bytes that are sent from elsewhere`() {
        let written = both {
            $0.writeBulkHeader(byteCount: 1_000_000, to: &$1)
            $0.writeBulkTrailer(to: &$1)
        }
        #expect(written[0] == "$1000000\r\n\r\n")
    }

    @Test func `what version 2 lacks has a form there`() {
        #expect(both { $0.writeNull(to: &$1) } == ["$-1\r\n", "_\r\n"])
        #expect(both { $0.writeBoolean(true, to: &$1) } == [":1\r\n", "#t\r\n"])
        #expect(both { $0.writeBoolean(false, to: &$1) } == [":0\r\n", "#f\r\n"])
        #expect(both { $0.writeDouble(1.23, to: &$1) } == ["$4\r\n1.23\r\n", ",1.23\r\n"])
        #expect(both { $0.writeDouble(.infinity, to: &$1) } == ["$3\r\ninf\r\n", ",inf\r\n"])
        #expect(both { $0.writeDouble(-.infinity, to: &$1) } == ["$4\r\n-inf\r\n", ",-inf\r\n"])
        #expect(both { $0.writeDouble(-.nan, to: &$1) } == ["$3\r\nnan\r\n", ",nan\r\n"])
        #expect(both { $0.writeBigNumber("-12", to: &$1) } == ["$3\r\n-12\r\n", "(-12\r\n"])
        #expect(
            both { $0.writeVerbatim("Some string".bytes, format: "txt", to: &$1) } == [
                "$11\r\nSome string\r\n", "=15\r\ntxt:Some string\r\n",
            ])
        #expect(both { $0.writeArrayHeader(count: 3, to: &$1) } == ["*3\r\n", "*3\r\n"])
        #expect(both { $0.writeMapHeader(count: 2, to: &$1) } == ["*4\r\n", "%2\r\n"])
        #expect(both { $0.writeSetHeader(count: 5, to: &$1) } == ["*5\r\n", "~5\r\n"])
        #expect(both { $0.writePushHeader(count: 3, to: &$1) } == ["*3\r\n", ">3\r\n"])
    }

    @Test func `a command of a client is an array of bulk strings`() {
        var output: [UInt8] = []
        let arguments: [CommandArgument] = ["PERFORM", "images", 500, .bytes([0, 13, 10])]
        CommandWriter.write(arguments, to: &output)
        #expect(
            output == "*4\r\n$7\r\nPERFORM\r\n$6\r\nimages\r\n$3\r\n500\r\n$3\r\n\0\r\n\r\n".bytes)
    }

    /// The bytes in version 2 and in version 3.
    private func both(_ write: (ReplyWriter, inout [UInt8]) -> Void) -> [String] {
        ProtocolVersion.allCases.map { version in
            var output: [UInt8] = []
            write(ReplyWriter(version: version), &output)
            return String(decoding: output, as: UTF8.self)
        }
    }
}
