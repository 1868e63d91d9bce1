// The heads of queues: a daemon that takes a thread looks at none of the jobs before them, and
// misses none of those behind them.

import Jobs
import Kernel
import PostgreSQLServer
import Testing

extension `A database with shared threads` {
    /// How many rows and entries of indexes sessions that have ended have looked at.
    private func lookedAt() throws -> Int {
        let count = try sql(
            """
            SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)
                + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)
            """)
        return Int(count.filter(\.isNumber)) ?? 0
    }

    /// How many entries of an index sessions that have ended have looked at.
    private func lookedAt(in index: String) throws -> Int {
        let count = try sql(
            "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = '\(index)'")
        return Int(count.filter(\.isNumber)) ?? 0
    }

    @Test(.timeLimit(.minutes(2)))
    func `takes a thread without a look at jobs that ended under a long transaction`() throws {
        let a = try open("a")
        for thread in ["mail", "quiet"] { _ = try a.take(thread, from: 1) }
        try a.end([a.accept("quiet")])
        let session = try SQLSession.holdingSnapshot(at: address)
        for _ in 0..<41 { try a.end(a.accept(1_000, "mail")) }
        let id = try a.accept("mail")
        try lose(a)
        try sql("ANALYZE")
        let before = try lookedAt()
        let b = try open("b")
        for thread in ["mail", "quiet"] { _ = try b.take(thread, from: a.seat) }
        #expect(try b.load("mail").map(\.id) == [id])
        #expect(try b.load("quiet") == [])
        b.close()
        let count = try lookedAt() - before
        #expect(count < 30_000)
        try session.run("COMMIT")
    }

    @Test(.timeLimit(.minutes(2)))
    func `finds a job before them that a worker has given back`() throws {
        let a = try open("a")
        _ = try a.take("mail", from: 1)
        let id = try a.accept("mail")
        let worker = JobHolder(
            token: JobHolder.Token(high: 1, low: 1), process: nil, since: 1_000, name: "w")
        a.store.noteHolder(id.number, attempt: 1, worker)
        a.store.noteStart(id.number, Attempt(number: 1, workerName: "mail", startedAt: 1_000))
        #expect(try a.tell() == nil)
        try lose(a)
        // It is due here, and not in turn: the head of the queue passes it.
        let b = try open("b")
        #expect(try b.take("mail", from: a.seat).held.map(\.job.id) == [id])
        for _ in 0..<21 { try b.end(b.accept(1_000, "mail")) }
        let last = try b.accept("mail")
        let putBack = StoreCommand.putBack(id, attempt: 0, forgivenCount: 0, mayExpire: false)
        #expect(try b.tell(putBack) == nil)
        try lose(b)
        let c = try open("c")
        defer { c.close() }
        #expect(try c.take("mail", from: b.seat).held.isEmpty)
        #expect(try c.load("mail").map(\.id) == [id, last])
    }

    @Test(.timeLimit(.minutes(2)))
    func `takes a thread without a look at delayed jobs that ended under one`() throws {
        let a = try open("a")
        _ = try a.take("mail", from: 1)
        let session = try SQLSession.holdingSnapshot(at: address)
        let wall = WallTime.system
        var due: Int64 = 0
        for _ in 0..<21 {
            let ids = try a.accept(1_000, "mail")
            // Longer ago than the time that a head is behind.
            due = wall.unixMilliseconds() - 100_000
            try a.retry(ids, dueAt: due)
            try a.end(ids)
        }
        let id = try a.accept("mail")
        try a.retry([id], dueAt: due + 1_000_000)
        try lose(a)
        try sql("ANALYZE")
        let before = try lookedAt()
        let b = try open("b")
        #expect(try b.take("mail", from: a.seat).counts.count == 1)
        #expect(try b.loadDelayed("mail").map(\.id) == [id])
        // The clock was set back: a job is due before the head.
        let early = try b.accept("mail")
        try b.retry([early], dueAt: due - 1_000_000)
        try lose(b)
        let count = try lookedAt() - before
        #expect(count < 15_000)
        try session.run("COMMIT")
        let c = try open("c")
        defer { c.close() }
        _ = try c.take("mail", from: b.seat)
        #expect(try c.loadDelayed("mail").map(\.id) == [early, id])
    }

    @Test(.timeLimit(.minutes(2)))
    func `looks for expired jobs without a look at those that ended under one`() throws {
        let a = try open("a")
        _ = try a.take("mail", from: 1)
        let session = try SQLSession.holdingSnapshot(at: address)
        /// Accepts a job that expires so long after a moment near 1970.
        func accept(expires milliseconds: Int64) throws -> JobID {
            var options = JobOptions()
            options.expireMilliseconds = milliseconds
            return try a.accept("mail", options)
        }
        func expired(at moment: Int64) throws -> [JobID] {
            try a.ask({
                .findExpired(at: moment, after: .first, limit: 10, ticket: $0)
            }) { answer, expected in
                if case .expiring(expected, .success(let found)) = answer {
                    found.places.map(\.id)
                } else {
                    nil
                }
            }
        }
        // They end before they expire: half of them in an hour, and half soon.
        for _ in 0..<200 {
            try a.end([accept(expires: 1_000), accept(expires: 3_600_000)])
        }
        #expect(try expired(at: 10_000) == [])
        for moment in 0..<20 { #expect(try expired(at: 20_000 + Int64(moment)) == []) }
        let soon = try accept(expires: 30_000)
        #expect(try expired(at: 40_000) == [soon])
        // The clock was set back.
        let early = try accept(expires: 5_000)
        #expect(try expired(at: 7_000) == [early])
        #expect(try expired(at: 40_000) == [early, soon])
        a.close()
        let count = try lookedAt(in: "jobs_expiring")
        #expect(count < 2_000)
        try session.run("COMMIT")
    }

    @Test(.timeLimit(.minutes(2)))
    func `finds all jobs of a thread that a daemon had long before`() throws {
        let (a, b, c) = (try open("a"), try open("b"), try open("c"))
        defer {
            a.close()
            c.close()
        }
        _ = try a.take("mail", from: 1)
        try a.end([a.accept("mail")])
        #expect(try a.move(ThreadMove("mail", from: a.seat, to: b.seat)) == nil)
        _ = try b.claim("mail").get()
        // Its numbers are larger than those of the new owner from here on.
        _ = try a.take("other", from: 1)
        for _ in 0..<21 { try a.end(a.accept(1_000, "other")) }
        let id = try b.accept("mail")
        try lose(b)
        _ = try c.take("mail", from: b.seat)
        #expect(try c.load("mail").map(\.id) == [id])
    }
}
