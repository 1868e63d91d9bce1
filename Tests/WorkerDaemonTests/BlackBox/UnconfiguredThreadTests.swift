// A node whose configuration lacks threads of the other nodes: its clients can name these threads.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing
import WorkerDaemon

@Suite(
    .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `A node without threads of the others` {
    /// Nodes `a` and `b` with a spread pool and a thread, and `c` without.
    private func fleet() throws -> TestFleet {
        let fleet = try TestFleet("a", "b", threads: "mail: { count: 2, slots: 4 }, single: {}")
        fleet.configured = "other: {}"
        try fleet.start("c")
        try eventually("each has its threads") {
            let places = try fleet.places()
            return places["c"] == ["other"] && places.values.joined().count == 6
                && ["a", "b"].allSatisfy { (places[$0] ?? []).count { $0 != "single" } == 2 }
        }
        let client = try fleet.connect(to: "c")
        try eventually("node c knows the thread") {
            try client.call("THREAD", "single").errorWord == nil
        }
        return fleet
    }

    private func submit(to client: TestClient) throws -> [Int] {
        try (0..<16).map { try client.perform("mail", "echo", "KEY", .text("k\($0)"), "x") }
    }

    @Test(.timeLimit(.minutes(3)))
    func `submits jobs to the slots of their keys`() throws {
        let fleet = try fleet()
        let client = try fleet.connect(to: "c")
        for id in try submit(to: client) { try client.waitUntil(id, is: "done") }
        #expect(
            try fleet.sql(
                "SELECT bool_and(thread = workerd.slot_of('mail', order_key, 0)) "
                    + "AND count(DISTINCT thread) = 4 FROM workerd.ended") == "t\n")
        #expect(
            try client.call("SCHEDULE", "s", "EVERY", 100, "KEY", "b", "mail", "echo", "x").text
                == "OK")
        #expect(try fleet.sql("SELECT thread FROM workerd.schedules") == "mail#1\n")
    }

    @Test(.timeLimit(.minutes(3)))
    func `pauses, lists, cancels, fires and stops all of a pool`() throws {
        let fleet = try fleet()
        let (client, other) = (try fleet.connect(to: "c"), try fleet.connect(to: "a"))
        func states() throws -> [String?] {
            (try other.call("THREADS").elements ?? []).filter {
                $0["name"]?.text?.hasPrefix("mail/") == true
            }.map { $0["state"]?.text }
        }
        #expect(try client.call("PAUSE", "mail").text == "OK")
        #expect(try states() == Array(repeating: "paused", count: 4))
        let ids = try submit(to: other)
        for client in [client, other] {
            let rows = try client.call("JOBS", "mail").elements ?? []
            #expect(Set(rows.compactMap { $0["id"]?.integer }) == Set(ids))
            #expect(try client.call("FAILURES", "mail").elements == [])
            #expect(try client.call("THREAD", "mail")["waiting"]?.integer == 16)
        }
        // BULK is about the slots of one node.
        let counts = try ["a", "b"].map {
            try fleet.connect(to: $0).call("BULK", "CANCEL", "DRY", "mail")["count"]?.integer ?? 0
        }
        #expect(counts.reduce(0, +) == 16 && counts.allSatisfy { $0 > 0 })
        #expect(try client.call("CANCEL", "mail", "echo").integer == 16)
        for node in ["a", "b"] {
            let owner = try fleet.connect(to: node)
            for _ in 0..<4 {
                #expect(try owner.call("BUFFER", "mail", "echo", "x").integer != nil)
            }
        }
        #expect(try client.call("FIRE", "mail").integer == 8)
        #expect(try client.call("RESUME", "mail").text == "OK")
        #expect(try !states().contains("paused"))
        #expect(try client.call("STOP", "mail").text == "OK")
        #expect(try states().allSatisfy { ["stopping", "stopped"].contains($0) })
    }

    @Test(.timeLimit(.minutes(3)))
    func `answers for one thread, and does not act on many jobs`() throws {
        let fleet = try fleet()
        let client = try fleet.connect(to: "c")
        let id = try client.perform("single", "echo", "DELAY", 3_600_000, "x")
        #expect(
            try client.call("JOBS", "single").elements?.map { $0["id"]?.integer } == [id])
        #expect(try client.call("FAILURES", "single").elements == [])
        for thread: CommandArgument in ["mail", "single"] {
            #expect(try client.call("BULK", "CANCEL", thread).errorWord == "NOTHREAD")
        }
        let http = try HTTPTestClient(try fleet.node("c").http, key: testKey)
        for path in ["/api/jobs?thread=mail", "/api/failures?thread=single"] {
            #expect(try http.get(path).status == 307)
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `knows no thread by the name of a slot`() throws {
        let fleet = try fleet()
        for node in ["a", "b", "c"] {
            let client = try fleet.connect(to: node)
            for name: CommandArgument in ["mail#0", "mail#1", "mail#3", "mail#4", "mail/3"] {
                #expect(try client.call("JOBS", name).errorWord == "NOTHREAD")
                #expect(try client.call("FAILURES", name).errorWord == "NOTHREAD")
                #expect(try client.call("BULK", "CANCEL", name).errorWord == "NOTHREAD")
            }
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `refuses a job by SQL whose thread none has, until one has it`() throws {
        let fleet = try TestFleet("a", "b", threads: "alpha: {}, beta: {}")
        try fleet.waitUntil(["a": 1, "b": 1])
        _ = try fleet.sql("SELECT workerd.perform('nowhere', 'echo', 'x')")
        try eventually("it is refused") {
            try fleet.sql("SELECT refusal FROM workerd.submitted")
                == "there is no thread 'nowhere'\n"
        }
        try eventually("one node tells") {
            try ["a", "b"].contains {
                try fleet.node($0).daemon.log.contains("can't be accepted")
            }
        }
        fleet.configured = "nowhere: {}"
        try fleet.start("c")
        try eventually("it is done") {
            try fleet.sql("SELECT outcome FROM workerd.ended") == "1\n"
        }
        #expect(try fleet.sql("SELECT count(*) FROM workerd.submitted") == "0\n")
    }
}
