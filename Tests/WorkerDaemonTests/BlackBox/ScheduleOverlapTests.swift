// Proves what becomes of a schedule's moment while a job of it has not ended, and that its jobs may
// have a unique name.

import RESP
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `A schedule whose jobs take long` {
    /// With a store and without one; with a store also so that few jobs are in memory.
    private static let setups = [Setup(threads: "mail: { count: 2 }"), durable]
    private static var durable: Setup {
        var setup = Setup.durable
        setup.threads = "mail: { count: 2 }"
        return setup
    }

    private func leftOut(_ client: TestClient) throws -> Int {
        try client.figure("total_schedule_runs_left_out")
    }

    private func states(_ client: TestClient) throws -> [String] {
        let jobs = try client.call("JOBS").elements ?? []
        return jobs.reversed().compactMap { $0["state"]?.text }
    }

    /// Nil if there is no such job yet.
    private func state(of number: Int, _ client: TestClient) throws -> String? {
        try client.call("JOB", .integer(number))["state"]?.text
    }

    @Test(arguments: setups)
    func `has at most one waiting job unless told otherwise`(setup: Setup) throws {
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let reply = try client.call(
                "SCHEDULE", "beat", "EVERY", 10, "mail", "sleep", "600000")
            #expect(reply.text == "OK")
            try eventually("both threads run one") {
                try states(client) == ["running", "running", "waiting"]
            }
            try eventually("moments are left out") { try leftOut(client) >= 20 }
            #expect(try states(client) == ["running", "running", "waiting"])
            // The waiting one begins, and the next moment makes another one.
            #expect(try client.call("CANCEL", 1).text == "requested")
            try eventually("there is another one") { try state(of: 4, client) == "waiting" }
            let before = try leftOut(client)
            try eventually("moments are left out again") { try leftOut(client) >= before + 20 }
            #expect(try states(client) == ["cancelled", "running", "running", "waiting"])
            let schedule = try client.call("SCHEDULES").elements?.first
            #expect(schedule?["overlap"]?.text == "one")
            #expect(schedule?["last-job"] == .integer(4))
        }
    }

    @Test(arguments: setups)
    func `makes no job while the last one has not ended, with SKIP`(setup: Setup) throws {
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let reply = try client.call(
                "SCHEDULE", "beat", "EVERY", 10, "OVERLAP", "SKIP", "mail", "sleep", "600000")
            #expect(reply.text == "OK")
            for number in 1...3 {
                try eventually("it runs") { try state(of: number, client) == "running" }
                let before = try leftOut(client)
                try eventually("moments are left out") { try leftOut(client) >= before + 20 }
                #expect(try client.figure("total_schedule_jobs") == number)
                #expect(try client.call("CANCEL", .integer(number)).text == "requested")
            }
        }
    }

    @Test(arguments: ["\"memory\"", "\"$DIR/jobs.sqlite\""])
    func `waits for room behind a running job of its own`(store: String) throws {
        var setup = Setup(threads: "mail: { maxQueued: 1 }")
        setup.store = store
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let reply = try client.call(
                "SCHEDULE", "beat", "EVERY", 10, "mail", "sleep", "600000")
            #expect(reply.text == "OK")
            try eventually("its second job waits") { try state(of: 2, client) == "waiting" }
            // In one write, so that the schedule does not come between.
            try client.send(
                TestClient.bytes(["CANCEL", 2])
                    + TestClient.bytes(["PERFORM", "mail", "echo", "x"]))
            #expect(try client.reply().text == "cancelled")
            #expect(try client.reply() == .integer(3))
            try eventually("it waits for room") {
                try client.figure("schedules_without_room") == 1
            }
            #expect(try client.call("CANCEL", 3).text == "cancelled")
            try eventually("there is room") { try state(of: 4, client) == "waiting" }
        }
    }

    @Test func `knows its last job after a crash`() throws {
        let scratch = try Scratch()
        for life in 1...2 {
            let daemon = try TestDaemon(Self.durable, in: scratch, logName: "log\(life)")
            defer { daemon.kill() }
            let client = try daemon.connect()
            if life == 1 {
                let reply = try client.call(
                    "SCHEDULE", "beat", "EVERY", 10, "OVERLAP", "SKIP", "mail", "sleep", "600000")
                #expect(reply.text == "OK")
            }
            try eventually("it runs") { try state(of: 1, client) == "running" }
            let before = try leftOut(client)
            try eventually("moments are left out") { try leftOut(client) >= before + 20 }
            #expect(try states(client) == ["running"])
            try daemon.crash()
        }
    }

    @Test(arguments: setups)
    func `makes a job for each moment with QUEUE`(setup: Setup) throws {
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "mail")
            let reply = try client.call(
                "SCHEDULE", "beat", "EVERY", 10, "OVERLAP", "QUEUE", "mail", "echo", "x")
            #expect(reply.text == "OK")
            try eventually("five jobs wait") { try states(client).count >= 5 }
        }
    }

    @Test(arguments: setups)
    func `makes no second job of a unique name`(setup: Setup) throws {
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            // A client's job of this name stands in for those of the schedule.
            let first = try client.perform("mail", "echo", "UNIQUE", "once", "x")
            let reply = try client.call(
                "SCHEDULE", "beat", "EVERY", 10, "UNIQUE", "once", "mail", "echo", "x")
            #expect(reply.text == "OK")
            try eventually("moments make no job") { try leftOut(client) >= 10 }
            // A listing may show a job that the store is about to refuse.
            try eventually("one job is left") { try client.call("JOBS").elements?.count == 1 }
            #expect(try client.call("RESULT", .integer(first)).text == "x")
            #expect(try client.call("SCHEDULES").elements?.first?["last-job"] == .null)
            // Once it has ended, there is another one.
            let again = try client.call(
                "SCHEDULE", "beat", "EVERY", 10, "UNIQUE", "once", "AGAIN", "mail", "echo", "x")
            #expect(again.text == "OK")
            try eventually("jobs are made") { try client.figure("total_jobs_done") >= 5 }
        }
    }

    @Test func `has a unique name also after a restart`() throws {
        let scratch = try Scratch()
        for life in 1...2 {
            let daemon = try TestDaemon(Self.durable, in: scratch, logName: "log\(life)")
            defer { daemon.kill() }
            let client = try daemon.connect()
            if life == 1 {
                let reply = try client.call(
                    "SCHEDULE", "beat", "EVERY", 10, "UNIQUE", "once", "FOR", 3_600_000, "mail",
                    "echo", "x")
                #expect(reply.text == "OK")
            }
            try eventually("moments make no job") { try leftOut(client) >= 10 }
            #expect(try client.figure("total_schedule_jobs") == (life == 1 ? 1 : 0))
            try daemon.crash()
        }
    }

    @Test func `is configured with what is to become of its moments`() throws {
        var setup = Setup(threads: "mail: { count: 2 }")
        setup.more = """
            schedules: {
                beat: {
                    every: "10ms", thread: "mail", selector: "sleep", payload: "600000",
                    overlap: "skip",
                },
                once: {
                    every: "10ms", thread: "mail", selector: "echo", unique: "n", uniqueFor: "24h",
                    uniqueAgain: false,
                },
            },
            """
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            try eventually("moments are left out") { try leftOut(client) >= 30 }
            #expect(try client.figure("total_schedule_jobs") == 2)
        }
    }
}
