// A schedule that is given again for a thread or slot of another node passes to that node.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

@Suite(
    .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `A schedule that passes to another node` {
    /// Gives a schedule of this name.
    private func give(
        _ client: TestClient, every milliseconds: Int = 50, key: String = "k",
        _ thread: String
    ) throws {
        let answer = try client.call(
            "SCHEDULE", "beat", "EVERY", .integer(milliseconds), "KEY", .text(key), .text(thread),
            "echo", "x")
        #expect(answer.text == "OK")
    }

    /// How many jobs a thread or slot has had.
    private func jobCount(_ fleet: TestFleet, _ thread: String) throws -> Int {
        let text = try fleet.sql(
            """
            SELECT (SELECT count(*) FROM workerd.jobs WHERE thread = '\(thread)')
                + (SELECT count(*) FROM workerd.ended WHERE thread = '\(thread)')
            """)
        return Int(text.filter(\.isNumber)) ?? 0
    }

    /// Waits until a thread has had more jobs than now.
    private func awaitJobs(_ fleet: TestFleet, _ thread: String) throws {
        let before = try jobCount(fleet, thread)
        try eventually("the schedule makes jobs for \(thread)") {
            try jobCount(fleet, thread) > before + 10
        }
    }

    /// The threads that the nodes show for the schedule.
    private func shown(_ fleet: TestFleet) throws -> [[String?]] {
        try ["a", "b"].map { name in
            try (fleet.connect(to: name).call("SCHEDULES").elements ?? []).map {
                $0["thread"]?.text
            }
        }
    }

    /// Has a schedule pass to another node and back, and ends it.
    private func pass(
        _ client: TestClient, _ fleet: TestFleet, _ threads: (String, String),
        _ give: (String) throws -> Void
    ) throws {
        for (from, to) in [threads, (threads.1, threads.0)] {
            try give(from)
            try awaitJobs(fleet, from)
            try give(to)
            let count = try jobCount(fleet, from)
            try awaitJobs(fleet, to)
            #expect(try jobCount(fleet, from) == count)
        }
        try eventually("both nodes have forgotten it once") {
            try ["a", "b"].allSatisfy {
                try fleet.node($0).daemon.log.contains("is followed here no more")
            }
        }
        #expect(try client.call("UNSCHEDULE", "beat") == .integer(1))
        #expect(try client.call("UNSCHEDULE", "beat") == .integer(0))
        #expect(try shown(fleet) == [[], []])
    }

    /// A thread of each of two nodes.
    private func threads(_ fleet: TestFleet) throws -> (String, String) {
        try fleet.waitUntil(["a": 2, "b": 2])
        let places = try fleet.places()
        return (try #require(places["a"]?.first), try #require(places["b"]?.first))
    }

    @Test(.timeLimit(.minutes(3)))
    func `makes jobs there only`() throws {
        let fleet = try TestFleet("a", "b")
        let (mine, other) = try threads(fleet)
        let client = try fleet.connect(to: "a")
        try pass(client, fleet, (other, mine)) { try give(client, $0) }
    }

    @Test(.timeLimit(.minutes(3)))
    func `does so in a pool with slots, by its key`() throws {
        let fleet = try TestFleet("a", "b", threads: "mail: { count: 2, slots: 4 }")
        let (mine, other) = try threads(fleet)
        let client = try fleet.connect(to: "a")
        // The slots of some keys.
        var keys: [String: String] = [:]
        for key in (0..<32).map({ "k\($0)" }) {
            try give(client, every: 3_600_000, key: key, "mail")
            let slot = try fleet.sql("SELECT thread FROM workerd.schedules")
            keys[String(slot.dropLast())] = key
        }
        let slots = (try #require(keys[mine]), try #require(keys[other]))
        try pass(client, fleet, (mine, other)) { slot in
            try give(client, key: slot == mine ? slots.0 : slots.1, "mail")
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `is shown at its owner only, and ends, also long before it is due`() throws {
        let fleet = try TestFleet("a", "b")
        let (mine, other) = try threads(fleet)
        for name in ["a", "b"] {
            let client = try fleet.connect(to: name)
            try give(client, every: 3_600_000, other)
            try give(client, every: 3_600_000, mine)
            #expect(try client.call("UNSCHEDULE", "beat") == .integer(1))
            #expect(try shown(fleet) == [[], []])
            try give(client, every: 3_600_000, mine)
            try give(client, every: 3_600_000, other)
            try eventually("each node shows the new one") {
                try shown(fleet) == [[other], [other]]
            }
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `goes on there from where it is`() throws {
        let fleet = try TestFleet("a", "b")
        let (mine, other) = try threads(fleet)
        let client = try fleet.connect(to: "a")
        func shown(_ word: String) throws -> Int? {
            try client.call("SCHEDULES").elements?.first?[word]?.integer
        }
        try give(client, every: 3_600_000, other)
        try eventually("it is shown") { try shown("next-due-at") != nil }
        let due = try shown("next-due-at")
        // Otherwise the new one would begin in the same millisecond.
        while WallClock.unixMilliseconds() + 3_600_000 <= due ?? 0 { SystemThread.yield() }
        try give(client, every: 3_600_000, mine)
        try eventually("it is due when it was") { try shown("next-due-at") == due }
    }

    @Test(.timeLimit(.minutes(3)))
    func `stays as it is if it is in the configuration, at either node`() throws {
        let fleet = try TestFleet(
            "a", "b",
            more: "schedules: { beat: { every: \"1h\", thread: \"alpha\", selector: \"echo\" } },")
        let (mine, other) = try threads(fleet)
        try eventually("it is followed") { try shown(fleet) == [["alpha"], ["alpha"]] }
        for thread in [mine, other] {
            let answer = try fleet.connect(to: "a").call(
                "SCHEDULE", "beat", "EVERY", 50, .text(thread), "echo", "x")
            #expect(answer.errorMessage?.contains("is in the configuration") == true)
        }
        #expect(try fleet.sql("SELECT from_command, thread FROM workerd.schedules") == "f|alpha\n")
    }

    /// Nodes `a` and `b`; only `b` has the thread `omega`, with a schedule.
    private func fleetOfOmega(more: String = "") throws -> TestFleet {
        let fleet = try TestFleet("a", more: more)
        fleet.configured = "omega: {}"
        try fleet.start("b")
        try fleet.waitUntil(["a": 4, "b": 1])
        try give(fleet.connect(to: "b"), every: 3_600_000, "omega")
        return fleet
    }

    private func storedCount(_ fleet: TestFleet) throws -> String {
        try fleet.sql("SELECT count(*) FROM workerd.schedules")
    }

    @Test(.timeLimit(.minutes(3)))
    func `ends also while its thread has no owner`() throws {
        let fleet = try fleetOfOmega()
        let client = try fleet.connect(to: "a")
        try fleet.kill("b")
        try eventually("it is gone") {
            let answer = try client.call("UNSCHEDULE", "beat")
            return try answer == .integer(1) && storedCount(fleet) == "0\n"
        }
        #expect(try client.call("UNSCHEDULE", "beat") == .integer(0))
    }

    @Test(.timeLimit(.minutes(3)))
    func `stays with its owner if the user may not touch the thread there`() throws {
        let scratch = try Scratch()
        let ann = TestUser("ann", ["submit", "observe"], "threads: [\"alpha\"]")
        try scratch.writeUsers([ann])
        let fleet = try fleetOfOmega(more: "users: \"\(scratch.file("users"))\",")
        let client = try fleet.connect(to: "a")
        #expect(try client.call("AUTH", .text(ann.name), .text(ann.secret)).text == "OK")
        let given = try client.call("SCHEDULE", "beat", "EVERY", 50, "alpha", "echo", "x")
        #expect(given.errorWord == "NOPERM")
        #expect(try client.call("UNSCHEDULE", "beat").errorWord == "NOPERM")
        #expect(try fleet.sql("SELECT thread FROM workerd.schedules") == "omega\n")
        #expect(
            try client.call("SCHEDULE", "other", "EVERY", 50, "alpha", "echo", "x").text == "OK")
        #expect(try client.call("UNSCHEDULE", "other") == .integer(1))
    }
}
