// Jobs that are submitted by SQL: they exist if and only if their transaction commits, and each is
// accepted once.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

@Suite(.enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct SubmitBySQLTests {
    /// A daemon with a database of its own.
    private struct Scene {
        let address: String
        let daemon: TestDaemon
        let client: TestClient

        init(threads: String = "images: {}, mail: { count: 2 }") throws {
            address = try PostgreSQLServer.shared.get().makeDatabase()
            daemon = try TestDaemon(
                Setup(threads: threads, store: "\"\(address)\", stateDirectory: \"$DIR\""),
                in: try Scratch())
            client = try daemon.connect()
        }

        @discardableResult
        func sql(_ text: String) throws -> String {
            try PostgreSQLServer.run(text, at: address)
        }

        /// Submits a job; returns its ticket.
        @discardableResult
        func submit(_ arguments: String) throws -> String {
            String(try sql("SELECT workerd.perform(\(arguments))").dropLast())
        }

        /// How many submitted jobs are not accepted.
        func leftCount() throws -> String { try sql("SELECT count(*) FROM workerd.submitted") }

        /// Waits until a job that gave its payload back is done as often as expected.
        func waitUntilDone(_ payload: String) throws {
            try eventually("\(payload) is done") {
                try sql(
                    "SELECT count(*) FROM workerd.ended WHERE outcome = 1 AND result = '\(payload)'"
                ) == "1\n"
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a job runs if its transaction commits, and not otherwise`() throws {
        let scene = try Scene()
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            try scene.sql(
                "BEGIN; SELECT workerd.perform('images', 'echo', 'undone'); ROLLBACK")
            let ticket = try scene.submit("'images', 'echo', 'kept'")
            try scene.waitUntilDone("kept")
            #expect(try scene.client.job(1, "label").text == ticket)
            #expect(try scene.client.job(1, "attempt").integer == 1)
            #expect(try scene.leftCount() == "0\n")
            #expect(try scene.client.figure("total_jobs_accepted") == 1)
            #expect(try scene.client.figure("total_jobs_submitted_in_store") == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a job has the options that were given`() throws {
        let scene = try Scene()
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            try scene.submit(
                """
                'mail', 'echo', 'later', key => 'k', delay => '1 hour', unique_name => 'n',
                priority => 'low', retries => 3, timeout => '2 s', expire => '3 hours',
                label => 'mine'
                """)
            try eventually("it is accepted") { try scene.leftCount() == "0\n" }
            #expect(
                try scene.sql(
                    """
                    SELECT thread, state, priority, retries, key, round(extract(epoch FROM
                        due - accepted) / 60), round(extract(epoch FROM expires - accepted) / 60)
                    FROM workerd.live_jobs
                    """) == "mail|delayed|low|3|k|60|180\n")
            #expect(try scene.client.job(1, "label").text == "mine")
            #expect(try scene.sql("SELECT timeout_ms FROM workerd.jobs") == "2000\n")
            // Its name is taken: by PERFORM as by SQL.
            #expect(
                try scene.client.call("PERFORM", "mail", "echo", "UNIQUE", "n", "later").integer
                    == 1)
            try scene.submit("'mail', 'echo', 'later', unique_name => 'n'")
            try eventually("the repetition is gone") { try scene.leftCount() == "0\n" }
            #expect(try scene.client.figure("total_jobs_accepted") == 1)
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            ("'a b', 'echo'", "thread must be the name of a thread or pool"),
            ("NULL, 'echo'", "thread must be the name of a thread or pool"),
            ("'images', ''", "selector must be the name of a selector"),
            ("'images', 'echo', NULL::bytea", "payload must not be NULL"),
            ("'images', 'echo', repeat('x', 8388609)", "payload has 8388609 bytes, and limits"),
            ("'images', 'echo', key => ''", "key must have 1 to 256 bytes, and has 0"),
            ("'images', 'echo', unique_name => repeat('n', 257)", "unique_name must have 1 to 256"),
            ("'images', 'echo', priority => 'urgent'", "priority must be high, normal or low"),
            ("'images', 'echo', retries => -1", "retries must be 0 to 1000, and is -1"),
            ("'images', 'echo', delay => '-1 s'", "delay must be 0 ms to 100 years, and is -00:"),
            ("'images', 'echo', timeout => '0 s'", "timeout must be 1 ms to 100 years"),
        ])
    func `bad arguments are refused at once`(arguments: String, message: String) throws {
        let address = try Self.bad.get()
        do {
            try PostgreSQLServer.run("SELECT workerd.perform(\(arguments))", at: address)
            Issue.record("it is accepted")
        } catch {
            #expect("\(error)".contains("ERROR:  \(message)"))
        }
    }

    /// A database with the tables of a daemon that has ended.
    private static let bad: Result<String, any Error> = Result {
        let scene = try Scene()
        try scene.daemon.send(.terminate)
        _ = try scene.daemon.end()
        return scene.address
    }

    @Test(.timeLimit(.minutes(2)))
    func `a job that can't be accepted is set aside, and tried again after a reload`() throws {
        let scene = try Scene()
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            try scene.submit("'nowhere', 'echo', 'a'")
            try scene.submit("'images', 'cat', 'meow'")
            try scene.submit("'images', 'echo', 'good'")
            try scene.waitUntilDone("good")
            #expect(
                try scene.sql("SELECT refusal FROM workerd.submitted ORDER BY place")
                    == "there is no thread 'nowhere'\nthere is no selector 'cat'\n")
            #expect(try scene.client.figure("total_submits_refused_in_store") == 2)
            #expect(scene.daemon.log.contains("there is no thread 'nowhere'"))
            try scene.daemon.rewrite(section: "selectors: { cat: { program: [\"cat\"] } }")
            #expect(try scene.client.call("RELOAD").errorWord == nil)
            try scene.waitUntilDone("meow")
            #expect(try scene.leftCount() == "1\n")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `jobs of a full thread wait, and those of others do not`() throws {
        let scene = try Scene(threads: "images: { maxQueued: 1 }, mail: {}")
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            try scene.client.pauseAndWait("images")
            try scene.sql(
                "SELECT workerd.perform('images', 'echo', n::text) FROM generate_series(1, 4) n")
            try scene.submit("'mail', 'echo', 'other'")
            try scene.waitUntilDone("other")
            #expect(try scene.leftCount() == "3\n")
            _ = try scene.client.call("RESUME", "images")
            for number in 1...4 { try scene.waitUntilDone("\(number)") }
            #expect(
                try scene.sql(
                    """
                    SELECT string_agg(convert_from(result, 'UTF8'), ' ' ORDER BY id)
                    FROM workerd.ended WHERE thread = 'images'
                    """) == "1 2 3 4\n")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `jobs behind thousands of a full thread do not wait`() throws {
        let scene = try Scene(threads: "images: { maxQueued: 1 }, mail: {}")
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            try scene.client.pauseAndWait("images")
            try scene.sql(
                "SELECT workerd.perform('images', 'echo') FROM generate_series(1, 3000)")
            try scene.submit("'mail', 'echo', 'other'")
            try scene.submit("'mail', 'echo', 'too'")
            for payload in ["other", "too"] { try scene.waitUntilDone(payload) }
            #expect(try scene.leftCount() == "2999\n")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["", ", unique_name => 'large'"])
    func `a small job does not overtake a large one that finds no room`(name: String) throws {
        let scene = try Scene(threads: "images: { maxQueuedBytes: 100 }, mail: {}")
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            try scene.client.pauseAndWait("images")
            let calls = ["repeat('a', 60)", "repeat('b', 60)\(name)", "'c'"].map {
                "SELECT workerd.perform('images', 'echo', \($0));"
            }
            try scene.sql("BEGIN; \(calls.joined()) COMMIT")
            try eventually("the first one is accepted") {
                try scene.client.figure("total_jobs_submitted_in_store") > 0
            }
            #expect(try scene.leftCount() == "2\n")
            _ = try scene.client.call("RESUME", "images")
            try scene.waitUntilDone("c")
            #expect(
                try scene.sql(
                    """
                    SELECT string_agg(left(convert_from(result, 'UTF8'), 1), ' ' ORDER BY id)
                    FROM workerd.ended
                    """) == "a b c\n")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a name in an open transaction holds up no other one`() throws {
        let scene = try Scene()
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            let open = try SQLSession(at: scene.address)
            let call = "SELECT workerd.perform('images', 'echo', 'once', unique_name => 'n');"
            try open.send("BEGIN; \(call)")
            try eventually("its transaction is open") {
                try scene.sql(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE state = 'idle in transaction' AND query LIKE '%perform%'
                    """) == "1\n"
            }
            try scene.sql(call)
            try scene.waitUntilDone("once")
            try open.send("SELECT workerd.perform('images', 'echo', 'too'); COMMIT;")
            try open.end()
            try scene.waitUntilDone("too")
            try eventually("nothing is left") { try scene.leftCount() == "0\n" }
            #expect(try scene.client.figure("total_jobs_accepted") == 2)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a role needs the right to execute perform, and no other`() throws {
        let scene = try Scene()
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            let role = "app_\(ContinuousClock.now.hashValue.magnitude)"
            try scene.sql("CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA workerd TO \(role)")
            let address = scene.address.replacing("workerd@", with: "\(role)@")
            let call = "SELECT workerd.perform('images', 'echo', 'by a role')"
            #expect(throws: Unexpected.self) { try PostgreSQLServer.run(call, at: address) }
            try scene.sql("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA workerd TO \(role)")
            try PostgreSQLServer.run(call, at: address)
            try scene.waitUntilDone("by a role")
            #expect(throws: Unexpected.self) {
                try PostgreSQLServer.run("SELECT * FROM workerd.submitted", at: address)
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `of a thousand transactions, each committed one has its job once`() throws {
        let scene = try Scene()
        var daemon = scene.daemon
        defer { daemon.kill() }
        var random = SeededRandom(seed: UInt64(askedNumber("SEED") ?? 7))
        var committed: Set<String> = []
        let scripts = (0..<8).map { connection in
            (0..<125).map { number in
                let name = "\(connection)-\(number)"
                let isKept = !random.chance(30)
                if isKept { committed.insert(name) }
                return "BEGIN; SELECT workerd.perform('mail', 'echo', '\(name)'); "
                    + (isKept ? "COMMIT;" : "ROLLBACK;")
            }.joined(separator: "\n")
        }
        let sessions = try scripts.map { script in
            let session = try SQLSession(at: scene.address)
            try session.send(script)
            return session
        }
        try eventually("some are done") {
            try scene.sql("SELECT count(*) > 50 FROM workerd.ended") == "t\n"
        }
        try daemon.crash()
        daemon = try TestDaemon(
            arguments: ["--config", daemon.configurationFile], in: daemon.scratch, logName: "log2")
        for session in sessions { try session.end() }
        try daemon.waitUntilListening()
        try eventually("all have run") {
            try scene.sql(
                """
                SELECT (SELECT count(*) FROM workerd.submitted)
                    + (SELECT count(*) FROM workerd.jobs)
                """) == "0\n"
        }
        let found = try scene.sql("SELECT convert_from(result, 'UTF8') FROM workerd.ended")
            .split(separator: "\n").map(String.init)
        #expect(found.count == committed.count)
        #expect(Set(found) == committed)
    }
}
