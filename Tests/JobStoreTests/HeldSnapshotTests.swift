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

    /// Hands in the commands about jobs of consecutive numbers, in a transaction for each number.
    ///
    /// - Parameter commands: gets a number, and how many were before it.
    private func run(
        _ store: any JobStore, from first: UInt64,
        _ commands: (_ number: UInt64, _ place: UInt64) throws -> [StoreCommand]
    ) throws {
        let accepted = Atomic(UInt64(0))
        store.add(
            .answer(to: { answers in
                for case .accepted(let count, nil) in answers {
                    accepted.wrappingAdd(UInt64(count), ordering: .releasing)
                }
            }))
        for number in first..<(first + Self.jobCount) {
            for command in try commands(number, number - first) { store.add(command) }
            store.fire()
            while accepted.load(ordering: .acquiring) <= number - first { SystemThread.yield() }
        }
    }

    private func job(_ number: UInt64, uniqueUntil: Int64? = nil) -> NewJob {
        let request = JobRequest(thread: "a", selector: "echo", payload: [1])
        let details = JobDetails(request, uniqueUntil: uniqueUntil)
        return NewJob(
            Job(id: JobID(number), request: request, details, acceptedAt: 1), isParked: false)
    }

    private func attempt(_ number: Int) -> Attempt {
        Attempt(number: number, workerName: "a", startedAt: 1)
    }

    /// How many rows and entries of indices the sessions that have ended have looked at.
    ///
    /// - Parameter other: a table that does not count.
    private func lookedAt(_ reopened: ReopenedDatabase, except other: String) throws -> Int {
        let count = try PostgreSQLServer.run(
            """
            SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname <> '\(other)')
                + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname <> '\(other)')
            """, at: reopened.address)
        return Int(count.filter(\.isNumber)) ?? 0
    }

    /// Runs three times as many jobs, and compares how much is looked at for the last third and for
    /// the first one.
    ///
    /// - Parameters:
    ///   - other: a table that does not count.
    ///   - commands: as for `run`.
    private func expectNoGrowth(
        in reopened: ReopenedDatabase, except other: String = "",
        _ commands: (_ number: UInt64, _ place: UInt64) throws -> [StoreCommand]
    ) throws {
        func count(_ next: UInt64, _ body: (any JobStore) throws -> Void) throws -> Int {
            let before = try lookedAt(reopened, except: other)
            let (store, _) = try reopened.open(serving: ["echo"])
            try body(store)
            store.close(nextNumber: next)
            return try lookedAt(reopened, except: other) - before
        }
        var counts: [Int] = []
        for first in [1, 1 + Self.jobCount, 1 + 2 * Self.jobCount] {
            // The opening of a store may look at old versions; if it is cut short, at fewer.
            let opening = try count(first) { _ in }
            counts.append(
                try count(first + Self.jobCount) { try run($0, from: first, commands) } - opening)
        }
        let openingMax = 4 * Int(Self.jobCount)
        #expect((counts[2] - openingMax) * 2 < counts[0] * 3, "it looked at \(counts)")
    }

    /// Makes the tables, and opens a transaction that sees their rows of now.
    private func holdSnapshot(of reopened: ReopenedDatabase) throws -> SQLSession {
        try reopened.open(serving: ["echo"]).0.close(nextNumber: 1)
        return try SQLSession.holdingSnapshot(at: reopened.address)
    }

    @Test(.timeLimit(.minutes(2)))
    func `looks at no more rows for each job than before`() throws {
        let reopened = try ReopenedDatabase(StoreLimits(), TestWall().time)
        /// How many rows of settings have changed.
        func settingsChanges() throws -> Int {
            let count = try PostgreSQLServer.run(
                "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'settings'",
                at: reopened.address)
            return Int(count.filter(\.isNumber)) ?? 0
        }
        let session = try holdSnapshot(of: reopened)
        let settingsBefore = try settingsChanges()
        // There are more and more ended jobs.
        try expectNoGrowth(in: reopened, except: "ended") { number, place in
            // The server does so by itself in time.
            if number % 160 == 100 { try PostgreSQLServer.run("ANALYZE", at: reopened.address) }
            // Each job fails once, and then ends.
            var commands: [StoreCommand] = [.accept(job(number))]
            if place > 0 { commands.append(.retry(JobID(number - 1), attempt(1), dueAt: 1)) }
            if place > 1 {
                commands.append(.end(JobID(number - 2), attempt(2), .done([]), at: 1))
            }
            return commands
        }
        // A row that each transaction changes has as many versions, and each change reads them all.
        let changes = try settingsChanges() - settingsBefore
        #expect(changes < Int(Self.jobCount) / 2, "settings have changed \(changes) times")
        try session.run("COMMIT")
    }

    @Test(.timeLimit(.minutes(2)))
    func `forgets names and their results without a look at those before`() throws {
        let wall = TestWall()
        var limits = StoreLimits()
        limits.retainedMilliseconds = 1_000
        let reopened = try ReopenedDatabase(limits, wall.time)
        let session = try holdSnapshot(of: reopened)
        try expectNoGrowth(in: reopened) { number, place in
            // The names and results of all earlier jobs are over.
            wall.move(byMilliseconds: 60_000)
            let now = wall.time.unixMilliseconds()
            let claim = NameClaim(
                name: Array("\(number)".utf8), isAgain: false, until: now + 1_000,
                fingerprint: number)
            var commands: [StoreCommand] = [
                .acceptOnce(job(number, uniqueUntil: claim.until), claim)
            ]
            if place > 0 {
                commands.append(.end(JobID(number - 1), attempt(1), .done([]), at: now - 60_000))
            }
            return commands
        }
        let left = try PostgreSQLServer.run(
            """
            SELECT (SELECT count(*) FROM workerd.unique_names) < 10
                AND (SELECT count(*) FROM workerd.ended) < 10
            """, at: reopened.address)
        #expect(left == "t\n")
        try session.run("COMMIT")
    }
}
