// Proves that requests of clients that are no jobs are kept: paused threads, and jobs that were
// asked to end.

import Jobs
import SQLiteJobs
import Support
import Testing

@Suite struct `What was asked for` {
    private func ask(_ store: SQLiteStore, toEnd number: UInt64) throws {
        try store.transaction(at: 2_000) { () throws(StoreFault) in
            try store.start(JobID(number), Attempt(number: 1, startedAt: 1_500))
            try store.askToEnd(JobID(number))
        }
    }

    private func endAsked(_ store: SQLiteStore) throws -> Int {
        var count = 0
        try store.transaction(at: 3_000) { () throws(StoreFault) in
            count = try store.endAsked(at: 3_000)
        }
        return count
    }

    @Test func `a file of the oldest version is brought up to date, and nothing is asked in it`()
        throws
    {
        let directory = try StoreDirectory()
        directory.makeOldestVersion(StoreDirectory.insert(1, retries: 2, key: "07"))
        let store = try directory.open()
        let options = JobOptions(retryCountMax: 2, key: [7])
        let request = JobRequest(
            thread: "mail", selector: "send", payload: [1], options: options)
        #expect(try store.job(JobID(1)) == Job(id: JobID(1), request: request, acceptedAt: 1_000))
        #expect(try store.nextExpiry() == nil)
        #expect(try store.pausedThreads() == [])
        #expect(try endAsked(store) == 0)
        #expect(try store.waiting() == [1])
        try ask(store, toEnd: 1)
        #expect(try endAsked(store) == 1)
    }

    @Test func `a paused thread stays so until it goes on`() throws {
        let directory = try StoreDirectory()
        var store: SQLiteStore? = try directory.open()
        try store?.transaction(at: 1) { () throws(StoreFault) in
            try store?.keep(PauseChange(paused: ["mail/1", "mail/2", "mail/1", "images"]))
            try store?.keep(PauseChange(paused: ["mail/1"], goingOn: ["mail/2", "never"]))
        }
        store = nil
        #expect(try directory.open().pausedThreads() == ["mail/1", "images"])
    }

    @Test func `a pool that goes on takes all its members along, and no namesake`() throws {
        let directory = try StoreDirectory()
        let store = try directory.open()
        let others = ["mail-2", "mail.", "mail0", "mails/1", "Mail", "a/mail"]
        try store.transaction(at: 1) { () throws(StoreFault) in
            try store.keep(PauseChange(paused: ["mail", "mail/1", "mail/12", "mail/9"] + others))
            try store.keep(PauseChange(paused: [], poolGoingOn: "mail"))
        }
        #expect(try store.pausedThreads() == Set(others))
    }

    @Test func `a job that was to end and had not is cancelled by the next opening`() throws {
        let directory = try StoreDirectory()
        var store: SQLiteStore? = try directory.open()
        try store?.accept(all: [.sample(1), .sample(2), .sample(3)])
        try ask(#require(store), toEnd: 1)
        try ask(#require(store), toEnd: 1)
        try ask(#require(store), toEnd: 3)
        try store?.end(3, .done([7]), at: 2_500)
        store = nil
        let second = try directory.open()
        #expect(try endAsked(second) == 1)
        #expect(try second.waiting() == [2])
        #expect(try second.job(JobID(1))?.outcome == .cancelled)
        #expect(try second.job(JobID(1))?.attempt == 1)
        #expect(try second.job(JobID(3))?.outcome == .done([7]))
        #expect(try endAsked(second) == 0)
    }

    @Test func `a job that was to end, failed and is run again is not cancelled`()
        throws
    {
        let directory = try StoreDirectory()
        var store: SQLiteStore? = try directory.open()
        try store?.accept(all: [.sample(1)])
        try ask(#require(store), toEnd: 1)
        try store?.end(1, .failed(reason: "no"), at: 2_500)
        try store?.transaction(at: 2_600) { () throws(StoreFault) in
            _ = try store?.runAgain(JobID(1), at: 2_600)
        }
        store = nil
        let second = try directory.open()
        #expect(try endAsked(second) == 0)
        #expect(try second.job(JobID(1))?.state == .delayed)
    }

    @Test func `what is buffered is let go in parts, in the order of the numbers`() throws {
        let directory = try StoreDirectory()
        let store = try directory.open()
        try store.accept(all: (1...9).map { .sample($0, schedule: .buffered) })
        let queue = QueueName(thread: "mail", priority: .normal)
        func fire(after: UInt64, limit: Int) throws -> [UInt64] {
            var fired: [UInt64] = []
            try store.transaction(at: 2_000) { () throws(StoreFault) in
                fired = try store.fire(
                    queue, after: JobID(after), before: JobID(9), limit: limit, at: 2_000
                ).map(\.id.number)
            }
            return fired
        }
        #expect(try fire(after: 0, limit: 3) == [1, 2, 3])
        #expect(try fire(after: 3, limit: 4) == [4, 5, 6, 7])
        #expect(try fire(after: 7, limit: 4) == [8])
        #expect(try fire(after: 8, limit: 4) == [])
        #expect(try store.buffered(queue).map(\.id.number) == [9])
        let due = try store.delayed(queue, after: .first, limit: 99, byteCount: 1 << 20)
        #expect(due.jobs.map(\.id.number) == [1, 2, 3, 4, 5, 6, 7, 8])
    }
}
