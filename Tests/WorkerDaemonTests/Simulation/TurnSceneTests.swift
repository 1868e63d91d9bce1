// Many clients of HTTP that ask at once for answers that are made in one go: pass by pass.

import Support
import Testing
import WorkerDaemon

@Suite struct `Answers that may be large` {
    private static func request(_ path: String) -> String {
        "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n"
    }

    @Test(
        arguments: [
            ("/api/threads", "\"threads\""), ("/api/live", "event: snapshot\n"),
            ("/api/jobs/1/result", "\"result\""), ("/api/jobs/1/output", "HTTP/1.1"),
        ])
    func `are made one or two in a pass, and others are served in between`(
        path: String, word: String
    ) throws {
        try playScene { world in
            try world.submit([], [], token: 1)
            world.stage.end(1, .done(byteCount: 1))
            try world.settle()
            let clients = try (0..<10).map { _ in try world.connectHTTP() }
            for client in clients { try client.send(Self.request(path)) }
            let other = try world.connectHTTP()
            try other.send(Self.request("/readyz"))
            var (answeredCount, countBeforeOther) = (0, 10)
            for _ in 0..<100 where answeredCount < clients.count {
                _ = try world.servePass()
                let newCount = try clients.count { try $0.text()?.contains(word) == true }
                #expect(newCount <= 2)
                answeredCount += newCount
                if try other.text()?.contains("200 OK") == true { countBeforeOther = answeredCount }
            }
            #expect(answeredCount == clients.count)
            #expect(countBeforeOther < 4)
        }
    }
}
