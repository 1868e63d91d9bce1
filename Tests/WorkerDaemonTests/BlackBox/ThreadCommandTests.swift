// Looking at threads and steering them.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Steering threads` {
    private func state(_ client: TestClient, of name: String) throws -> String? {
        try client.call("THREAD", .text(name))["state"]?.text
    }

    @Test(.timeLimit(.minutes(2)), arguments: [2, 3])
    func `THREADS shows each thread with what it does`(version: Int) throws {
        try withDaemon(Setup(threads: "images: {}, mail: { count: 2 }")) { daemon in
            let client = try daemon.connect()
            _ = try client.call("HELLO", .integer(version))
            let id = try client.perform("images", "sleep", "3600000")
            try client.waitUntil(id, is: "running")
            _ = try client.call("PAUSE", "mail/2")
            #expect(try client.call("PERFORM", "mail/1", "fail", "WAIT", "x").errorWord == "FAILED")
            let threads = try client.call("THREADS").elements ?? []
            #expect(threads.map { $0["name"]?.text } == ["images", "mail/1", "mail/2"])
            #expect(threads.map { $0["state"]?.text } == ["running", "idle", "paused"])
            #expect(threads.map { $0["job"]?.integer } == [id, nil, nil])
            #expect(threads.first?["selector"]?.text == "sleep")
            #expect(threads.dropFirst().first?["failed"]?.integer == 1)
            if version == 3 {
                guard case .map = threads.first else { throw Unexpected("\(threads)") }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `THREAD shows a pool as a whole and a member by itself`() throws {
        try withDaemon(Setup(threads: "mail: { count: 2, maxQueued: 9 }")) { daemon in
            let client = try daemon.connect()
            let pool = try client.call("THREAD", "mail")
            #expect(pool["members"]?.elements?.map(\.text) == ["mail/1", "mail/2"])
            #expect(pool["max-queued"]?.integer == 9)
            let member = try client.call("THREAD", "mail/2")
            #expect(member["name"]?.text == "mail/2")
            #expect(member["pool"]?.text == "mail")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a paused thread finishes what runs and holds what waits`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let running = try client.perform("images", "sleep", "3600000")
            try client.waitUntil(running, is: "running")
            let waiting = try client.perform("images", "echo", "held")
            #expect(try client.call("PAUSE", "images") == .simpleString("OK"))
            #expect(try state(client, of: "images") == "pausing")
            #expect(try client.call("CANCEL", .integer(running)).text == "requested")
            #expect(try client.call("RESULT", .integer(running), "WAIT").errorWord == "CANCELLED")
            #expect(try state(client, of: "images") == "paused")
            #expect(try client.call("PAUSE", "images") == .simpleString("OK"))
            #expect(try client.call("RESULT", .integer(waiting), "WAIT", 20).errorWord == "TIMEOUT")
            #expect(try client.call("RESUME", "images") == .simpleString("OK"))
            #expect(try client.call("RESULT", .integer(waiting), "WAIT").text == "held")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a paused member leaves the pool's work to the others`() throws {
        try withDaemon(Setup(threads: "mail: { count: 2 }")) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "mail/1")
            let own = try client.perform("mail/1", "echo", "own")
            for _ in 0..<5 {
                let id = try client.perform("mail", "echo", "x")
                #expect(try client.call("RESULT", .integer(id), "WAIT").text == "x")
                #expect(try client.job(id, "worker").text == "mail/2")
            }
            #expect(try client.job(own, "state").text == "waiting")
            _ = try client.call("RESUME", "mail")
            #expect(try client.call("RESULT", .integer(own), "WAIT").text == "own")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a stopped thread runs what waits and takes nothing new`() throws {
        try withDaemon(Setup(threads: "images: {}, ledger: {}")) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            let ids = try (0..<20).map { try client.perform("images", "echo", .integer($0)) }
            #expect(try client.call("STOP", "images") == .simpleString("OK"))
            let refusal = try client.call("PERFORM", "images", "echo", "x")
            #expect(refusal.errorWord == "NOTHREAD")
            #expect(refusal.errorMessage?.contains("stopped") == true)
            #expect(try client.call("BUFFER", "images", "echo", "x").errorWord == "NOTHREAD")
            #expect(try client.call("PAUSE", "images").errorWord == "NOTHREAD")
            #expect(try client.call("RESUME", "images").errorWord == "NOTHREAD")
            for (number, id) in ids.enumerated() {
                #expect(try client.call("RESULT", .integer(id), "WAIT").integer == number)
            }
            try eventually("it has ended") { try state(client, of: "images") == "stopped" }
            #expect(try client.call("PERFORM", "ledger", "echo", "WAIT", "x").text == "x")
            try daemon.send(.terminate)
            #expect(try daemon.end() == "exit status 0")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a delayed job of a thread that has been stopped is cancelled when it is due`() throws {
        try withDaemon(Setup(store: Setup.memory)) { daemon in
            let client = try daemon.connect()
            let replies = try client.callTogether(
                ["PERFORM", "images", "echo", "DELAY", 60, "x"], ["STOP", "images"])
            #expect(replies == [.integer(1), .simpleString("OK")])
            #expect(try client.call("RESULT", 1, "WAIT").errorWord == "CANCELLED")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a stopped member leaves its pool working`() throws {
        try withDaemon(Setup(threads: "mail: { count: 2 }")) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("STOP", "mail/1") == .simpleString("OK"))
            #expect(try client.call("PERFORM", "mail/1", "echo", "x").errorWord == "NOTHREAD")
            for _ in 0..<5 {
                #expect(try client.call("PERFORM", "mail", "echo", "WAIT", "x").text == "x")
            }
            #expect(try client.call("STOP", "mail/2") == .simpleString("OK"))
            #expect(try client.call("PERFORM", "mail", "echo", "x").errorWord == "NOTHREAD")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `JOBS lists the newest first, by thread, state and number`() throws {
        try withDaemon(Setup(threads: "images: {}, ledger: {}")) { daemon in
            let client = try daemon.connect()
            func list(_ words: CommandArgument...) throws -> [Int?] {
                try client.send(TestClient.bytes(["JOBS"] + words))
                return try client.reply().elements?.map { $0["id"]?.integer } ?? []
            }
            #expect(try list() == [])
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "1").text == "1")
            #expect(try client.call("PERFORM", "ledger", "echo", "WAIT", "2").text == "2")
            #expect(try client.call("PERFORM", "images", "fail", "WAIT", "3").errorWord == "FAILED")
            let running = try client.perform("images", "sleep", "3600000")
            try client.waitUntil(running, is: "running")
            _ = try client.perform("images", "echo", "DELAY", 3_600_000, "5")
            _ = try client.call("BUFFER", "ledger", "echo", "6")
            #expect(try list() == [6, 5, 4, 3, 2, 1])
            #expect(try list("LIMIT", 2) == [6, 5])
            #expect(try list("LIMIT", 0) == [])
            #expect(try list("images") == [5, 4, 3, 1])
            #expect(try list("images", "DONE") == [1])
            #expect(try list("done") == [2, 1])
            #expect(try list("failed", "images") == [3])
            #expect(try list("running") == [4])
            #expect(try list("delayed") == [5])
            #expect(try list("buffered", "limit", 5) == [6])
            #expect(try list("images", "done", "LIMIT", 1) == [1])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `JOB tells all about a job`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "fail", "WAIT", "broken").isNull == false)
            let job = try client.call("JOB", 1)
            let expected: [(String, String?)] = [
                ("id", nil), ("thread", "images"), ("selector", "fail"), ("state", "failed"),
                ("priority", "normal"), ("worker", "images"), ("failure", "broken"),
            ]
            for (key, text) in expected where text != nil { #expect(job[key]?.text == text) }
            #expect(job["id"]?.integer == 1)
            #expect(job["attempt"]?.integer == 1)
            let times = ["accepted-at", "started-at", "ended-at"].map { job[$0]?.integer ?? 0 }
            #expect(times.allSatisfy { $0 > 1_700_000_000_000 })
            #expect(times == times.sorted())
        }
    }
}
