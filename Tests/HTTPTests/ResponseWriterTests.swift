import HTTP
import Support
import Testing

@Suite struct `A response` {
    private func text(
        _ head: ResponseHead, _ body: String = "", to request: String? = nil,
        keepsAlive: Bool = true, unixSeconds: Int64 = 0
    ) throws -> String {
        var output: [UInt8] = []
        let hasBody = ResponseWriter.writeHead(
            head, bodyByteCount: body.utf8.count, to: try request.map(HTTPTests.head),
            keepsAlive: keepsAlive, unixSeconds: unixSeconds, &output)
        if hasBody { output += body.utf8 }
        return String(decoding: output, as: UTF8.self)
    }

    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func `has a status, a date, a length and its fields`() throws {
        let head = ResponseHead(.ok, "text/plain", [("Cache-Control", "no-store")])
        #expect(
            try text(head, "hello", to: get) == """
                HTTP/1.1 200 OK\r
                Date: Thu, 01 Jan 1970 00:00:00 GMT\r
                Content-Type: text/plain\r
                Content-Length: 5\r
                Cache-Control: no-store\r
                \r
                hello
                """)
    }

    @Test func `has no body for HEAD, but its length`() throws {
        let answer = try text(
            ResponseHead(.ok), "hello", to: "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(answer.contains("Content-Length: 5\r\n"))
        #expect(answer.hasSuffix("\r\n\r\n"))
    }

    @Test func `has neither where there is no content`() throws {
        let answer = try text(ResponseHead(.noContent), to: get)
        #expect(answer.hasPrefix("HTTP/1.1 204 No Content\r\n"))
        #expect(!answer.contains("Content-Length"))
    }

    @Test func `says what becomes of the connection`() throws {
        let old = "GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n"
        #expect(try !text(ResponseHead(.ok), to: get).contains("Connection"))
        #expect(try text(ResponseHead(.ok), to: old).contains("Connection: keep-alive\r\n"))
        let closing = try text(ResponseHead(.badRequest), keepsAlive: false)
        #expect(closing.contains("Connection: close\r\n"))
    }

    @Test func `is not split by a value`() throws {
        let answer = try text(ResponseHead(.ok, nil, [("X", "a\r\nY: b\r\n\r\nc")]), to: get)
        #expect(answer.contains("X: a  Y: b    c\r\n"))
    }

    @Test(arguments: [
        (Int64(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT"),
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
    ])
    func `has a date`(seconds: Int64, date: String) throws {
        #expect(try text(ResponseHead(.ok), unixSeconds: seconds).contains("Date: \(date)\r\n"))
    }

    @Test(arguments: HTTPStatus.allCases) func `has a phrase`(status: HTTPStatus) {
        #expect(!status.phrase.isEmpty)
    }
}
