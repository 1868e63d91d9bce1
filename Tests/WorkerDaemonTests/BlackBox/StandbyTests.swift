// Two daemons with one database, as on two machines: one has the jobs, the other one waits.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

@Suite(
    .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `Two daemons with one database` {
    /// The two daemons, of which the second one waits.
    private struct Pair {
        let first: TestDaemon
        let second: TestDaemon
        let address: String

        /// - Parameter ahead: how many seconds their clocks are ahead.
        init(ahead: [Int] = [0, 0]) throws {
            address = try PostgreSQLServer.shared.get().makeDatabase()
            first = try Self.daemon(address, ahead: ahead[0])
            try first.waitUntilListening()
            let second = try Self.daemon(address, ahead: ahead[1])
            self.second = second
            try eventually("the second daemon waits") {
                second.log.contains("waits to take it over")
            }
        }

        private static let clockShim = compiledShim("clock-ahead")

        static func daemon(_ address: String, ahead: Int = 0) throws -> TestDaemon {
            let (scratch, setup) = (
                try Scratch(), Setup(store: "\"\(address)\", stateDirectory: \"$DIR\"")
            )
            try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
            return try TestDaemon(
                arguments: ["--config", scratch.file("workerd.json5")], in: scratch,
                environment: ahead == 0
                    ? [:] : ["LD_PRELOAD": try clockShim.get(), "CLOCK_AHEAD": "\(ahead)"])
        }
    }

    /// Both go by the clock of the database's server.
    @Test(.timeLimit(.minutes(2)), arguments: [[3_660, 0], [0, 3_660]])
    func `their clocks may be an hour apart`(ahead: [Int]) throws {
        let pair = try Pair(ahead: ahead)
        defer { pair.second.kill() }
        let client = try pair.first.connect()
        func microseconds(_ client: TestClient) throws -> Int64 {
            let text = try PostgreSQLServer.run(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint", at: pair.address
            )
            return Int64(try client.figure("server_time_usec"))
                - (Int64(text.dropLast()) ?? .min)
        }
        #expect(abs(try microseconds(client)) < 30_000_000)
        _ = try client.call("SCHEDULE", "beat", "EVERY", 100, "images", "echo", "beat")
        let soon = try client.perform("images", "echo", "DELAY", 1, "soon")
        try client.waitUntil(soon, is: "done")
        let later = try client.perform("images", "echo", "DELAY", 1_500, "later")
        let muchLater = try client.perform("images", "echo", "DELAY", 3_600_000, "much later")
        try eventually("the schedule has made jobs") {
            try client.figure("total_schedule_jobs") > 2
        }
        try pair.first.send(.kill)
        try pair.second.waitUntilListening()

        let next = try pair.second.connect()
        #expect(abs(try microseconds(next)) < 30_000_000)
        try next.waitUntil(later, is: "done")
        #expect(try next.job(muchLater, "state").text == "delayed")
        try eventually("the schedule goes on") { try next.figure("total_schedule_jobs") > 2 }
        // Some of the takeover, and none of an hour.
        #expect(try next.figure("total_schedule_runs_left_out") < 1_000)
    }

    @Test(.timeLimit(.minutes(2)))
    func `the second has all jobs when the first is killed`() throws {
        let pair = try Pair()
        defer { pair.second.kill() }
        let client = try pair.first.connect()
        let done = try client.perform("images", "echo", "seen")
        try client.waitUntil(done, is: "done")
        let running = try client.perform("images", "sleep", "100000")
        try client.waitUntil(running, is: "running")
        // Its beginning lasts, so the database has it.
        try eventually("the beginning is in the database") {
            try PostgreSQLServer.run(
                "SELECT attempt FROM workerd.jobs WHERE id = \(running)",
                at: pair.address
            ).hasPrefix("1")
        }
        let waiting = try client.perform("images", "echo", "later")
        let delayed = try client.perform("images", "echo", "DELAY", 3_600_000, "much later")
        try pair.first.send(.kill)
        try PostgreSQLServer.run(
            "SELECT workerd.perform('images', 'echo', 'by SQL')", at: pair.address)
        try pair.second.waitUntilListening()

        let next = try pair.second.connect()
        try next.waitUntil(running, is: "running")
        #expect(try next.job(running, "attempt").integer == 2)
        #expect(try next.job(waiting, "state").text == "waiting")
        #expect(try next.job(delayed, "state").text == "delayed")
        #expect(try next.job(done, "state").text == "done")
        _ = try next.call("CANCEL", .integer(running))
        // It may have begun in the first one, whose notes are not here.
        try next.waitUntil(waiting, is: "done")
        #expect(try next.job(waiting, "attempt").integer == 2)
        try eventually("the job that was submitted by SQL is done") {
            try PostgreSQLServer.run(
                "SELECT count(*) FROM workerd.ended WHERE result = 'by SQL'", at: pair.address
            ) == "1\n"
        }
        let new = try next.perform("images", "echo", "new")
        #expect(new > delayed)
    }

    @Test(.timeLimit(.minutes(2)))
    func `the second waits while the first one makes the tables`() throws {
        let address = try PostgreSQLServer.shared.get().makeDatabase()
        // As a daemon within the transaction that makes them.
        let first = try SQLSession(at: address)
        try first.run("SELECT pg_advisory_lock(x'776B7264'::int, 1)")
        let second = try Pair.daemon(address)
        defer { second.kill() }
        try eventually("the second daemon waits") { second.log.contains("waits to take it over") }
        func latestQuery() throws -> String {
            try PostgreSQLServer.run(
                """
                SELECT max(query_start) FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE 'SELECT to_regclass%'
                """, at: address)
        }
        let earlier = try latestQuery()
        try eventually("it has looked, and lives") { try latestQuery() > earlier }
        try first.end()
        try second.waitUntilListening()
        #expect(try second.connect().perform("images", "echo", "x") > 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `the second takes over from a stopped one, which then ends`() throws {
        let pair = try Pair()
        defer { pair.second.kill() }
        try pair.first.send(.stop)
        try pair.second.waitUntilListening()
        try pair.first.send(.continue)
        #expect(try pair.first.end() == "exit status 69")
        #expect(pair.first.log.contains("another daemon has taken the seat"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `one whose doors another one has opens them at the takeover`() throws {
        let address = try PostgreSQLServer.shared.get().makeDatabase()
        let setup = Setup(store: "\"\(address)\", stateDirectory: \"$DIR\"")
        let first = try TestDaemon(setup, in: try Scratch())
        defer { first.kill() }
        let scratch = try Scratch()
        let text = setup.text(directory: scratch.path)
            .replacing(scratch.file("s"), with: first.socket)
        try scratch.write(text, to: "workerd.json5")
        let second = try TestDaemon(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch)
        defer { second.kill() }
        try eventually("the second waits without doors") {
            second.log.contains("no clients are passed on meanwhile: can't listen")
        }
        #expect(try first.connect().perform("images", "echo", "still here") == 1)
        try first.crash()
        try eventually("the second listens") {
            second.log.contains("listening on \(first.socket)\n")
        }
        let client = try first.connect()
        #expect(try client.call("CLIENT", "ID").integer == 1)
    }

    @Test(.timeLimit(.minutes(2)))
    func `one that waits ends when it is told to`() throws {
        let pair = try Pair()
        defer { pair.first.kill() }
        try pair.second.send(.terminate)
        #expect(try pair.second.end() == "exit status 0")
        #expect(try pair.first.connect().perform("images", "echo", "still here") == 1)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a worker's job is its own after two takeovers`() throws {
        let address = try PostgreSQLServer.shared.get().makeDatabase()
        let setup = Setup(
            threads: "images: {}", selectors: "resize: { worker: true }",
            store: "\"\(address)\", stateDirectory: \"$DIR\"")
        var daemon = try TestDaemon(setup, in: try Scratch())
        defer { daemon.kill() }
        let client = try daemon.connect()
        let id = try client.perform("images", "resize", "held")
        let taken = try Taken.take(client, "resize")
        for _ in 1...2 {
            try eventually("the beginning is in the database") {
                try PostgreSQLServer.run(
                    """
                    SELECT j.attempt FROM workerd.jobs j JOIN workerd.holders h ON h.job = j.id
                    WHERE j.started_at IS NOT NULL
                    """, at: address) == "1\n"
            }
            try daemon.crash()
            daemon = try TestDaemon(setup, in: try Scratch())
        }
        let next = try daemon.connect()
        #expect(try taken.ended(next, "resized").text == "OK")
        try next.waitUntil(id, is: "done")
        #expect(try next.job(id, "attempt").integer == 1)
    }
}
