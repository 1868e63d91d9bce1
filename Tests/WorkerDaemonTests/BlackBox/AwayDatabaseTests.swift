// A database server that does not answer, dies or ends a session while jobs are on their way to it:
// clients are told so in time, no job begins twice or is lost, and all goes on by itself.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

@Suite(.enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct AwayDatabaseTests {
    /// A daemon whose database is on a server of its own.
    private struct Scene {
        let server: PostgreSQLServer
        let address: String
        let daemon: TestDaemon
        let client: TestClient

        /// - Parameter prepare: changes the server before the daemon connects.
        init(
            selectors: String = "resize: { worker: true }",
            _ prepare: (PostgreSQLServer) throws -> Void = { _ in }
        ) throws {
            server = try PostgreSQLServer()
            try prepare(server)
            address = try server.makeDatabase()
            daemon = try TestDaemon(
                Setup(
                    threads: "images: {}, mail: {}", selectors: selectors,
                    listen: Setup.http.listen, store: "\"\(address)\", stateDirectory: \"$DIR\""),
                in: try Scratch())
            client = try daemon.connect()
        }

        @discardableResult
        func sql(_ text: String) throws -> String {
            try PostgreSQLServer.run(text, at: address)
        }

        /// The number of jobs with a payload that the database has, ended or not.
        func count(of payload: String) throws -> String {
            try sql(
                """
                SELECT (SELECT count(*) FROM workerd.jobs WHERE payload = '\(payload)')
                    + (SELECT count(*) FROM workerd.ended WHERE result = '\(payload)')
                """)
        }

        /// Has each transaction that accepts the job of a payload wait, as long as there is a row
        /// in the table `public.held`.
        func hold(_ payload: String) throws {
            try sql(
                """
                CREATE TABLE public.held (payload text);
                INSERT INTO public.held VALUES ('\(payload)');
                CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    WHILE EXISTS (SELECT FROM public.held
                            WHERE payload = convert_from(NEW.payload, 'UTF8')) LOOP
                        PERFORM pg_sleep(0.005);
                    END LOOP;
                    RETURN NULL;
                END $$;
                CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON workerd.jobs
                    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.hold()
                """)
        }

        /// Waits until a session of the daemon waits within its COMMIT.
        func waitForCommit(_ condition: String = "true") throws {
            try eventually("a COMMIT is under way") {
                try sql(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE query = 'COMMIT' AND state = 'active' AND \(condition)
                    """) == "1\n"
            }
        }

        static let endSession = """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'workerd' AND datname = current_database()
            """
    }

    @Test(.timeLimit(.minutes(2)))
    func `while the server stands still, nothing begins and clients are told in time`() throws {
        let scene = try Scene()
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            let (client, other) = (scene.client, try scene.daemon.connect())
            let first = try client.perform("images", "sleep", "VOLATILE", "100000")
            try client.waitUntil(first, is: "running")
            let waiting = try client.perform("images", "echo", "waiting")
            let forWorker = try client.perform("mail", "resize", "for a worker")
            try eventually("its thread has it") {
                try client.call("JOB", .integer(forWorker))["waits-for"]?.text == "worker resize"
            }
            try scene.server.control("freeze")
            defer { try? scene.server.control("thaw") }
            try client.send("PERFORM", "images", "echo", "refused")
            // Meanwhile others are served.
            #expect(try other.call("PING").text == "PONG")
            #expect(try other.job(waiting, "state").text == "waiting")
            let refusal = try client.reply()
            #expect(refusal.errorWord == "BUSY")
            #expect("\(refusal)".contains("the database server has not answered for 5"))
            #expect(try client.call("PERFORM", "images", "echo", "at once").errorWord == "BUSY")
            // By now nothing may begin any more.
            _ = try other.call("CANCEL", .integer(first))
            try other.waitUntil(first, is: "cancelled")
            #expect(try other.call("TAKE", "FROM", "resize") == .null)
            #expect(try other.job(waiting, "state").text == "waiting")
            #expect(try other.call("PERFORM", "images", "echo", "VOLATILE", "x").integer != nil)

            try scene.server.control("thaw")
            try other.waitUntil(waiting, is: "done")
            #expect(try other.job(waiting, "attempt").integer == 1)
            let taken = try Taken.take(other, "resize")
            #expect(taken.id == forWorker)
            #expect(taken.attempt == 1)
            #expect(try taken.ended(other, "").text == "OK")
            // Its transaction was committed in the end, and its job is dropped.
            try eventually("jobs are accepted again") {
                try client.call("PERFORM", "images", "echo", "again").integer != nil
            }
            #expect(try scene.count(of: "refused") == "0\n")
            #expect(try scene.count(of: "at once") == "0\n")
            #expect(try client.figure("miscounts") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["finish", "kill"])
    func `a program is killed in time where its selector says so, and runs again`(
        rule: String
    ) throws {
        let script = "echo $$; until [ -e $0 ] || [ $WORKERD_ATTEMPT = 2 ]; do sleep 0.1; done"
        let scene = try Scene(
            selectors: """
                print: {
                    program: ["/bin/sh", "-c", "\(script)", "$DIR/end"], whenStoreAway: "\(rule)",
                }
                """)
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            let client = scene.client
            let id = try client.perform("images", "print", "once")
            let behind = try client.perform("images", "echo", "behind")
            var process = 0
            try eventually("it has begun") {
                let output = try client.call("OUTPUT", .integer(id))["output"]?.text ?? ""
                process = output.split(separator: "\n").first.flatMap { Int($0) } ?? 0
                return process > 0
            }
            try scene.server.control("freeze")
            defer { try? scene.server.control("thaw") }
            if rule == "kill" {
                try client.waitUntil(id, is: "waiting")
                #expect(!isRunning(process))
                #expect(try client.job(id, "attempt").integer == 1)
            } else {
                #expect(try client.call("PERFORM", "images", "echo", "x").errorWord == "BUSY")
                #expect(try client.job(id, "state").text == "running")
                try scene.daemon.scratch.write("", to: "end")
            }
            #expect(try client.job(behind, "state").text == "waiting")
            try scene.server.control("thaw")
            try client.waitUntil(behind, is: "done")
            #expect(try client.job(id, "state").text == "done")
            #expect(try client.job(id, "attempt").integer == (rule == "kill" ? 2 : 1))
            #expect(try client.figure("miscounts") == 0)
        }
    }

    /// Else a daemon that takes over would count fewer attempts than have begun.
    @Test(.timeLimit(.minutes(2)))
    func `a retry begins when the database has the attempt before it`() throws {
        let script = """
            echo $WORKERD_ATTEMPT >>$0/runs; [ $WORKERD_ATTEMPT = 1 ] || exit 0
            until [ -e $0/end ]; do sleep 0.1; done; exit 1
            """
        let scene = try Scene(
            selectors: """
                fails: {
                    program: ["/bin/sh", "-c", "\(script.replacing("\n", with: "; "))", "$DIR"],
                    retries: 1,
                }
                """)
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            let (client, scratch) = (scene.client, scene.daemon.scratch)
            let id = try client.perform("images", "fails", "")
            try client.waitUntil(id, is: "running")
            try scene.server.control("freeze")
            defer { try? scene.server.control("thaw") }
            try scratch.write("", to: "end")
            try client.waitUntil(id, is: "delayed")
            // Refused after five seconds: the pause before a first retry has passed.
            #expect(try client.call("PERFORM", "mail", "echo", "x").errorWord == "BUSY")
            #expect(scratch.read("runs") == "1\n")
            try scene.server.control("thaw")
            try client.waitUntil(id, is: "done")
            #expect(scratch.read("runs") == "1\n2\n")
            #expect(try client.figure("miscounts") == 0)
        }
    }

    /// A schedule that may be kept can't be refused; the jobs behind it can.
    @Test(.timeLimit(.minutes(2)))
    func `clients are told in time behind a schedule that is being kept`() throws {
        let scene = try Scene()
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            let (client, other) = (scene.client, try scene.daemon.connect())
            try scene.hold("held")
            try scene.sql(
                """
                CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON workerd.schedules
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.hold()
                """)
            try client.send("SCHEDULE", "s", "EVERY", 3_600_000, "images", "echo", "held")
            try scene.waitForCommit()
            #expect(try other.call("PERFORM", "images", "echo", "x").errorWord == "BUSY")
            try scene.sql("DELETE FROM public.held")
            #expect(try client.reply().text == "OK")
            #expect(try scene.count(of: "x") == "0\n")
            #expect(try other.call("PERFORM", "images", "echo", "WAIT", "y").text == "y")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["/api/nodes", "/metrics"])
    func `while the server stands still, answers from memory wait for no other`(
        path: String
    ) throws {
        let scene = try Scene()
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            let (slow, other) = (try scene.daemon.connectHTTP(), try scene.daemon.connectHTTP())
            try scene.server.control("freeze")
            do {
                defer { try? scene.server.control("thaw") }
                // Both are executed in one go.
                try slow.raw.send(text: slow.request("GET", "/readyz") + slow.request("GET", path))
                #expect(try slow.response().text == "ok\n")
                #expect(try other.get("/api/threads").status == 200)
            }
            // It is there only now that the server goes on.
            let response = try slow.response()
            #expect(response.status == 200)
            #expect(!response.text.contains("workerd_store_writable 0"))
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `a transaction that dies with its session or its server is made anew`(
        isServer: Bool
    ) throws {
        let scene = try Scene()
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            try scene.hold("held")
            try scene.client.send("PERFORM", "images", "echo", "held")
            try scene.waitForCommit()
            if isServer {
                try scene.server.control("restart")
                try scene.sql("DELETE FROM public.held")
            } else {
                try scene.sql("DELETE FROM public.held; \(Scene.endSession)")
            }
            let id = try #require(try scene.client.reply().integer)
            try scene.client.waitUntil(id, is: "done")
            #expect(try scene.client.job(id, "attempt").integer == 1)
            #expect(try scene.count(of: "held") == "1\n")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a worker is told that its end is kept once the database has it`() throws {
        let scene = try Scene()
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            let (worker, other) = (scene.client, try scene.daemon.connect())
            _ = try worker.perform("mail", "resize", "for a worker")
            let taken = try Taken.take(worker, "resize")
            try scene.server.control("freeze")
            defer { try? scene.server.control("thaw") }
            // Twice: the answer to the first may be lost.
            try taken.sendEnd(worker, "resized")
            try eventually("it has ended") { try other.figure("total_jobs_done") == 1 }
            try taken.sendEnd(other, "resized")
            #expect(try scene.daemon.connect().call("PING").text == "PONG")
            // A daemon of another machine would go on without the attempts of this one.
            try scene.daemon.crash()
            #expect((try? worker.reply()) == nil)
            #expect((try? other.reply()) == nil)
        }
    }

    /// Has transactions that accept the payload `lost` wait for another server, when they are
    /// committed here.
    private static func replicate(_ server: PostgreSQLServer) throws {
        try server.run("ALTER SYSTEM SET synchronous_standby_names = 'none_there'", in: "postgres")
        try server.run("ALTER SYSTEM SET synchronous_commit = local", in: "postgres")
        try server.run("SELECT pg_reload_conf()", in: "postgres")
    }

    private static let waitForReplica = """
        CREATE FUNCTION public.replicate() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.payload = 'lost' THEN
                PERFORM set_config('synchronous_commit', 'on', true);
            END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER replicate BEFORE INSERT ON workerd.jobs
            FOR EACH ROW EXECUTE FUNCTION public.replicate()
        """

    @Test(.timeLimit(.minutes(2)))
    func `a committed transaction whose answer is lost counts`() throws {
        let scene = try Scene(Self.replicate)
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            try scene.sql(Self.waitForReplica)
            try scene.client.send("PERFORM", "images", "echo", "UNIQUE", "name", "lost")
            try scene.waitForCommit("wait_event = 'SyncRep'")
            try scene.sql(Scene.endSession)
            let id = try #require(try scene.client.reply().integer)
            try scene.client.waitUntil(id, is: "done")
            #expect(
                try scene.client.call("PERFORM", "images", "echo", "UNIQUE", "name", "lost").integer
                    == id)
            #expect(try scene.count(of: "lost") == "1\n")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a refused job whose transaction is committed later never runs`() throws {
        let scene = try Scene(Self.replicate)
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            try scene.sql(Self.waitForReplica)
            let client = scene.client
            #expect(
                try client.call("PERFORM", "images", "echo", "UNIQUE", "name", "lost").errorWord
                    == "BUSY")
            try scene.server.run(
                "ALTER SYSTEM RESET synchronous_standby_names", in: "postgres")
            try scene.server.run("SELECT pg_reload_conf()", in: "postgres")
            var next: Int?
            try eventually("jobs are accepted again") {
                next = try client.call("PERFORM", "images", "echo", "next").integer
                return next != nil
            }
            #expect(try scene.count(of: "lost") == "0\n")
            let again = try client.perform("images", "echo", "UNIQUE", "name", "lost")
            #expect(again > (next ?? 0))
            try client.waitUntil(again, is: "done")
            #expect(try scene.count(of: "lost") == "1\n")
            #expect(try client.figure("miscounts") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a submitted job whose transaction is committed late is accepted once`() throws {
        let scene = try Scene(Self.replicate)
        defer { scene.daemon.kill() }
        try scene.daemon.check {
            try scene.sql(Self.waitForReplica)
            try scene.sql("SELECT workerd.perform('images', 'echo', 'lost')")
            try scene.waitForCommit("wait_event = 'SyncRep'")
            // Refused at the end of the time for which jobs wait.
            #expect(
                try scene.client.call("PERFORM", "images", "echo", "meanwhile").errorWord == "BUSY")
            try scene.server.run(
                "ALTER SYSTEM RESET synchronous_standby_names", in: "postgres")
            try scene.server.run("SELECT pg_reload_conf()", in: "postgres")
            try eventually("it is accepted, and done") {
                try scene.sql("SELECT count(*) FROM workerd.ended WHERE result = 'lost'") == "1\n"
            }
            #expect(try scene.count(of: "lost") == "1\n")
            #expect(try scene.sql("SELECT count(*) FROM workerd.submitted") == "0\n")
            #expect(try scene.client.figure("miscounts") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a database that has gone back in time is refused`() throws {
        let scene = try Scene()
        defer { scene.daemon.kill() }
        _ = try scene.client.perform("images", "echo", "before")
        try scene.sql("UPDATE workerd.batches SET number = number - 100; \(Scene.endSession)")
        #expect(try scene.daemon.end() == "exit status 69")
        #expect(scene.daemon.log.contains("the database is an older state of itself"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `a daemon whose epoch is over writes nothing more and ends`() throws {
        let address = try PostgreSQLServer.shared.get().makeDatabase()
        let daemon = try TestDaemon(
            Setup(store: "\"\(address)\", stateDirectory: \"$DIR\""), in: try Scratch())
        defer { daemon.kill() }
        let client = try daemon.connect()
        _ = try client.perform("images", "echo", "before")
        try PostgreSQLServer.run("UPDATE workerd.seats SET epoch = epoch + 1", at: address)
        try client.send("PERFORM", "images", "echo", "after")
        #expect(try daemon.end() == "exit status 69")
        #expect(daemon.log.contains("another daemon has taken the seat"))
        #expect(
            try PostgreSQLServer.run(
                "SELECT count(*) FROM workerd.jobs WHERE payload = 'after'", at: address) == "0\n")
    }
}
