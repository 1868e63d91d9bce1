// Events as a response of HTTP that goes on.

import Glibc
import Kernel
import RESP
import Support
import Testing

@Suite struct `A stream of events` {
    @Test(.timeLimit(.minutes(2)))
    func `says the same as the pushes`() throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connect()
            let stream = try daemon.stream("/api/events")
            for field in [
                "HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Cache-Control: no-store",
                "Connection: close",
            ] {
                #expect(stream.head.split(separator: "\r\n").contains { $0 == field })
            }
            #expect(!stream.head.lowercased().contains("content-length"))
            let begin = try stream.event()
            #expect(begin.kind == "begin")
            let reader = try EventClient(daemon)
            #expect(reader.begin == begin.id)
            _ = try client.perform("images", "fail", "KEY", "k", "a \"text\"\nof lines")
            #expect(try stream.events(3) == reader.next(3))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `loses and repeats nothing when it is opened again`() throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connect()
            var stream = try daemon.stream("/api/events")
            var last = try stream.event().id
            var changes: [String] = []
            for round in 0..<20 {
                for _ in 0..<3 { _ = try client.perform("images", "echo", "x") }
                let count = round % 5
                for event in try stream.events(count) {
                    changes.append(event.change)
                    last = event.id
                }
                stream = try daemon.stream("/api/events", fields: ["Last-Event-ID: \(last)"])
                let begin = try stream.event()
                #expect(begin.kind == "begin" && begin.id == last)
            }
            while changes.count < 180 { changes.append(try stream.event().change) }
            let expected = (1...60).flatMap { id in
                ["accepted", "running", "done"].map { "\(id) \($0)" }
            }
            #expect(changes.sorted() == expected.sorted())
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is refused with a reason`() throws {
        var setup = Setup.http
        setup.limits = "streams: 2"
        try withDaemon(setup) { daemon in
            let client = try daemon.connectHTTP()
            for (target, status, word) in [
                ("/api/events?since=1", 400, "ERR"), ("/api/events?thread=nobody", 404, "NOTHREAD"),
                ("/api/events?other=1", 400, "ERR"),
            ] {
                let response = try client.get(target)
                #expect(response.status == status)
                #expect(try response.word() == word)
            }
            let streams = try (0..<2).map { _ in try daemon.stream("/api/events?thread=images") }
            let response = try client.get("/api/events")
            #expect(response.status == 503)
            #expect(try response.word() == "BUSY")
            _ = streams
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is served to many, and leaves nothing behind`() throws {
        var setup = Setup.http
        setup.limits = "streams: 100"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            do {
                let streams = try (0..<100).map { _ in
                    try daemon.stream("/api/events?thread=images&thread=images")
                }
                for stream in streams { #expect(try stream.event().kind == "begin") }
                let id = try client.perform("images", "echo", "x")
                for stream in streams {
                    let changes = try stream.events(3).map(\.change)
                    #expect(changes == ["\(id) accepted", "\(id) running", "\(id) done"])
                }
                #expect(try client.figure("connected_clients") == 101)
                // Some leave in the middle of a message.
                for _ in 0..<50 { _ = try client.perform("images", "echo", "x") }
            }
            try eventually("all are gone") { try client.figure("connected_clients") == 1 }
            // Their places are free.
            let streams = try (0..<100).map { _ in try daemon.stream("/api/events") }
            #expect(try streams.last?.event().kind == "begin")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `ends at once when the daemon does`() throws {
        try withDaemon(.http) { daemon in
            let streams = try (0..<10).map { _ in try daemon.stream("/api/events") }
            for stream in streams { #expect(try stream.event().kind == "begin") }
            let start = SystemClock().now()
            try daemon.send(.terminate)
            for stream in streams {
                let last = try stream.event()
                #expect(last.kind == "end" && last.details["reason"] == "shutting-down")
                #expect(try stream.next() == nil)
            }
            #expect(try daemon.end() == "exit status 0")
            #expect(start.duration(to: SystemClock().now()) < .seconds(20))
            #expect(!daemon.log.contains("error"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `comes behind the answers before it, and executes nothing behind it`() throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connectHTTP()
            let requests = [
                client.request("GET", "/api/threads/images"), client.request("GET", "/api/events"),
                client.request("POST", "/api/threads/images/pause", "{}"),
            ]
            try client.raw.send(text: requests.joined())
            #expect(try client.response().status == 200)
            #expect(
                try client.response(hasBody: false).fields["content-type"] == "text/event-stream")
            let other = try daemon.connect()
            #expect(try other.call("THREAD", "images")["state"]?.text == "idle")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is read by curl`() throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connect()
            var curl = try ChildProcess.spawn(
                ChildCommand(
                    program: "/usr/bin/curl",
                    arguments: [
                        "-sN", "--unix-socket", daemon.scratch.file("http"), "-o",
                        daemon.scratch.file("said"), "http://localhost/api/events",
                    ]))
            try eventually("curl is served") {
                daemon.scratch.read("said").contains("event: begin\n")
            }
            let id = try client.perform("images", "echo", "x")
            try eventually("curl has read the end of the job") {
                daemon.scratch.read("said").contains("\"job\":\(id),\"change\":\"done\"")
            }
            try daemon.send(.terminate)
            #expect(try daemon.end() == "exit status 0")
            _ = isReady(curl.endDescriptor.number, for: POLLIN, within: patienceMilliseconds)
            #expect(curl.reap() == .exited(0))
            #expect(daemon.scratch.read("said").hasSuffix("{\"reason\":\"shutting-down\"}\n\n"))
        }
    }
}
