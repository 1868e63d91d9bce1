// Proves the limits of a server's replies, and the cost of reading them.

import RESP
import Support
import Testing

@Suite struct ReplyLimitsTests {
    @Test func `aggregates may be nested to a limit`() {
        let deepest = String(repeating: "*1\r\n", count: 32) + ":1\r\n"
        var value = RESPValue.integer(1)
        for _ in 0..<32 { value = .array([value]) }
        #expect(replyEvents(deepest.bytes) == [.value(value)])
        let deeper = String(repeating: "*1\r\n", count: 33)
        let refused = [ReplyEvent.failure("Protocol error: too deep reply, the limit is 32 levels")]
        #expect(replyEvents(deeper.bytes) == refused)
        #expect(replyEvents(String(repeating: "|1\r\n", count: 33).bytes) == refused)
    }

    @Test func `elements are counted over all levels, before memory is taken`() {
        let limits = ReplyLimits(elementCountMax: 4)
        let fits = "*2\r\n*2\r\n:1\r\n:2\r\n:3\r\n".bytes
        let nested = RESPValue.array([.array([.integer(1), .integer(2)]), .integer(3)])
        #expect(replyEvents(fits + fits, limits: limits) == [.value(nested), .value(nested)])
        let entry = RESPValue.Entry(.integer(1), .integer(1))
        #expect(
            replyEvents("%2\r\n:1\r\n:1\r\n:1\r\n:1\r\n".bytes, limits: limits) == [
                .value(.map([entry, entry]))
            ])
        #expect(
            replyEvents("*5\r\n".bytes, limits: limits) == [
                .failure("Protocol error: invalid aggregate length 5, the limit is 4")
            ])
        #expect(
            replyEvents("%3\r\n".bytes, limits: limits) == [
                .failure("Protocol error: too many elements in reply, 6, the limit is 4")
            ])
        #expect(
            replyEvents("*2\r\n*3\r\n".bytes, limits: limits) == [
                .failure("Protocol error: too many elements in reply, 5, the limit is 4")
            ])
        #expect(
            replyEvents("%9223372036854775807\r\n".bytes) == [
                .failure(
                    """
                    Protocol error: invalid aggregate length 9223372036854775807, \
                    the limit is 1048576
                    """)
            ])
    }

    @Test func `a bulk string has a limit, and so have all of a reply`() {
        let limits = ReplyLimits(bulkByteCountMax: 3, replyByteCountMax: 5)
        #expect(
            replyEvents("$3\r\nabc\r\n".bytes, limits: limits) == [.value(.bulk("abc".bytes))])
        #expect(
            replyEvents("$4\r\n".bytes, limits: limits) == [
                .failure("Protocol error: invalid bulk length 4, the limit is 3")
            ])
        let five = "*2\r\n$3\r\nabc\r\n$2\r\nde\r\n".bytes
        let both = ReplyEvent.value(.array([.bulk("abc".bytes), .bulk("de".bytes)]))
        #expect(replyEvents(five + five, limits: limits) == [both, both])
        let six = [ReplyEvent.failure("Protocol error: too big reply, 6 bytes, the limit is 5")]
        #expect(replyEvents("*2\r\n$3\r\nabc\r\n$3\r\n".bytes, limits: limits) == six)
        #expect(replyEvents("*2\r\n$3\r\nabc\r\n+def\r\n".bytes, limits: limits) == six)
    }

    @Test func `a line has a limit`() {
        let limits = ReplyLimits(lineByteCountMax: 4)
        #expect(replyEvents("+OK\r\n".bytes, limits: limits) == [.value(.simpleString("OK"))])
        let refused = [
            ReplyEvent.failure("Protocol error: too long line in reply, no CRLF within 4 bytes")
        ]
        #expect(replyEvents("+OKA\r\n".bytes, limits: limits) == refused)
        #expect(replyEvents("+OKA".bytes, limits: limits) == refused)
    }

    @Test func `room for a large string is taken once and given back`() throws {
        let size = 1 << 20
        var parser = ReplyParser()
        parser.append("*1\r\n$\(size)\r\n".utf8)
        #expect(try parser.next() == nil)
        #expect(parser.memoryByteCount < 1024)
        var sizes: Set<Int> = []
        let piece = Array(repeating: UInt8(ascii: "x"), count: 4096)
        for _ in 0..<size / piece.count {
            parser.append(piece)
            #expect(try parser.next() == nil)
            sizes.insert(parser.memoryByteCount)
        }
        #expect(sizes.count == 1)
        parser.append("\r\n".utf8)
        let value = try #require(try parser.next())
        #expect(value.elements?.first?.bytes?.count == size)
        #expect(try parser.next() == nil)
        #expect(parser.memoryByteCount <= 128 << 10)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a megabyte that comes byte by byte is read once`() throws {
        var stream: [UInt8] = []
        let writer = ReplyWriter(version: .three)
        writer.writeArrayHeader(count: 2, to: &stream)
        writer.writeBulk(Array(repeating: 65, count: 1 << 20), to: &stream)
        writer.writeSimpleString(String(repeating: "a", count: 60_000), to: &stream)
        var parser = ReplyParser()
        var values: [RESPValue] = []
        for byte in stream {
            parser.append(CollectionOfOne(byte))
            while let value = try parser.next() { values.append(value) }
        }
        #expect(values.count == 1)
        #expect(values.first?.elements?.map { $0.bytes?.count } == [1 << 20, 60_000])
    }

    @Test(arguments: [21, 22, 23, 24] as [UInt64])
    func `random bytes never crash and never cost more than the limits`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let limits = ReplyLimits(lineByteCountMax: 500, bulkByteCountMax: 1000)
        let starts = ["*2\r\n", "%1\r\n", "$3\r\nabc\r\n", ":1\r\n", "|1\r\n", "~0\r\n", "_\r\n"]
        let alphabet = "*$%~>|=!+-:#,(_0123456789\r\n\r\n\r\n-tfe.".bytes
        for round in 0..<2000 {
            var parser = ReplyParser(limits: limits)
            do {
                for _ in 0..<20 {
                    var piece = starts[random.below(starts.count)].bytes
                    for _ in 0..<random.below(4) {
                        piece.append(alphabet[random.below(alphabet.count)])
                    }
                    if random.below(20) == 0 { piece += random.bytes(20) }
                    parser.append(piece)
                    while try parser.next() != nil {}
                    #expect(parser.memoryByteCount < 8192, "seed \(seed), round \(round)")
                }
            } catch {
                #expect(error.description.hasPrefix("Protocol error: "))
                #expect(!error.description.contains { $0.isNewline })
            }
        }
    }
}
