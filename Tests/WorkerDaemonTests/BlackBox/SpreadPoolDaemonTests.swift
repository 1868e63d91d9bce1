// Daemons that serve one pool together: each has some of its slots.

import Jobs
import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing
import WorkerDaemon

@Suite(
    .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `Daemons that serve a pool together` {
    private static let threads = "mail: { count: 2, slots: 4 }"

    /// Two nodes, each with two of four slots.
    private func fleet() throws -> TestFleet {
        let fleet = try TestFleet("a", "b", threads: Self.threads)
        try fleet.waitUntil(["a": 2, "b": 2])
        return fleet
    }

    /// Submits jobs of eight keys; returns their numbers by the keys.
    private func submit(_ count: Int, to client: TestClient) throws -> [String: [Int]] {
        var ids: [String: [Int]] = [:]
        for number in 0..<count {
            let key = "k\(number % 8)"
            ids[key, default: []].append(
                try client.perform("mail", "echo", "KEY", .text(key), "x"))
        }
        return ids
    }

    private func states(of ids: [String: [Int]], _ client: TestClient) throws -> Set<String> {
        Set(try ids.values.joined().compactMap { try client.job($0, "state").text })
    }

    @Test(.timeLimit(.minutes(3)))
    func `run its jobs on all of them, those of a key in order`() throws {
        let fleet = try fleet()
        let client = try fleet.connect(to: "a")
        let ids = try submit(48, to: client)
        for key in ids.values { #expect(key == key.sorted()) }
        for id in ids.values.joined() { try client.waitUntil(id, is: "done") }
        #expect(
            try fleet.sql(
                """
                SELECT count(*) FROM workerd.ended e JOIN workerd.threads t ON t.name = e.thread
                GROUP BY seat HAVING count(*) > 5
                """
            ).split(separator: "\n").count == 2)
        #expect(
            try fleet.sql(
                """
                SELECT count(*), count(DISTINCT thread) FROM (SELECT thread, started_at,
                    lag(started_at) OVER (PARTITION BY order_key ORDER BY id) AS before
                    FROM workerd.ended) e WHERE before IS NULL OR before <= started_at
                """) == "48|4\n")
        // A job of any slot, at any node, under the pool's name.
        let other = try fleet.connect(to: "b")
        for id in ids.values.joined() { #expect(try other.job(id, "thread").text == "mail") }
        #expect(try other.call("PERFORM", "mail", "echo", "WAIT", "hello").text == "hello")
        let rows = try other.call("THREADS").elements ?? []
        #expect(
            rows.map { "\($0["name"]?.text ?? "") \($0["node"]?.text ?? "")" }.sorted()
                == ["mail/1 a", "mail/1 b", "mail/2 a", "mail/2 b"])
        let nodes = try other.call("NODES").elements ?? []
        #expect(
            nodes.map { $0["threads"]?.elements?.compactMap(\.text) } == [
                ["mail:2/4"], ["mail:2/4"],
            ])
    }

    @Test(.timeLimit(.minutes(3)))
    func `are told together by THREADS`() throws {
        let fleet = try TestFleet("a", "b", threads: "\(Self.threads), zeta: {}")
        try eventually("both have slots, and one has the other thread") {
            let places = try fleet.places()
            let slots = places.mapValues { $0.filter { $0 != "zeta" }.count }
            return slots == ["a": 2, "b": 2] && places.values.joined().count == 5
        }
        let rows = try fleet.connect(to: "a").call("THREADS").elements ?? []
        #expect(
            rows.map { $0["name"]?.text } == ["mail/1", "mail/2", "mail/1", "mail/2", "zeta"])
    }

    @Test(.timeLimit(.minutes(3)))
    func `pause, list and cancel its jobs at all of them, and take over`() throws {
        let fleet = try fleet()
        let (first, second) = (try fleet.connect(to: "a"), try fleet.connect(to: "b"))
        #expect(try first.call("PAUSE", "mail").text == "OK")
        let ids = try submit(16, to: second)
        let all = Set(ids.values.joined())
        for client in [first, second] {
            let rows = try client.call("JOBS", "mail").elements ?? []
            #expect(Set(rows.compactMap { $0["id"]?.integer }) == all)
            #expect(Set(rows.compactMap { $0["state"]?.text }) == ["waiting"])
            #expect(try client.call("THREAD", "mail")["waiting"]?.integer == 16)
        }
        for key in 0..<8 {
            _ = try second.perform("mail", "echo", "KEY", .text("k\(key)"), "away")
        }
        #expect(try first.call("CANCEL", "mail", "echo", "away").integer == 8)
        try fleet.kill("a")
        try fleet.waitUntil(["b": 4])
        #expect(try states(of: ids, second) == ["waiting"])
        #expect(try second.call("RESUME", "mail").text == "OK")
        for id in all { try second.waitUntil(id, is: "done") }
    }

    @Test(.timeLimit(.minutes(3)))
    func `obey HTTP at one of them`() throws {
        let fleet = try fleet()
        let http = try HTTPTestClient(try fleet.node("b").http, key: testKey)
        let client = try fleet.connect(to: "a")
        func states() throws -> [String?] {
            (try client.call("THREADS").elements ?? []).map { $0["state"]?.text }
        }
        #expect(try http.post("/api/threads/mail/pause").status == 200)
        #expect(try states() == Array(repeating: "paused", count: 4))
        _ = try submit(8, to: client)
        let pool = try http.get("/api/threads/mail").json()
        #expect(pool["waiting"] == .number("8"))
        #expect(try http.post("/api/threads/mail/resume").status == 200)
        #expect(try states().allSatisfy { $0 != "paused" })
    }

    @Test(.timeLimit(.minutes(3)))
    func `give slots with waiting jobs to one that comes`() throws {
        let fleet = try TestFleet("a", threads: Self.threads)
        try fleet.waitUntil(["a": 4])
        let client = try fleet.connect(to: "a")
        #expect(try client.call("PAUSE", "mail").text == "OK")
        let ids = try submit(32, to: client)
        let loose = try (0..<200).map { _ in try client.perform("mail", "echo", "x") }
        try fleet.start("b")
        try fleet.waitUntil(["a": 2, "b": 2])
        #expect(try states(of: ids, client) == ["waiting"])
        #expect(try client.call("RESUME", "mail").text == "OK")
        for id in Array(ids.values.joined()) + loose { try client.waitUntil(id, is: "done") }
        // They were handed over: each has one attempt.
        #expect(
            try fleet.sql(
                """
                SELECT count(DISTINCT seat), max(attempt) FROM workerd.ended e
                JOIN workerd.threads t ON t.name = e.thread
                """) == "2|1\n")
    }

    /// Both threads of a node run long jobs, and the other node has nothing to do.
    @Test(.timeLimit(.minutes(3)))
    func `lend a slot with waiting jobs to one that is idle, and get it back`() throws {
        let fleet = try TestFleet("a", "b", threads: "mail: { count: 2, slots: 8 }")
        try fleet.waitUntil(["a": 4, "b": 4])
        let slots = try #require(try fleet.places()["a"])
        let keys = try slots.map { slot in
            try #require(
                (0..<200).map { "k\($0)" }.first { key in
                    PoolSlot.name(of: Array(key.utf8), of: "mail", among: 8) == slot
                })
        }
        let client = try fleet.connect(to: "a")
        func submit(_ key: String, _ selector: String) throws -> Int {
            try client.perform("mail", .text(selector), "KEY", .text(key), "x")
        }
        let running = try keys.prefix(2).map { try submit($0, "long") }
        for id in running { try client.waitUntil(id, is: "running") }
        let waiting = try keys.suffix(2).map { key in
            try (0..<20).map { _ in try submit(key, "echo") }
        }
        // One of the two slots is lent. With the other one, the lender would have nothing left.
        func doneCounts() throws -> [Int] {
            try waiting.map { ids in
                try ids.filter { try client.job($0, "state").text == "done" }.count
            }
        }
        try eventually("the jobs of one slot are done") { try doneCounts().sorted() == [0, 20] }
        #expect(try fleet.places().mapValues(\.count) == ["a": 3, "b": 5])
        #expect(try fleet.node("a").daemon.log.contains("is given to b"))
        for id in running { _ = try client.call("CANCEL", .text("\(id)")) }
        try eventually("all are done") { try doneCounts() == [20, 20] }
        #expect(try fleet.sql("SELECT max(attempt) FROM workerd.ended") == "1\n")
        try fleet.waitUntil(["a": 4, "b": 4])
        #expect(try fleet.places()["a"] == slots)
    }

    @Test(.timeLimit(.minutes(3)))
    func `accept jobs by SQL in the slots of their keys`() throws {
        let fleet = try fleet()
        #expect(
            try fleet.sql(
                """
                SELECT workerd.slot_of('mail', 'b', 0), workerd.slot_of('mail', 'c', 0),
                    workerd.slot_of('mail', NULL, 7), workerd.slot_of('other', 'a', 0)
                """) == "mail#1|mail#2|mail#3|other\n")
        _ = try fleet.sql(
            """
            SELECT workerd.perform('mail', 'echo', 'x', key => 'k' || n % 8)
            FROM generate_series(1, 40) AS n
            """)
        _ = try fleet.sql(
            "SELECT workerd.perform('mail', 'echo', 'x') FROM generate_series(1, 40)")
        try eventually("all are done") {
            try fleet.sql("SELECT count(*) FROM workerd.ended WHERE outcome = 1") == "80\n"
        }
        // A key's slot is the same as that of jobs by command.
        _ = try submit(8, to: try fleet.connect(to: "a"))
        try eventually("these too") {
            try fleet.sql("SELECT count(*) FROM workerd.ended WHERE outcome = 1") == "88\n"
        }
        #expect(
            try fleet.sql(
                """
                SELECT count(*) FROM (SELECT order_key FROM workerd.ended
                    WHERE order_key IS NOT NULL GROUP BY order_key
                    HAVING count(DISTINCT thread) = 1 AND count(*) = 6) AS keys
                """) == "8\n")
    }

    @Test(.timeLimit(.minutes(3)))
    func `follow a schedule where the slot of its key is`() throws {
        let fleet = try fleet()
        let client = try fleet.connect(to: "a")
        for key in 0..<8 {
            let answer = try client.call(
                "SCHEDULE", .text("s\(key)"), "EVERY", 100, "KEY", .text("k\(key)"), "mail", "echo",
                "x")
            #expect(answer.text == "OK")
        }
        let rows = try client.call("SCHEDULES").elements ?? []
        #expect(rows.map { $0["thread"]?.text } == Array(repeating: "mail", count: 8))
        try eventually("all make jobs") {
            try fleet.sql(
                "SELECT count(DISTINCT order_key), count(DISTINCT thread) > 2 FROM workerd.ended")
                == "8|t\n"
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `agree on the number of slots, which may change when all have ended`() throws {
        let fleet = try TestFleet("a", threads: "mail: { count: 2 }")
        try fleet.waitUntil(["a": 1])
        let client = try fleet.connect(to: "a")
        #expect(try client.call("PAUSE", "mail").text == "OK")
        let ids = try submit(16, to: client)
        let other = try TestNode(
            "other", in: fleet.database, threads: Self.threads, shares: true)
        defer { other.daemon.kill() }
        try eventually("the other one ends") { !other.daemon.isRunning }
        #expect(other.daemon.log.contains("node a serves mail in 1 slot"))
        try fleet.end("a")
        let spread = try TestNode(
            "spread", in: fleet.database, threads: Self.threads, shares: true)
        defer { spread.daemon.kill() }
        try eventually("it has all slots") { try fleet.places()["spread"]?.count == 4 }
        #expect(try fleet.sql("SELECT count(DISTINCT thread) FROM workerd.jobs") == "4\n")
        let next = try spread.connect()
        #expect(try states(of: ids, next) == ["waiting"])
        #expect(try next.call("RESUME", "mail").text == "OK")
        for id in ids.values.joined() { try next.waitUntil(id, is: "done") }
    }

    @Test(.timeLimit(.minutes(3)))
    func `leave slots that have not ended in order, and all of them to one that has all threads`()
        throws
    {
        let fleet = try TestFleet("a", threads: Self.threads)
        try fleet.waitUntil(["a": 4])
        let client = try fleet.connect(to: "a")
        #expect(try client.call("PAUSE", "mail").text == "OK")
        let ids = try submit(16, to: client)
        try fleet.kill("a")
        let other = try TestNode(
            "other", in: fleet.database, threads: "mail: { count: 2, slots: 2 }", shares: true)
        defer { other.daemon.kill() }
        try eventually("the other one ends") { !other.daemon.isRunning }
        #expect(other.daemon.log.contains("of which a node has some that has not ended in order"))
        // As the node notes it after many jobs.
        _ = try fleet.sql(
            """
            UPDATE workerd.queue_heads AS head SET number = (
                SELECT min(id) FROM workerd.jobs WHERE thread = head.thread AND held = 0)
            """)
        let whole = try TestNode("whole", in: fleet.database, threads: "mail: { count: 2 }")
        defer { whole.daemon.kill() }
        try whole.daemon.waitUntilListening()
        #expect(try fleet.sql("SELECT DISTINCT thread FROM workerd.jobs") == "mail\n")
        let next = try whole.connect()
        #expect(try next.call("RESUME", "mail").text == "OK")
        for id in ids.values.joined() { try next.waitUntil(id, is: "done") }
    }

    @Test(.timeLimit(.minutes(3)))
    func `stop its threads at all of them, and refuse to pause one of several`() throws {
        let fleet = try fleet()
        let client = try fleet.connect(to: "a")
        #expect(try client.call("PAUSE", "mail/1").errorWord == "ERR")
        // Clients do not name slots.
        for name in ["mail#0", "mail#1"] {
            let answer = try client.call("PERFORM", .text(name), "echo", "x")
            #expect(answer.errorWord == "NOTHREAD")
        }
        #expect(try client.call("STOP", "mail").text == "OK")
        let rows = try client.call("THREADS").elements ?? []
        #expect(rows.count == 4)
        #expect(rows.allSatisfy { ["stopping", "stopped"].contains($0["state"]?.text) })
        for key in 0..<4 {
            let answer = try client.call(
                "PERFORM", "mail", "echo", "KEY", .text("k\(key)"), "x")
            #expect(answer.errorWord == "NOTHREAD")
        }
    }
}
