// Programs that can't be started for want of room.

import RESP
import Support
import Testing

@Suite struct `A program that finds no descriptor` {
    /// Runs a test with a daemon whose descriptors are used up by clients.
    private func withFullDaemon(
        _ body: (TestDaemon, TestClient, inout [TestClient]) throws -> Void
    ) throws {
        var setup = Setup()
        setup.selectors = "shout: { program: [\"tr\", \"a-z\", \"A-Z\"] },"
        let daemon = try TestDaemon(setup, in: Scratch(), limited: "ulimit -n 48")
        defer { daemon.kill() }
        let client = try daemon.connect()
        #expect(try client.call("PERFORM", "images", "shout", "WAIT", "before").text == "BEFORE")
        var others: [TestClient] = []
        try eventually("no descriptor is left") {
            others.append(try daemon.connect())
            return daemon.log.contains("no descriptor left for another client")
        }
        do {
            try body(daemon, client, &others)
        } catch {
            Issue.record("\(error)\n--- the daemon's log:\n\(daemon.log.suffix(4_000))")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is started when there is one`() throws {
        try withFullDaemon { daemon, client, others in
            try client.send("PERFORM", "images", "shout", "WAIT", "after")
            try eventually("it waits") { daemon.log.contains("job 2 (shout) waits for room") }
            others.removeAll()
            #expect(try client.reply().text == "AFTER")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is started in its turn where there are few for many`() throws {
        var setup = Setup()
        setup.threads = "images: { count: 8 }"
        setup.selectors = "shout: { program: [\"tr\", \"a-z\", \"A-Z\"] },"
        let daemon = try TestDaemon(setup, in: Scratch(), limited: "ulimit -n 42")
        defer { daemon.kill() }
        let client = try daemon.connect()
        for number in 0..<40 {
            try client.send("PERFORM", "images", "shout", "WAIT", .text("a\(number)"))
        }
        for number in 0..<40 { #expect(try client.reply().text == "A\(number)", "\(daemon.log)") }
    }

    @Test(.timeLimit(.minutes(2)))
    func `can be cancelled meanwhile, and waits no longer than it may`() throws {
        try withFullDaemon { daemon, client, others in
            let id = try client.perform("images", "shout", "x")
            try eventually("it waits") { daemon.log.contains("job 2 (shout) waits for room") }
            #expect(try client.call("CANCEL", .integer(id)) == .simpleString("requested"))
            #expect(try client.call("RESULT", .integer(id), "WAIT").errorWord == "CANCELLED")
            let reply = try client.call(
                "PERFORM", "images", "shout", "TIMEOUT", 150, "WAIT", "x")
            #expect(reply.errorWord == "FAILED")
            #expect(reply.errorMessage?.contains("Too many open files") == true, "\(reply)")
        }
    }
}
