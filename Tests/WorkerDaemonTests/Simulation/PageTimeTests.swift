// The end of tickets and keys of the page, on a manual clock.

import Kernel
import RESP
import Testing
import WorkerDaemon

@Suite struct `A way into the page` {
    private func play(_ body: @escaping @Sendable (World) throws -> Void) throws {
        try playScene(key: "the key of the configuration") { try body($0) }
    }

    private func request(_ method: String, _ body: String, key: String? = nil) -> String {
        """
        \(method) /api/session HTTP/1.1\r
        Host: localhost\r
        Content-Type: application/json\r
        Content-Length: \(body.utf8.count)\r
        \(key.map { "Authorization: Bearer \($0)\r\n" } ?? "")\r
        \(body)
        """
    }

    private func ticket(_ world: World) throws -> String {
        let client = SteppedHTTPClient(try world.daemon.connect())
        try client.send("PAGE\r\n")
        try world.settle()
        let text = try client.text() ?? ""
        let start = try #require(text.firstRange(of: "#ticket="))
        return String(text[start.upperBound...].prefix(64))
    }

    private func open(_ ticket: String, _ world: World) throws -> String {
        let client = try world.connectHTTP()
        try client.send(request("POST", "{\"ticket\":\"\(ticket)\"}"))
        try world.settle()
        return try client.text() ?? ""
    }

    @Test func `is open for sixty seconds`() throws {
        try play { world in
            let (first, second) = (try ticket(world), try ticket(world))
            world.clock.advance(byMilliseconds: 59_999)
            #expect(try open(first, world).hasPrefix("HTTP/1.1 200 "))
            world.clock.advance(byMilliseconds: 1)
            #expect(try open(second, world).hasPrefix("HTTP/1.1 401 "))
        }
    }

    @Test func `leads to a key of twelve hours`() throws {
        try play { world in
            let answer = try open(try ticket(world), world)
            let start = try #require(answer.firstRange(of: "\"key\":\""))
            let key = String(answer[start.upperBound...].prefix(64))
            func status() throws -> String {
                let client = try world.connectHTTP()
                try client.send(request("GET", "", key: key))
                try world.settle()
                return String((try client.text() ?? "").prefix(12))
            }
            #expect(try status() == "HTTP/1.1 200")
            world.clock.advance(byMilliseconds: 12 * 3_600_000 - 1)
            #expect(try status() == "HTTP/1.1 200")
            world.clock.advance(byMilliseconds: 1)
            #expect(try status() == "HTTP/1.1 401")
        }
    }
}
