import HTTP
import Support
import Testing

@Suite struct `A request` {
    @Test func `has a method, a path, a query and fields`() throws {
        let head = try head(
            "GET /api/threads/mail%2F1?state=failed&key=a+b%26&old HTTP/1.1\r\n"
                + "Host: localhost:7780\r\nX-Trace:\t a b \r\nEmpty:\r\n\r\n")
        #expect(head.method == .get)
        #expect(head.target.segments == ["api", "threads", "mail/1"])
        #expect(head.target.query.map(\.name) == ["state", "key", "old"])
        #expect(head.target.query.map(\.value) == ["failed", "a b&", ""])
        #expect(head.host == "localhost:7780")
        #expect(head.text(of: "x-trace") == "a b")
        #expect(head.text(of: "empty") == "")
        #expect(head.text(of: "other") == nil)
        #expect(head.bodyByteCount == 0)
    }

    @Test(arguments: [
        ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false),
        ("HTTP/1.1", "Connection: TE , Close\r\n", false),
        ("HTTP/1.1", "Connection: keep-alive\r\n", true), ("HTTP/1.0", "", false),
        ("HTTP/1.0", "Connection: Keep-Alive\r\n", true),
        ("HTTP/1.0", "Connection: keep-alive\r\nConnection: close\r\n", false),
    ])
    func `says whether the connection stays`(version: String, field: String, stays: Bool) throws {
        #expect(try head("GET / \(version)\r\nHost: a\r\n\(field)\r\n").keepsAlive == stays)
    }

    @Test func `has a body of the length that it says`() {
        let first = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab\r\n\0"
        let second = "GET /b HTTP/1.1\r\nHost: a\r\n\r\n"
        let events = requestEvents((first + second).bytes)
        #expect(events.count == 4)
        #expect(events[1] == .body([97, 98, 13, 10, 0]))
        #expect(events[3] == .body([]))
    }

    @Test func `is not read past its end`() throws {
        var parser = RequestParser(bodyByteCountMax: 10)
        parser.append("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nabGARBAGE\n".utf8)
        _ = try parser.next()
        #expect(try parser.next() == .body([97, 98]))
        #expect(parser.pendingByteCount == 8)
        #expect(throws: HTTPRefusal.self) { try parser.next() }
    }

    @Test func `may wait for a word before its body`() throws {
        let fields = "Host: a\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\n"
        #expect(try head("POST / HTTP/1.1\r\n\(fields)").expectsContinue)
        // A client of that version does not know the word.
        #expect(try !head("POST / HTTP/1.0\r\n\(fields)").expectsContinue)
        let empty = "Host: a\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n"
        #expect(try !head("POST / HTTP/1.1\r\n\(empty)").expectsContinue)
    }

    @Test func `is kept up to its limits`() {
        func request(valueCount: Int) -> String {
            "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: valueCount))\r\n\r\n"
        }
        let rest = request(valueCount: 0).utf8.count
        let most = RequestParser.headByteCountMax - rest
        #expect(refusal(request(valueCount: most)) == nil)
        #expect(refusal(request(valueCount: most + 1)) == 431)
        func request(fieldCount: Int) -> String {
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: fieldCount - 1)
                + "\r\n"
        }
        #expect(refusal(request(fieldCount: RequestParser.fieldCountMax)) == nil)
        #expect(refusal(request(fieldCount: RequestParser.fieldCountMax + 1)) == 431)
        func post(_ count: Int) -> String {
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n"
        }
        #expect(refusal(post(1_000)) == nil)
        #expect(refusal(post(1_001)) == 413)
    }

    @Test func `takes no memory for a body that is only announced`() throws {
        var parser = RequestParser(bodyByteCountMax: 1 << 30)
        parser.append("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n".utf8)
        _ = try parser.next()
        #expect(try parser.next() == nil)
        #expect(parser.memoryByteCount < 1_000)
    }
}

