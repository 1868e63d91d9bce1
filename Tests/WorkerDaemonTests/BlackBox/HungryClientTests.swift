// Clients that ask for much and do not read: they cost the daemon a bounded amount of memory, and other
// clients no more than a turn of the store.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Hungry clients` {
    private static let jobCount = 1_000
    private static let listingCount = 100

    /// The most memory that the daemon ever had, in bytes.
    private func peak(_ daemon: TestDaemon) throws -> Int {
        let status = try File.read("/proc/\(daemon.processID)/status", atMost: 1 << 16)
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix("VmHWM:")
        }
        let words = try #require(line).split { $0 == " " || $0 == "\t" }
        return try #require(Int(words[1])) << 10
    }

    private func handIn(_ count: Int, _ client: TestClient) throws {
        try client.send(
            (0..<count).flatMap { _ in TestClient.bytes(["PERFORM", "images", "echo", "x"]) })
        for _ in 0..<count { #expect(try client.reply().integer != nil) }
        try eventually("all have run") {
            try client.figure("waiting_jobs") == 0 && client.figure("running_jobs") == 0
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `listings that nobody reads take bounded memory and hold up no job`() throws {
        try withDaemon(.durable) { daemon in
            let client = try daemon.connect()
            try handIn(Self.jobCount, client)
            let before = try peak(daemon)
            let hungry = try daemon.connect()
            let listing = TestClient.bytes(["JOBS", "LIMIT", 10_000])
            try hungry.send((0..<Self.listingCount).flatMap { _ in listing })
            // Accepted, run and recorded while the listings are made.
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "y").text == "y")
            #expect(try client.figure("client_output_backlog") < 8 << 20)
            #expect(try peak(daemon) - before < 32 << 20)
            // The client that reads after all gets every answer.
            for _ in 0..<Self.listingCount {
                let count = try #require(hungry.reply().elements?.count)
                #expect((Self.jobCount...Self.jobCount + 1).contains(count))
            }
            #expect(try peak(daemon) - before < 32 << 20)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `stored results that nobody reads take bounded memory`() throws {
        let scratch = try Scratch()
        var setup = Setup.durable
        setup.limits = "payload: \"2MB\", outputBacklog: \"4MB\""
        let size = 1 << 20
        do {
            let daemon = try TestDaemon(setup, in: scratch)
            defer { daemon.kill() }
            let payload = String(repeating: "r", count: size)
            let reply = try daemon.connect().call(
                "PERFORM", "images", "echo", "WAIT", .text(payload))
            #expect(reply.text?.utf8.count == size)
            try daemon.send(.terminate)
            #expect(try daemon.end() == "exit status 0")
        }
        let daemon = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { daemon.kill() }
        let client = try daemon.connect()
        #expect(try client.call("PING") == .simpleString("PONG"))
        let before = try peak(daemon)
        let hungry = try (0..<4).map { _ in try daemon.connect() }
        for hungry in hungry {
            try hungry.send((0..<30).flatMap { _ in TestClient.bytes(["RESULT", 1]) })
        }
        #expect(try client.call("RESULT", 1).text?.utf8.count == size)
        #expect(try peak(daemon) - before < 48 << 20)
        for hungry in hungry {
            for _ in 0..<30 { #expect(try hungry.reply().text?.utf8.count == size) }
        }
        #expect(try peak(daemon) - before < 48 << 20)
    }

    @Test(.timeLimit(.minutes(2)))
    func `clients that hang up behind their questions leave nothing to do`() throws {
        try withDaemon(.durable) { daemon in
            let client = try daemon.connect()
            try handIn(Self.jobCount, client)
            for _ in 0..<20 {
                let hungry = try daemon.connect()
                let listing = TestClient.bytes(["JOBS", "LIMIT", 10_000])
                try hungry.send((0..<50).flatMap { _ in listing })
            }
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "y").text == "y")
            try eventually("they are gone") { try client.figure("connected_clients") == 1 }
            #expect(try client.figure("client_output_backlog") == 0)
        }
    }
}
