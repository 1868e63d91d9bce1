// A transaction that stays open keeps the server from removing old versions of rows. No transaction
// of the store may look at those of earlier ones: it would become slower and slower.

import Jobs
import Kernel
import PostgreSQLServer
import Support
import Synchronization
import Testing

@Suite(.enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `A database with a long transaction` {
    private static let jobCount: UInt64 = 320

    /// Accepts jobs, has each fail once and ends it, in a transaction for each.
    ///
    /// - Parameter analyze: has the server plan its statements anew, as it does by itself in time.
    private func run(
        _ store: any JobStore, from first: UInt64, _ analyze: () throws -> Void
    ) throws {
        let accepted = Atomic(UInt64(0))
        store.add(
            .answer(to: { answers in
                for case .accepted(let count, nil) in answers {
                    accepted.wrappingAdd(UInt64(count), ordering: .releasing)
                }
            }))
        for number in first..<(first + Self.jobCount) {
            if number % 160 == 100 { try analyze() }
            let request = JobRequest(thread: "a", selector: "echo", payload: [1])
            store.add(
                .accept(
                    NewJob(Job(id: JobID(number), request: request, acceptedAt: 1), isParked: false)
                ))
            if number > first {
                let attempt = Attempt(number: 1, workerName: "a", startedAt: 1)
                store.add(.retry(JobID(number - 1), attempt, dueAt: 1))
            }
            if number > first + 1 {
                let attempt = Attempt(number: 2, workerName: "a", startedAt: 1)
                store.add(.end(JobID(number - 2), attempt, .done([]), at: 1))
            }
            store.fire()
            while accepted.load(ordering: .acquiring) <= number - first { SystemThread.yield() }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `looks at no more rows for each job than before`() throws {
        let reopened = try ReopenedDatabase(StoreLimits(), TestWall().time)
        /// How many rows and entries of indices the sessions that have ended have looked at; not of
        /// ended jobs, which are more and more.
        func lookedAt() throws -> Int {
            let count = try PostgreSQLServer.run(
                """
                SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname <> 'ended')
                    + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname <> 'ended')
                """, at: reopened.address)
            return Int(count.filter(\.isNumber)) ?? 0
        }
        /// The same of one session that does something.
        func lookedAt(from first: UInt64, _ body: (any JobStore) throws -> Void) throws -> Int {
            let before = try lookedAt()
            let (store, _) = try reopened.open(serving: ["echo"])
            try body(store)
            store.close(nextNumber: first)
            return try lookedAt() - before
        }
        /// How many rows of settings have changed.
        func settingsChanges() throws -> Int {
            let count = try PostgreSQLServer.run(
                "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'settings'",
                at: reopened.address)
            return Int(count.filter(\.isNumber)) ?? 0
        }
        _ = try lookedAt(from: 1) { _ in }
        let settingsBefore = try settingsChanges()
        let session = try SQLSession(at: reopened.address)
        try session.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM workerd.jobs")
        var counts: [Int] = []
        for first in [1, 1 + Self.jobCount, 1 + 2 * Self.jobCount] {
            // The opening of a store may look at old versions.
            let opening = try lookedAt(from: first) { _ in }
            counts.append(
                try lookedAt(from: first + Self.jobCount) { store in
                    try run(store, from: first) {
                        try PostgreSQLServer.run("ANALYZE", at: reopened.address)
                    }
                } - opening)
        }
        #expect(counts[2] * 2 < counts[0] * 3, "it looked at \(counts)")
        // A row that each transaction changes has as many versions, and each change reads them all.
        let changes = try settingsChanges() - settingsBefore
        #expect(changes < Int(Self.jobCount) / 2, "settings have changed \(changes) times")
        try session.run("COMMIT")
    }
}