@Suite struct `A refused request` {
    /// Requests that are wrong, or that two servers could read in two ways, and their status.
    static let wrong: [(String, Int)] = [
        // The line.
        ("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
        ("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /\r\n\r\n", 400), ("*1\r\n$4\r\nPING\r\n", 400), ("PING\r\n", 400),
        ("GET /\u{e4} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("get / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("PUT / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505), ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505),
        ("GET / http/1.1\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.11\r\nHost: a\r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("GET /../etc HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /a/%2e%2E/b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /%0 HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /%+1 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        // Line ends and control characters.
        ("GET / HTTP/1.1\nHost: a\n\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\nY: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\u{1}b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\u{7f}b\r\n\r\n", 400),
        // Fields.
        ("GET / HTTP/1.1\r\nHost: a\r\n X: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX\u{b}: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX[]: b\r\n\r\n", 400),
        // The host.
        ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.0\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 400),
        // The length.
        ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", 411),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\ncontent-length: 2\r\n\r\na", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\na", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 0\r\n\r\na", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\na", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\na", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na", 400),
        ("HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na", 400),
        // Another framing than a length.
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 501),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
            501
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunke\r\nContent-Length: 0\r\n\r\n",
            501
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding:\r\nContent-Length: 0\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n", 400),
        // Words that a server has to understand.
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 200-ok\r\n\r\n", 417),
        ("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nOrigin: a\r\nOrigin: b\r\n\r\n", 400),
    ]

    @Test(arguments: wrong.indices) func `has a status`(index: Int) {
        let (text, status) = Self.wrong[index]
        let found = refusal(text)
        #expect(found == status, "\(text.debugDescription): \(found as Any)")
    }

    @Test(arguments: wrong.indices) func `ends the stream`(index: Int) {
        let (text, _) = Self.wrong[index]
        let behind = "\r\n\r\nGET /behind HTTP/1.1\r\nHost: a\r\n\r\n"
        let events = requestEvents((text + behind).bytes)
        #expect(events.count == 1, "\(text.debugDescription): \(events)")
        // Also when it comes later.
        var parser = RequestParser(bodyByteCountMax: 1_000)
        parser.append(text.utf8)
        let first = #expect(throws: HTTPRefusal.self) { while try parser.next() != nil {} }
        parser.append(behind.utf8)
        let again = #expect(throws: HTTPRefusal.self) { try parser.next() }
        #expect(first == again)
    }
}

@Suite struct `A stream of requests` {
    /// Requests that are served, and with those above a corpus to change at random.
    static let good = [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /api/jobs HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 11\r\n\r\nhello\r\n\0\r\n ",
        "HEAD /metrics?a=%20 HTTP/1.0\r\nhost: a.b\r\nConnection: keep-alive\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
    ]

    @Test func `gives the same in every cut`() {
        let streams =
            [Self.good.joined()] + Self.good
            + `A refused request`.wrong.map { Self.good[1] + $0.0 + Self.good[0] }
        for stream in streams {
            let bytes = stream.bytes
            let whole = requestEvents(bytes)
            let single = Array(repeating: 1, count: bytes.count)
            #expect(requestEvents(bytes, pieces: single) == whole, "\(stream.debugDescription)")
            for cut in 0..<bytes.count where requestEvents(bytes, pieces: [cut]) != whole {
                Issue.record("\(stream.debugDescription) cut at \(cut)")
            }
        }
    }

    @Test func `shares one piece of memory with others`() throws {
        var spare: [UInt8] = []
        func read(_ text: String, into parser: inout RequestParser) throws -> [RequestPart] {
            parser.takeMemory(&spare)
            defer { parser.giveMemory(&spare) }
            parser.withUninitializedTail(atLeast: max(65_536, text.utf8.count)) { tail in
                for byte in text.utf8 { tail.append(byte) }
            }
            var parts: [RequestPart] = []
            while let part = try parser.next() { parts.append(part) }
            return parts
        }
        // Only one that waits for the rest of a request keeps what it has read into.
        var waiting = RequestParser(bodyByteCountMax: 1 << 20)
        #expect(try read("GET / HT", into: &waiting) == [])
        #expect(waiting.memoryByteCount >= 65_536)
        #expect(spare.capacity == 0)
        for _ in 0..<3 {
            var parser = RequestParser(bodyByteCountMax: 1 << 20)
            #expect(try read("GET / HTTP/1.1\r\nHost: a\r\n\r\n", into: &parser).count == 2)
            #expect(parser.memoryByteCount == 0)
            #expect(spare.capacity >= 65_536)
        }
        #expect(try read("TP/1.1\r\nHost: a\r\n\r\n", into: &waiting).count == 2)
        #expect(waiting.memoryByteCount == 0)
        // The memory of a large body is freed.
        let body = String(repeating: "x", count: 1 << 20)
        let large = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n\(body)"
        #expect(try read(large, into: &waiting).count == 2)
        #expect(waiting.memoryByteCount == 0 && spare.capacity < 1 << 20)
    }

    @Test(arguments: 0..<8) func `survives any change`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let corpus = Self.good + `A refused request`.wrong.map(\.0)
        let spices = "\r\n\0 :,/?%+-0129azHTTP".bytes
        for _ in 0..<1_500 {
            var bytes = corpus[random.below(corpus.count)].bytes
            bytes += corpus[random.below(corpus.count)].bytes
            for _ in 0...random.below(6) where !bytes.isEmpty {
                let place = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes[place] = spices[random.below(spices.count)]
                case 1: bytes.insert(spices[random.below(spices.count)], at: place)
                case 2: bytes.remove(at: place)
                default: bytes[place] = UInt8.random(in: 0...255, using: &random)
                }
            }
            let whole = requestEvents(bytes)
            let pieces = (0..<bytes.count).map { _ in 1 + random.below(9) }
            #expect(requestEvents(bytes, pieces: pieces) == whole)
            // Bytes behind a request change nothing about it.
            let longer = requestEvents(bytes + spices)
            let complete = whole.prefix { if case .refusal = $0 { false } else { true } }
            #expect(longer.starts(with: complete))
        }
    }
}
