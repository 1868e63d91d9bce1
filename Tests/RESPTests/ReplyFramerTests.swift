// Proves that replies are cut where a parser ends them, in any cut of the bytes, and the refusals.

import RESP
import Support
import Testing

@Suite struct ReplyFramerTests {
    /// The frames of bytes that come in pieces of a size.
    private func frames(
        _ bytes: [UInt8], pieces size: Int, _ limits: ReplyLimits = ReplyLimits()
    ) throws -> [[UInt8]] {
        var framer = ReplyFramer(limits: limits)
        var frames: [[UInt8]] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            framer.withUninitializedTail(atLeast: size) { room in
                for byte in bytes[start..<min(start + size, bytes.count)] { room.append(byte) }
            }
            while let frame = try framer.next() { frames.append(frame) }
        }
        #expect(framer.pendingByteCount == 0)
        return frames
    }

    private static let more = [
        "*0\r\n", "%0\r\n", "$-1\r\n", "*2\r\n*-1\r\n$-1\r\n", "|1\r\n+k\r\n:1\r\n:7\r\n",
        "*2\r\n|1\r\n+k\r\n*1\r\n:1\r\n:7\r\n:8\r\n", ">2\r\n+job\r\n%1\r\n+a\r\n~1\r\n,1.5\r\n",
        "$5\r\n\r\n\r\n*\r\n", "%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n*2\r\n#t\r\n_\r\n",
    ]

    @Test func `each reply is one frame, in any pieces`() throws {
        let replies = ReplyParserTests.dumps.map(\.0.bytes) + Self.more.map(\.bytes)
        let all = replies.flatMap { $0 }
        for size in [1, 2, 3, 7, 64, all.count] {
            #expect(try frames(all, pieces: size) == replies, "\(size)")
        }
        for reply in replies {
            guard reply.first != UInt8(ascii: "|") else { continue }
            #expect(RESPValue(reply: reply) != nil)
        }
    }

    @Test func `a large string is not searched for its end`() throws {
        let body = [UInt8](repeating: UInt8(ascii: "\r"), count: 1 << 20)
        let reply = "$\(body.count)\r\n".bytes + body + "\r\n".bytes
        #expect(try frames(reply + ":1\r\n".bytes, pieces: 64 << 10) == [reply, ":1\r\n".bytes])
    }

    @Test(arguments: [
        "!x\r\n", "$-7\r\n", "*x\r\n", "?\r\n", "+a\rb\r\n", "$999\r\n", "*999\r\n",
        "*2\r\n*10\r\n", "+\(String(repeating: "x", count: 200))",
    ])
    func `what is no reply, or a larger one, is refused`(text: String) {
        let limits = ReplyLimits(lineByteCountMax: 100, bulkByteCountMax: 100, elementCountMax: 10)
        #expect(throws: ProtocolError.self) { try frames(text.bytes, pieces: 7, limits) }
    }

    @Test func `strings together have a limit`() {
        let limits = ReplyLimits(bulkByteCountMax: 10, replyByteCountMax: 30, elementCountMax: 10)
        let string = "$10\r\n0123456789\r\n"
        #expect(throws: ProtocolError.self) {
            try frames("*3\r\n\(string)\(string)\(string)".bytes, pieces: 100, limits)
        }
    }
}
