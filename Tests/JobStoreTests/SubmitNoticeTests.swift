// Whether a submitter notifies the daemons: a commit that does waits for all others that do.

import Jobs
import Kernel
import PostgreSQLServer
import Support
import Testing

@Suite(.enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `A submitter of a job by SQL` {
    private let address: String
    private let directory: TestDirectory

    init() throws {
        address = try PostgreSQLServer.shared.get().makeDatabase()
        directory = try TestDirectory()
    }

    private func open(_ name: String) throws -> Sharer {
        try Sharer(address, attempts: "\(directory.path)/attempts-\(name)")
    }

    /// Waits until a daemon looks for submitted jobs, or sleeps.
    private func wait(until sharer: Sharer, looks: Bool) throws {
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            let found = try PostgreSQLServer.run(
                """
                SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted
                    AND classid = x'776B7264'::bigint::oid AND objid = (-\(sharer.seat))::oid
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
                """, at: address)
            if found == (looks ? "t\n" : "f\n") { return }
            SystemThread.yield()
        }
        throw Unexpected("seat \(sharer.seat) never \(looks ? "looks" : "sleeps")")
    }

    @Test func `notifies the daemon of its thread only while that one sleeps`() throws {
        let (a, b) = (try open("a"), try open("b"))
        defer {
            a.close()
            b.close()
        }
        _ = try a.take("mail", from: 1)
        _ = try b.take("disk", from: 1)
        let session = try SQLSession(at: address)
        try session.run("LISTEN workerd_submitted")
        func notifies(_ thread: String, in isolation: String = "READ COMMITTED") throws -> Bool {
            let said = try session.run(
                """
                BEGIN ISOLATION LEVEL \(isolation);
                SELECT workerd.perform('\(thread)', 'echo', 'x');
                COMMIT
                """)
            // psql shows notifications behind a statement.
            return (said + (try session.run("SELECT 1"))).contains("Asynchronous notification")
        }
        try wait(until: a, looks: false)
        try wait(until: b, looks: false)
        #expect(try notifies("mail"))
        // Its daemon holds the lock on, as this test never says what becomes of the job.
        try wait(until: a, looks: true)
        try wait(until: b, looks: false)
        #expect(try !notifies("mail"))
        #expect(try !notifies("mail/1"))
        #expect(try notifies("disk"))
        try wait(until: b, looks: true)
        #expect(try !notifies("disk"))
        // A thread of no daemon: all have to hear of it, as one of them may be about to take it.
        #expect(try notifies("tape"))
        // The row of the thread may be an old one.
        #expect(try notifies("mail", in: "REPEATABLE READ"))
    }
}
