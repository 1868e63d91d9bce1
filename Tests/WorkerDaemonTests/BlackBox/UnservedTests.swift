// Jobs that are in the file for a selector which the configuration no longer names.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Jobs of a selector that is gone` {
    private static let after: Setup = {
        var setup = Setup.durable
        setup.threads = "images: {}, mail: { count: 2 }"
        return setup
    }()
    /// A configuration with names that a later one no longer has.
    private static let before: Setup = {
        var setup = after
        setup.selectors = "shout: { program: [\"tr\", \"a-z\", \"A-Z\"], retries: 3 }"
        return setup
    }()

    /// Hands in jobs, and looks at what becomes of them when `shout` is gone.
    ///
    /// - Parameters:
    ///   - handIn: gets the daemon that knows it, whose `mail` is paused.
    ///   - body: gets the one that does not.
    private func afterRemoval(
        _ handIn: (TestClient) throws -> Void, _ body: (TestDaemon) throws -> Void
    ) throws -> Scratch {
        let scratch = try Scratch()
        let first = try TestDaemon(Self.before, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        _ = try client.call("PAUSE", "mail")
        try handIn(client)
        try first.crash()
        let second = try TestDaemon(Self.after, in: scratch, logName: "log2")
        defer { second.kill() }
        do {
            try body(second)
        } catch {
            Issue.record("\(error)\n--- the log:\n\(second.log.suffix(4_000))")
        }
        return scratch
    }

    private func handInSix(_ client: TestClient) throws {
        #expect(try client.perform("mail", "shout", "one") == 1)
        #expect(try client.perform("mail", "shout", "PRIORITY", "high", "two") == 2)
        #expect(try client.perform("mail", "shout", "DELAY", 3_600_000, "three") == 3)
        #expect(try client.call("BUFFER", "mail", "shout", "four") == .integer(4))
        #expect(try client.perform("mail/2", "shout", "five") == 5)
        #expect(try client.perform("mail", "echo", "six") == 6)
    }

    private func ids(_ client: TestClient, _ arguments: CommandArgument...) throws -> [Int] {
        try client.send(TestClient.bytes(["JOBS"] + arguments))
        return try client.reply().elements?.compactMap { $0["id"]?.integer } ?? []
    }

    private func orphaned(_ client: TestClient) throws -> RESPValue? {
        let rows = try client.call("SELECTORS").elements ?? []
        return rows.first { $0["name"]?.text == "shout" }?["orphaned"]
    }

    @Test(.timeLimit(.minutes(2)))
    func `are in the log, in SELECTORS, INFO and JOBS, and keep no other waiting`() throws {
        _ = try afterRemoval(handInSix) { daemon in
            let client = try daemon.connect()
            let told = "selector 'shout' is not configured any more, and has"
            #expect(daemon.log.contains("\(told) 4 jobs for thread 'mail' in the journal"))
            #expect(daemon.log.contains("\(told) 1 job for thread 'mail/2' in the journal"))
            #expect(daemon.log.contains("CANCEL mail shout ends them"))
            #expect(try orphaned(client) == .integer(5))
            #expect(try client.figure("orphaned_jobs") == 5)
            #expect(try client.figure("waiting_jobs") == 1)
            #expect(try client.figure("delayed_jobs") == 0)
            #expect(try client.figure("buffered_jobs") == 0)
            #expect(try client.call("THREAD", "mail")["waiting"] == .integer(1))
            #expect(try ids(client) == [6, 5, 4, 3, 2, 1])
            #expect(try ids(client, "mail") == [6, 4, 3, 2, 1])
            #expect(try ids(client, "mail", "waiting", "LIMIT", 2) == [6, 2])
            #expect(try ids(client, "delayed") == [3])
            #expect(try client.job(1, "state").text == "waiting")
            #expect(try client.call("RESULT", 1) == .null)
            #expect(try client.call("PERFORM", "mail", "shout", "x").errorWord == "NOSELECTOR")
            _ = try client.call("RESUME", "mail")
            #expect(try client.call("RESULT", 6, "WAIT").text == "six")
            #expect(try client.figure("waiting_jobs") == 0)
            #expect(try ids(client, "mail", "waiting") == [2, 1])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `can be taken back, one by one or all`() throws {
        let scratch = try afterRemoval(handInSix) { daemon in
            let client = try daemon.connect()
            for id in [2, 3] {
                #expect(try client.call("CANCEL", .integer(id)).text == "cancelled")
            }
            #expect(try client.call("CANCEL", 2).text == "toolate")
            #expect(try client.figure("orphaned_jobs") == 3)
            #expect(try client.call("CANCEL", "mail", "shout", "other") == .integer(0))
            // The pool's name means what is for its members, too.
            #expect(try client.call("CANCEL", "mail", "shout") == .integer(3))
            #expect(try orphaned(client) == nil)
            #expect(try client.figure("orphaned_jobs") == 0)
            #expect(try client.figure("total_jobs_cancelled") == 5)
            #expect(try client.call("RESULT", 1).errorWord == "CANCELLED")
            #expect(try ids(client, "waiting") == [6])
        }
        let third = try TestDaemon(Self.before, in: scratch, logName: "log3")
        defer { third.kill() }
        let client = try third.connect()
        #expect(try ids(client, "cancelled") == [5, 4, 3, 2, 1])
        #expect(try ids(client, "waiting") == [6])
    }

    @Test(.timeLimit(.minutes(2)))
    func `run in their order when it is configured again`() throws {
        let scratch = try afterRemoval(handInSix) { daemon in
            let client = try daemon.connect()
            // Jobs fired while their selector is unserved are due when it is served.
            #expect(try client.call("FIRE", "mail") == .integer(1))
            #expect(try client.figure("delayed_jobs") == 0)
            #expect(try client.figure("buffered_jobs") == 0)
            #expect(try client.figure("orphaned_jobs") == 5)
            #expect(try ids(client, "delayed") == [4, 3])
        }
        let third = try TestDaemon(Self.before, in: scratch, logName: "log3")
        defer { third.kill() }
        let client = try third.connect()
        #expect(!third.log.contains("not configured"))
        #expect(try client.figure("orphaned_jobs") == 0)
        _ = try client.call("RESUME", "mail")
        for (id, text) in [(1, "ONE"), (2, "TWO"), (4, "FOUR"), (5, "FIVE"), (6, "six")] {
            #expect(try client.call("RESULT", .integer(id), "WAIT").text == text)
        }
        #expect(try client.job(3, "state").text == "delayed")
    }

    @Test(.timeLimit(.minutes(2)))
    func `are counted once, however many there are and wherever they come`() throws {
        _ = try afterRemoval { client in
            let (gone, known) = (
                TestClient.bytes(["PERFORM", "mail", "shout", "x"]),
                TestClient.bytes(["PERFORM", "mail", "echo", "x"])
            )
            // More than are counted at once, and than come into memory at once.
            for _ in 0..<5 {
                try client.send([[UInt8]](repeating: gone, count: 600).flatMap { $0 } + known)
                for _ in 0...600 { #expect(try client.reply().integer != nil) }
            }
        } _: { daemon in
            let client = try daemon.connect()
            try eventually("all are counted") { try client.figure("orphaned_jobs") == 3_000 }
            try eventually("all others are counted") { try client.figure("waiting_jobs") == 5 }
            #expect(try client.call("CANCEL", "mail", "shout") == .integer(3_000))
            #expect(try client.figure("orphaned_jobs") == 0)
            #expect(try client.figure("waiting_jobs") == 5)
            #expect(try ids(client, "waiting") == [3_005, 2_404, 1_803, 1_202, 601])
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `are counted once if they held up others between two attempts`(
        isThreadThere: Bool
    ) throws {
        var (first, second) = (Self.before, Self.after)
        first.selectors = "shout: { program: [\"false\"], retries: 100, retry: \"block\" }"
        if !isThreadThere { second.threads = "images: {}" }
        let scratch = try Scratch()
        let daemon = try TestDaemon(first, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        _ = try client.perform("mail", "shout", "KEY", "k", "no")
        try client.waitUntil(1, is: "delayed")
        _ = try client.perform("mail", "echo", "KEY", "k", "behind")
        try client.send("SHUTDOWN")
        _ = try daemon.end()
        let later = try TestDaemon(second, in: scratch, logName: "log2")
        defer { later.kill() }
        let again = try later.connect()
        if isThreadThere {
            // It can't say when it will go on, so it holds up no other job meanwhile.
            #expect(try again.call("RESULT", 2, "WAIT").text == "behind")
        }
        #expect(try again.figure("orphaned_jobs") == (isThreadThere ? 1 : 2))
        #expect(try again.call("CANCEL", 1).text == "cancelled")
        #expect(try again.figure("orphaned_jobs") == (isThreadThere ? 0 : 1))
        #expect(try again.figure("delayed_jobs") == 0)
    }
}
