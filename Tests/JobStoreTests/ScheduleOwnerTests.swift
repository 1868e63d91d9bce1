// A schedule that gets a thread of another daemon. The runs and changes of its former owner, which
// may not know that yet, must have no effect.

import Jobs
import Kernel
import PostgreSQLServer
import Support
import Testing

@Suite(.enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `A schedule in a shared database` {
    private let address: String
    private let directory: TestDirectory

    init() throws {
        address = try PostgreSQLServer.shared.get().makeDatabase()
        directory = try TestDirectory()
    }

    /// Two daemons, the owners of `mail` and `disk`; they end with the body.
    private func withTwo(_ body: (Sharer, Sharer) throws -> Void) throws {
        let a = try Sharer(address, attempts: directory.file("attempts-a"))
        let b = try Sharer(address, attempts: directory.file("attempts-b"))
        defer {
            a.close()
            b.close()
        }
        _ = try a.take("mail", from: 1)
        _ = try b.take("disk", from: 1)
        try body(a, b)
    }

    private func sql(_ text: String) throws -> String {
        try PostgreSQLServer.run(text, at: address)
    }

    /// Does something during a transaction of another session, which ends when a daemon waits.
    private func during(_ transaction: String, _ body: () throws -> Void) throws {
        let session = try SQLSession(at: address)
        try session.run("BEGIN; \(transaction)")
        try body()
        while try sql(
            """
            SELECT count(*) > 0 FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
            """) != "t\n"
        { SystemThread.yield() }
        try session.run("COMMIT")
    }

    private func beat(_ thread: String) -> ScheduleRecord {
        ScheduleRecord(
            ScheduleDefinition(
                name: "beat", rhythm: .every(milliseconds: 100),
                request: JobRequest(thread: thread, selector: "echo")),
            isFromCommand: true, progress: ScheduleProgress(since: 1_000))
    }

    private func give(_ sharer: Sharer, _ thread: String) throws {
        #expect(try sharer.change { .keepSchedule(beat(thread), ticket: $0) } == nil)
    }

    private func run(_ sharer: Sharer, _ thread: String, named name: String? = nil) -> StoreCommand
    {
        let run = ScheduleRun(name: "beat", thread: thread, through: 1_100, at: 1_100)
        let request = JobRequest(thread: thread, selector: "echo")
        let id = JobID(sharer.recovery.nextNumber + 7)
        let claim = name.map {
            NameClaim(name: Array($0.utf8), isAgain: false, until: 10_000, fingerprint: 1)
        }
        let job = Job(id: id, request: request, acceptedAt: 1_100)
        return .run([MadeRun(run: run, new: NewJob(job, isParked: false), claim: claim)])
    }

    private func rows() throws -> String {
        try sql("SELECT thread, through FROM workerd.schedules") + "and "
            + sql("SELECT thread FROM workerd.jobs")
    }

    @Test(.timeLimit(.minutes(2)), arguments: [nil, "once"])
    func `makes jobs at its present owner only, with names or without`(name: String?) throws {
        try withTwo { a, b in
            try give(a, "mail")
            try give(b, "disk")
            #expect(try a.tell(run(a, "mail", named: name)) == nil)
            #expect(a.acceptances.map { $0.fault?.kind } == [.scheduleGone])
            #expect(try rows() == "disk|1000\nand ")
            // The refused job has not got its name.
            #expect(try b.tell(run(b, "disk", named: name)) == nil)
            #expect(b.acceptances.map { $0.fault?.kind } == [nil])
            #expect(try rows() == "disk|1100\nand disk\n")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `makes no job while another daemon takes it over`() throws {
        try withTwo { a, _ in
            try give(a, "mail")
            try during("UPDATE workerd.schedules SET thread = 'disk'") {
                a.store.add(run(a, "mail"))
                a.store.fire()
            }
            #expect(try a.tell() == nil)
            #expect(a.acceptances.map { $0.fault?.kind } == [.scheduleGone])
            #expect(try rows() == "disk|1000\nand ")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `may be given at two daemons at once`() throws {
        try withTwo { a, b in
            try give(a, "mail")
            try during(
                """
                DELETE FROM workerd.schedules;
                INSERT INTO workerd.schedules (name, from_command, every_ms, missed, overlap,
                    thread, selector, payload, priority, since, through)
                VALUES ('beat', true, 100, 'once', 'one', 'mail', 'echo', '', 1, 1000, 1000)
                """
            ) {
                b.store.add(.keepSchedule(beat("disk"), ticket: 1_000))
                b.store.fire()
            }
            #expect(try b.tell(run(b, "disk")) == nil)
            #expect(b.acceptances.map { $0.fault?.kind } == [nil])
            #expect(try rows() == "disk|1100\nand disk\n")
        }
    }

    @Test func `is forgotten for its present owner only`() throws {
        try withTwo { a, b in
            try give(a, "mail")
            try give(b, "disk")
            let old = try a.change { .dropSchedule("beat", thread: "mail", ticket: $0) }
            #expect(old?.kind == .scheduleGone)
            #expect(try rows() == "disk|1000\nand ")
            #expect(try b.change { .dropSchedule("beat", thread: "disk", ticket: $0) } == nil)
            #expect(try rows() == "and ")
        }
    }
}
