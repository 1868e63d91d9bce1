// Jobs that are in the file for a thread which the configuration no longer names.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Jobs of a thread that is gone` {
    /// A configuration with names that a later one no longer has.
    private static let both: Setup = {
        var setup = Setup.durable
        setup.threads = "images: {}, mail: { count: 2 }"
        return setup
    }()

    /// Hands in jobs for `mail`, and looks at what becomes of them when it is gone.
    ///
    /// - Parameter body: gets the daemon that does not know `mail`.
    private func afterRenaming(_ body: (TestDaemon) throws -> Void) throws -> Scratch {
        let scratch = try Scratch()
        let first = try TestDaemon(Self.both, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        _ = try client.call("PAUSE", "mail")
        #expect(try client.perform("mail", "echo", "one") == 1)
        #expect(try client.perform("mail", "echo", "PRIORITY", "high", "two") == 2)
        #expect(try client.perform("mail", "echo", "DELAY", 3_600_000, "three") == 3)
        #expect(try client.call("BUFFER", "mail", "echo", "four") == .integer(4))
        #expect(try client.perform("mail/2", "echo", "five") == 5)
        #expect(try client.perform("images", "echo", "DELAY", 3_600_000, "six") == 6)
        try first.crash()
        let second = try TestDaemon(.durable, in: scratch, logName: "log2")
        defer { second.kill() }
        do {
            try body(second)
        } catch {
            Issue.record("\(error)\n--- the log:\n\(second.log.suffix(4_000))")
        }
        return scratch
    }

    private func row(_ name: String, _ client: TestClient) throws -> RESPValue? {
        try client.call("THREADS").elements?.first { $0["name"]?.text == name }
    }

    private func ids(_ client: TestClient, _ arguments: CommandArgument...) throws -> [Int] {
        try client.send(TestClient.bytes(["JOBS"] + arguments))
        return try client.reply().elements?.compactMap { $0["id"]?.integer } ?? []
    }

    @Test(.timeLimit(.minutes(2)))
    func `are in the log, in THREADS, INFO and JOBS`() throws {
        _ = try afterRenaming { daemon in
            let client = try daemon.connect()
            #expect(daemon.log.contains("thread 'mail' is not configured any more, and has 4 jobs"))
            #expect(daemon.log.contains("'mail/2' is not configured any more, and has 1 job in"))
            #expect(try row("mail", client)?["state"]?.text == "orphaned")
            #expect(try row("mail", client)?["waiting"] == .integer(4))
            #expect(try client.call("THREAD", "mail/2")["waiting"] == .integer(1))
            #expect(try client.figure("orphaned_jobs") == 5)
            #expect(try client.figure("waiting_jobs") == 0)
            #expect(try client.figure("delayed_jobs") == 1)
            #expect(try ids(client) == [6, 5, 4, 3, 2, 1])
            #expect(try ids(client, "mail") == [4, 3, 2, 1])
            #expect(try ids(client, "mail", "waiting") == [2, 1])
            #expect(try ids(client, "delayed") == [6, 3])
            #expect(try ids(client, "mail", "done") == [])
            #expect(try client.job(1, "state").text == "waiting")
            #expect(try client.call("PERFORM", "mail", "echo", "x").errorWord == "NOTHREAD")
            #expect(try client.call("PAUSE", "mail").errorWord == "NOTHREAD")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `can be taken back, one by one or all`() throws {
        let scratch = try afterRenaming { daemon in
            let client = try daemon.connect()
            for id in [2, 3] {
                #expect(try client.call("CANCEL", .integer(id)).text == "cancelled")
            }
            #expect(try client.call("CANCEL", 2).text == "toolate")
            #expect(try client.figure("orphaned_jobs") == 3)
            #expect(try client.call("CANCEL", "mail", "other") == .integer(0))
            #expect(try client.call("CANCEL", "mail", "echo") == .integer(2))
            #expect(try row("mail", client) == nil)
            #expect(try client.call("THREAD", "mail").errorWord == "NOTHREAD")
            #expect(try client.figure("orphaned_jobs") == 1)
            #expect(try client.call("RESULT", 4).errorWord == "CANCELLED")
            #expect(try ids(client, "mail/2") == [5])
            #expect(try client.call("CANCEL", "post", "echo").errorWord == "NOTHREAD")
        }
        let third = try TestDaemon(Self.both, in: scratch, logName: "log3")
        defer { third.kill() }
        let client = try third.connect()
        _ = try client.call("RESUME", "mail")
        #expect(try client.call("RESULT", 5, "WAIT").text == "five")
        #expect(try client.call("RESULT", 1).errorWord == "CANCELLED")
        #expect(try client.figure("orphaned_jobs") == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `run when it is configured again, paused if it was`() throws {
        let scratch = try afterRenaming { daemon in
            let client = try daemon.connect()
            #expect(try client.figure("orphaned_jobs") == 5)
        }
        let third = try TestDaemon(Self.both, in: scratch, logName: "log3")
        defer { third.kill() }
        let client = try third.connect()
        #expect(!third.log.contains("not configured"))
        #expect(try client.call("THREAD", "mail/1")["state"]?.text == "paused")
        _ = try client.call("RESUME", "mail")
        for (id, text) in [(1, "one"), (2, "two"), (5, "five")] {
            #expect(try client.call("RESULT", .integer(id), "WAIT").text == text)
        }
        #expect(try client.job(3, "state").text == "delayed")
        #expect(try client.call("FIRE", "mail") == .integer(1))
    }

    @Test(.timeLimit(.minutes(2)))
    func `are counted once if they held up others between two attempts`() throws {
        let scratch = try Scratch()
        let first = try TestDaemon(Self.both, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        _ = try client.perform("mail", "fail", "KEY", "k", "RETRY", 100, "BLOCK", "no")
        _ = try client.perform("mail", "echo", "KEY", "k", "behind")
        try client.waitUntil(1, is: "delayed")
        try client.send("SHUTDOWN")
        _ = try first.end()
        let second = try TestDaemon(.durable, in: scratch, logName: "log2")
        defer { second.kill() }
        let again = try second.connect()
        #expect(second.log.contains("thread 'mail' is not configured any more, and has 2 jobs"))
        #expect(try again.figure("orphaned_jobs") == 2)
        #expect(try again.call("CANCEL", 1).text == "cancelled")
        #expect(try again.figure("orphaned_jobs") == 1)
        #expect(try ids(again, "mail") == [2, 1])
    }
}
