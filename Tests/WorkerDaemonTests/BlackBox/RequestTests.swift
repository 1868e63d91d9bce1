// Requests of clients that are no jobs, over the end of the daemon: threads that are paused, and
// jobs that are to end.

import Kernel
import RESP
import Support
import Testing

@Suite struct `What was asked for outlives the daemon` {
    /// Plays a scene with one daemon after another in one directory.
    private func play(
        _ setup: Setup = .durable, end: (TestDaemon) throws -> Void = { try $0.crash() },
        _ scenes: (TestClient, TestDaemon) throws -> Void...
    ) throws {
        let scratch = try Scratch()
        for (number, scene) in scenes.enumerated() {
            let daemon = try TestDaemon(setup, in: scratch, logName: "log\(number)")
            defer { daemon.kill() }
            do {
                try scene(daemon.connect(), daemon)
                try end(daemon)
            } catch {
                Issue.record("scene \(number): \(error)\n\(daemon.log.suffix(4_000))")
            }
        }
    }

    private func states(_ client: TestClient) throws -> [String?] {
        try (client.call("THREADS").elements ?? []).map { $0["state"]?.text }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `a paused thread is paused after a restart, until it goes on`(isCrash: Bool) throws {
        var setup = Setup.durable
        setup.threads = "images: {}, mail: { count: 2 }"
        try play(
            setup,
            end: { daemon in
                if isCrash { return try daemon.crash() }
                try daemon.send(.terminate)
                #expect(try daemon.end() == "exit status 0")
            },
            { client, _ in
                for command in [["PAUSE", "images"], ["PAUSE", "mail"], ["RESUME", "mail/1"]] {
                    let reply = try client.call(.text(command[0]), .text(command[1]))
                    #expect(reply == .simpleString("OK"))
                }
                #expect(try client.perform("images", "echo", "held") == 1)
                #expect(try client.perform("mail", "echo", "x") == 2)
                #expect(try client.call("RESULT", 2, "WAIT").text == "x")
            },
            { client, daemon in
                #expect(try states(client) == ["paused", "idle", "paused"])
                #expect(daemon.log.contains("thread images is paused, as it was before"))
                #expect(try client.call("RESULT", 1, "WAIT", 30).errorWord == "TIMEOUT")
                #expect(try client.call("RESUME", "images") == .simpleString("OK"))
                #expect(try client.call("RESULT", 1, "WAIT").text == "held")
                #expect(try client.call("STOP", "mail/2") == .simpleString("OK"))
                // Later answers say that the journal has it; and an ended job does not run again.
                let last = try client.call("PERFORM", "images", "echo", "WAIT", "y")
                #expect(last.text == "y")
            },
            { client, _ in
                let states = try states(client)
                #expect(states == ["idle", "idle", "idle"])
            })
    }

    /// Plays a scene with one daemon after another on one store, each with as many threads of
    /// `mail`.
    private func play(
        counts: [Int], _ scenes: (TestClient) throws -> Void...
    ) throws {
        let scratch = try Scratch()
        for (number, scene) in scenes.enumerated() {
            var setup = Setup.durable
            setup.threads = "mail: { count: \(counts[number]) }"
            let daemon = try TestDaemon(setup, in: scratch, logName: "log\(number)")
            defer { daemon.kill() }
            do {
                try scene(daemon.connect())
                try daemon.crash()
            } catch {
                Issue.record("scene \(number): \(error)\n\(daemon.log.suffix(4_000))")
            }
        }
    }

    private func expect(_ client: TestClient, _ expected: [String]) throws {
        #expect(try states(client) == expected)
    }

    private func steer(_ client: TestClient, _ command: CommandArgument, _ name: String) throws {
        #expect(try client.call(command, .text(name)) == .simpleString("OK"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `a pool that is paused stays so with more threads, with fewer and with one`() throws {
        try play(
            counts: [2, 3, 1, 2],
            { client in
                try steer(client, "PAUSE", "mail")
                for _ in 1...4 { _ = try client.perform("mail", "echo", "held") }
            },
            { client in
                try expect(client, ["paused", "paused", "paused"])
                #expect(try client.call("RESULT", 1, "WAIT", 30).errorWord == "TIMEOUT")
            },
            { client in
                try expect(client, ["paused"])
                #expect(try client.call("RESULT", 1, "WAIT", 30).errorWord == "TIMEOUT")
                try steer(client, "RESUME", "mail")
                #expect(try client.call("RESULT", 4, "WAIT").text == "held")
            },
            { client in try expect(client, ["idle", "idle"]) })
    }

    @Test(.timeLimit(.minutes(2)))
    func `a thread that is paused and becomes a pool is paused as a whole`() throws {
        try play(
            counts: [1, 2],
            { client in try steer(client, "PAUSE", "mail") },
            { client in try expect(client, ["paused", "paused"]) })
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["RESUME", "STOP"])
    func `one of a paused pool that goes on or is stopped leaves the others paused`(
        command: String
    ) throws {
        try play(
            counts: [2, 3, 3, 4],
            { client in try steer(client, "PAUSE", "mail") },
            { client in
                try steer(client, .text(command), "mail/2")
                // Its answer says that the journal has written all earlier commands.
                try steer(client, "PAUSE", "mail/1")
                let others = try states(client)
                #expect(others.first == "paused" && others.last == "paused")
            },
            { client in try expect(client, ["paused", "idle", "paused"]) },
            { client in try expect(client, ["paused", "idle", "paused", "idle"]) })
    }

    @Test(.timeLimit(.minutes(2)))
    func `a pause is forgotten where jobs are in memory only`() throws {
        try play(
            Setup(store: Setup.memory),
            { client, _ in
                let reply = try client.call("PAUSE", "images")
                #expect(reply == .simpleString("OK"))
            },
            { client, _ in
                let states = try states(client)
                #expect(states == ["idle"])
            })
    }

    @Test(.timeLimit(.minutes(2)))
    func `a job that was asked to end does not run again after a crash`() throws {
        var setup = Setup.durable
        setup.selectors = """
            deaf: {
                program: ["sh", "-c", 'trap "" TERM; echo >> starts; exec sleep 3600'],
                directory: "$DIR", graceAfterTerm: "1h",
            },
            """
        var children: [Int] = []
        defer { for child in children { try? Signal.kill.send(toProcess: child) } }
        try play(
            setup,
            { client, daemon in
                for id in 1...2 {
                    #expect(try client.perform("images", "deaf", "") == id)
                }
                try eventually("it runs") { daemon.scratch.read("starts") == "\n" }
                #expect(try client.call("CANCEL", 1).text == "requested")
                #expect(try client.call("CANCEL", 1).text == "requested")
                children += try WorkerDaemonTests.children(of: daemon.processID)
            },
            { client, daemon in
                #expect(try client.call("RESULT", 1, "WAIT").errorWord == "CANCELLED")
                #expect(try client.job(1, "state").text == "cancelled")
                #expect(try client.call("CANCEL", 1).text == "toolate")
                #expect(daemon.log.contains("not run again, as asked to end before: 1 job"))
                // The one behind it was asked nothing.
                try eventually("it runs") { daemon.scratch.read("starts") == "\n\n" }
                children += try WorkerDaemonTests.children(of: daemon.processID)
            })
    }
}
