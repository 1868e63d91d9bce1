// A standby that is promoted in place of a database server: the jobs go on there, missing ones are
// told, no number is given twice, and nothing is written to the old primary any more.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

@Suite(
    .serialized,
    .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct PromotionTests {
    /// The least distance between the numbers of two timelines.
    private static let leap = 1_000_000_000

    /// A daemon whose database is on a server with a standby.
    private final class Scene {
        let primary: PostgreSQLServer
        let standby: PostgreSQLStandby
        let scratch: Scratch
        let setup: Setup
        private(set) var daemon: TestDaemon
        private var startCount = 1

        /// - Parameter isSynchronous: whether each commit waits for the standby.
        init(isSynchronous: Bool) throws {
            scratch = try Scratch()
            primary = try PostgreSQLServer()
            try primary.run("CREATE DATABASE jobs", in: "postgres")
            standby = try primary.standby()
            if isSynchronous { try Self.haveWait(primary) }
            setup = Self.setup(standby.sharedAddress(of: "jobs"))
            daemon = try TestDaemon(setup, in: scratch)
        }

        static func setup(_ address: String) -> Setup {
            Setup(store: "\"\(address)\", stateDirectory: \"$DIR\"")
        }

        private static func haveWait(_ primary: PostgreSQLServer) throws {
            try primary.run(
                "ALTER SYSTEM SET synchronous_standby_names = '\(PostgreSQLStandby.name)'",
                in: "postgres")
            try primary.run("SELECT pg_reload_conf()", in: "postgres")
            try eventually("the standby is synchronous") {
                try primary.run("SELECT sync_state FROM pg_stat_replication", in: "postgres")
                    == "sync\n"
            }
        }

        /// Has the standby get nothing more.
        func cutOff() throws {
            try standby.run("ALTER SYSTEM SET primary_conninfo = ''")
            try standby.run("SELECT pg_reload_conf()")
            try eventually("the standby is cut off") {
                try standby.run("SELECT count(*) FROM pg_stat_wal_receiver") == "0\n"
            }
        }

        /// Waits until the standby has all that is written by now.
        func catchUp() throws {
            let place = try primary.run("SELECT pg_current_wal_flush_lsn()", in: "postgres")
            try eventually("the standby has all") {
                try standby.run(
                    "SELECT pg_last_wal_replay_lsn() >= '\(place.dropLast())'::pg_lsn") == "t\n"
            }
        }

        /// Starts the daemon anew, as a service manager does.
        func startAgain() throws {
            startCount += 1
            daemon = try TestDaemon(setup, in: scratch, logName: "log-\(startCount)")
        }

        /// Runs a test's body; shows the log if it fails.
        func check(_ body: () throws -> Void) {
            defer { daemon.kill() }
            do {
                try body()
            } catch {
                Issue.record("\(error)\n--- the daemon's log:\n\(daemon.log.suffix(4_000))")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a synchronous standby has all jobs that were answered`() throws {
        let scene = try Scene(isSynchronous: true)
        scene.check {
            #expect(!scene.daemon.log.contains("may be lost when a standby is promoted"))
            let client = try scene.daemon.connect()
            let done = try client.perform("images", "echo", "seen")
            try client.waitUntil(done, is: "done")
            _ = try client.call("PAUSE", "images")
            let waiting = try (1...20).map { try client.perform("images", "echo", .text("\($0)")) }
            try scene.primary.control("stop")
            try scene.standby.promote()
            #expect(try scene.daemon.end() == "exit status 75")
            #expect(scene.daemon.log.contains("promoted (timeline 1 to 2): it lacks nothing"))

            try scene.startAgain()
            let next = try scene.daemon.connect()
            #expect(try next.job(done, "state").text == "done")
            for id in waiting { #expect(try next.job(id, "state").text == "waiting") }
            _ = try next.call("RESUME", "images")
            for id in waiting { try next.waitUntil(id, is: "done") }
            #expect(try next.perform("images", "echo", "new") > Self.leap)
            #expect(try next.figure("miscounts") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `the losses of an asynchronous standby are told, and no number is given again`() throws {
        let scene = try Scene(isSynchronous: false)
        scene.check {
            #expect(
                scene.daemon.log.contains(
                    "an accepted job may be lost when a standby is promoted: the database server "
                        + "does not wait for one (synchronous_standby_names is empty)"))
            let client = try scene.daemon.connect()
            _ = try client.call("PAUSE", "images")
            let kept = try client.perform("images", "echo", "kept")
            let ended = try client.perform("images", "echo", "ended")
            try scene.catchUp()
            try scene.cutOff()
            _ = try client.call("CANCEL", .integer(ended))
            let lost = try (1...2).map { try client.perform("images", "echo", .text("lost \($0)")) }
            try scene.primary.control("stop")
            try scene.standby.promote()
            #expect(try scene.daemon.end() == "exit status 75")
            #expect(
                scene.daemon.log.contains(
                    "it lacks 2 accepted jobs (\(lost[0]), \(lost[1])), and 1 end of a job, "
                        + "which may run again"))

            try scene.startAgain()
            let next = try scene.daemon.connect()
            #expect(try next.job(kept, "state").text == "waiting")
            #expect(try next.job(ended, "state").text == "waiting")
            for id in lost {
                #expect(try next.call("JOB", .integer(id)).errorWord == "NOJOB")
            }
            let new = try next.perform("images", "echo", "new")
            #expect(new > lost[1] + Self.leap)
            #expect(scene.daemon.log.contains("new jobs have numbers from \(new) on"))
            _ = try next.call("RESUME", "images")
            for id in [kept, ended, new] { try next.waitUntil(id, is: "done") }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["pg_terminate_backend", "pg_cancel_backend"])
    func `a job is not answered while the standby does not have it`(function: String) throws {
        let scene = try Scene(isSynchronous: true)
        scene.check {
            try scene.cutOff()
            let client = try scene.daemon.connect()
            try client.send("PERFORM", "images", "echo", "lost")
            func waiting(_ query: String) -> String {
                """
                FROM pg_stat_activity
                WHERE application_name = 'workerd' AND wait_event = 'SyncRep' AND query \(query)
                """
            }
            func count(_ query: String) throws -> String {
                try scene.primary.run("SELECT count(*) \(waiting(query))", in: "postgres")
            }
            // The job's own COMMIT: it is in the database, and no one sees it yet.
            try eventually("the COMMIT waits for the standby") {
                try count("= 'COMMIT'") == "1\n"
                    && scene.primary.run("SELECT count(*) FROM workerd.jobs", in: "jobs") == "0\n"
            }
            try scene.primary.run(
                "SELECT \(function)(pid) \(waiting("= 'COMMIT'"))", in: "postgres")
            try eventually("the commit is there, and the seat is taken again") {
                try scene.primary.run("SELECT count(*) FROM workerd.jobs", in: "jobs") == "1\n"
                    && count("LIKE 'UPDATE workerd.seats%'") == "1\n"
            }
            try scene.primary.control("stop")
            try scene.standby.promote()
            let reply = try? client.reply()
            #expect(reply?.integer == nil)
            #expect(try scene.daemon.end() == "exit status 75")
            #expect(scene.daemon.log.contains("it lacks nothing"))
            try scene.startAgain()
            #expect(try scene.standby.run("SELECT count(*) FROM workerd.jobs", in: "jobs") == "0\n")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `an old primary that comes back gets nothing, and its numbers are others`() throws {
        let scene = try Scene(isSynchronous: false)
        scene.check {
            let client = try scene.daemon.connect()
            _ = try client.call("PAUSE", "images")
            let first = try client.perform("images", "echo", "first")
            try scene.catchUp()
            try scene.primary.control("stop")
            try scene.standby.promote()
            #expect(try scene.daemon.end() == "exit status 75")
            try scene.startAgain()
            try scene.primary.control("start")
            func seat() throws -> String {
                try scene.primary.run("SELECT * FROM workerd.seats", in: "jobs")
            }
            let before = try seat()

            // Only the old one can be reached for a while.
            let next = try scene.daemon.connect()
            try scene.standby.run("ALTER DATABASE jobs ALLOW_CONNECTIONS false")
            try scene.standby.run(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = 'workerd'
                """)
            try eventually("the old one is refused") {
                _ = try next.call("PERFORM", "images", "echo", "refused")
                return scene.daemon.log.contains("an old primary whose standby was promoted")
            }
            try scene.standby.run("ALTER DATABASE jobs ALLOW_CONNECTIONS true")
            try eventually("jobs are accepted again") {
                try next.call("PERFORM", "images", "echo", "second").integer != nil
            }
            // And so it is for a new process.
            try scene.daemon.crash()
            try scene.startAgain()
            let second = try scene.daemon.connect().perform("images", "echo", "third")
            #expect(second > first + Self.leap)
            #expect(try seat() == before)

            let other = try TestDaemon(
                Scene.setup(scene.primary.address(of: "jobs")), in: try Scratch())
            defer { other.kill() }
            let third = try other.connect().perform("images", "echo", "other")
            #expect((first + 1..<first + Self.leap).contains(third))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a daemon that waits takes over on the promoted standby`() throws {
        let scene = try Scene(isSynchronous: false)
        scene.check {
            let waiting = try scene.daemon.connect().perform(
                "images", "echo", "DELAY", 3_600_000, "x")
            let scratch = try Scratch()
            // The standby is its first host.
            let setup = Scene.setup(scene.standby.sharedAddress(of: "jobs", isFirst: true))
            try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
            let second = try TestDaemon(
                arguments: ["--config", scratch.file("workerd.json5")], in: scratch)
            defer { second.kill() }
            try eventually("the second daemon waits") {
                second.log.contains("waits to take it over")
            }
            try scene.catchUp()
            try scene.daemon.crash()
            try scene.primary.control("stop")
            try scene.standby.promote()
            try eventually("the second daemon serves") {
                second.log.contains("new jobs have numbers from")
            }
            let next = try second.connect()
            #expect(try next.job(waiting, "state").text == "delayed")
            #expect(try next.perform("images", "echo", "new") > waiting + Self.leap)
        }
    }
}
