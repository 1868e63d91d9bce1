// Proves that values of either version survive the way to bytes and back, and how a client reads
// them.

import RESP
import Support
import Testing

@Suite struct RESPValueTests {
    @Test(arguments: [31, 32, 33, 34, 35, 36] as [UInt64])
    func `random values come back as they were written`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let values = (0..<100).map { _ in randomValue(&random, depth: 4) }
        var stream: [UInt8] = []
        for value in values { ReplyWriter(version: .three).write(value, to: &stream) }
        let expected = values.map { ReplyEvent.value($0) }
        for largest in [1, 10, 1000, 100_000] {
            let pieces = random.pieces(stream.count, upTo: largest)
            #expect(
                replyEvents(stream, pieces: pieces) == expected,
                "seed \(seed), pieces up to \(largest)")
        }
    }

    @Test func `a value reads the same in both versions`() throws {
        let value = RESPValue.map([
            .init(.bulk("running".bytes), .boolean(true)),
            .init(.bulk("load".bytes), .double(0.25)),
            .init(.bulk("names".bytes), .set([.bulk("a".bytes), .bulk("b".bytes)])),
            .init(.bulk("text".bytes), .verbatim(format: "txt", "hello".bytes)),
            .init(.bulk("last".bytes), .null),
            .init(.bulk("big".bytes), .bigNumber("12345678901234567890")),
        ])
        for version in ProtocolVersion.allCases {
            var bytes: [UInt8] = []
            ReplyWriter(version: version).write(value, to: &bytes)
            let read = try #require(try reply(String(decoding: bytes, as: UTF8.self)))
            #expect(read.asMap?.count == 6)
            #expect(read["running"]?.integer == 1)
            #expect(read["load"]?.double == 0.25)
            #expect(read["names"]?.elements?.map(\.text) == ["a", "b"])
            #expect(read["text"]?.text == "hello")
            #expect(read["last"]?.isNull == true)
            #expect(read["big"]?.text == "12345678901234567890")
            #expect(read["missing"] == nil)
            if version == .three { #expect(read == value) }
        }
    }

    @Test func `a string is text, bytes, and maybe a number`() {
        #expect(RESPValue.simpleString("OK").text == "OK")
        #expect(RESPValue.simpleString("OK").bytes == "OK".bytes)
        #expect(RESPValue.bulk([0xFF]).text == "\u{FFFD}")
        #expect(RESPValue.bulk([0xFF]).bytes == [0xFF])
        #expect(RESPValue.bulk("42".bytes).integer == 42)
        #expect(RESPValue.bulk("4 2".bytes).integer == nil)
        #expect(RESPValue.bulk("1.5".bytes).double == 1.5)
        #expect(RESPValue.bulk([0xFF]).double == nil)
        #expect(RESPValue.integer(42).integer == 42)
        #expect(RESPValue.integer(42).text == nil)
        #expect(RESPValue.null.text == nil)
        #expect(RESPValue.array([.null]).asMap == nil)
        #expect(RESPValue.array([]).asMap == [])
    }

    @Test func `an error is a word and a message`() {
        let error = RESPValue.error("NOTHREAD no thread called 'images'")
        #expect(error.errorWord == "NOTHREAD")
        #expect(error.errorMessage == "no thread called 'images'")
        #expect(error.text == nil)
        #expect(RESPValue.error("BUSY").errorWord == "BUSY")
        #expect(RESPValue.error("BUSY").errorMessage == "")
        #expect(RESPValue.simpleString("OK").errorWord == nil)
        #expect(RESPValue.simpleString("OK").errorMessage == nil)
    }

    @Test(arguments: [
        0, 0.1, -1e300, .leastNonzeroMagnitude, 1e16, 123_456_789, .greatestFiniteMagnitude, .pi,
    ])
    func `a double comes back exactly`(value: Double) throws {
        var bytes: [UInt8] = []
        ReplyWriter(version: .three).writeDouble(value, to: &bytes)
        #expect(try reply(String(decoding: bytes, as: UTF8.self)) == .double(value))
    }

    private func randomValue(_ random: inout SeededRandom, depth: Int) -> RESPValue {
        let some = (0..<random.below(5)).map { _ in
            depth > 0 ? randomValue(&random, depth: depth - 1) : RESPValue.null
        }
        switch random.below(depth > 0 ? 13 : 9) {
        case 0: return .simpleString("text \(random.below(1000))")
        case 1: return .error("ERR number \(random.below(1000))")
        case 2: return .integer(Int(truncatingIfNeeded: random.next()))
        case 3: return .bulk(random.bytes(random.below(300)))
        case 4: return .null
        case 5: return .boolean(random.below(2) == 0)
        case 6: return .double(Double.random(in: -1e9...1e9, using: &random))
        case 7: return .bigNumber("-\(random.next())\(random.next())")
        case 8: return .verbatim(format: "mkd", random.bytes(random.below(50)))
        case 9: return .array(some)
        case 10: return .set(some)
        case 11: return .push(some)
        default: return .map(some.map { .init($0, .integer(random.below(9))) })
        }
    }
}
