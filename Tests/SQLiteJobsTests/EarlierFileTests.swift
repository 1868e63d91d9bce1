// Proves that a store which workerd 0.1 has written is brought up to date, with all that is in it.

import Jobs
import SQLiteJobs
import Support
import Testing

@Suite struct `A store of workerd 0.1` {
    /// A directory with the store that such a daemon left; its dump says what is in it.
    private static func directory() throws -> StoreDirectory {
        let directory = try StoreDirectory()
        let dump = try repositoryFile("Tests/Fixtures/store-0.1.sql")
        try directory.execute(String(decoding: dump, as: UTF8.self))
        return directory
    }

    @Test func `has the tables of the oldest schema`() throws {
        let directory = try Self.directory()
        let oldest = try StoreDirectory()
        oldest.makeOldestVersion()
        #expect(try directory.tables() == oldest.tables())
    }

    @Test func `gets the tables of a new one`() throws {
        let directory = try Self.directory()
        _ = try directory.open()
        let new = try StoreDirectory()
        _ = try new.open()
        #expect(try directory.tables() == new.tables())
    }

    @Test func `keeps its jobs in their places`() throws {
        let store = try Self.directory().open()
        #expect(try store.waiting() == [4, 6, 7, 9])
        #expect(try store.waiting("mail", .high) == [5])
        #expect(try store.waiting("images") == [12])
        #expect(try store.waiting("reports") == [13])
        #expect(Set(try store.deferred().map(\.id.number)) == [8, 10, 11])
        #expect(try store.blockers().map(\.id.number) == [11])
        let ended = try store.listEnded(thread: nil, state: nil, limit: .max, within: .none).jobs
        #expect(Set(ended.map(\.id.number)) == [1, 2, 3])
        #expect(store.nextNumber == 20_001)
    }

    @Test func `keeps the options, attempts, payloads and outcomes of its jobs`() throws {
        let store = try Self.directory().open()
        let job = try #require(try store.job(JobID(6)))
        #expect(job.payload == Array("waits three".utf8))
        #expect(job.details.options.key == Array("k".utf8))
        #expect(job.details.options.value.label == Array("l".utf8))
        #expect(job.retryCountMax == 3 && job.retryBlocks)
        #expect(try store.job(JobID(11))?.attempt == 4)
        #expect(try store.job(JobID(13))?.attempt == 1)
        #expect(try store.job(JobID(2))?.outcome == .done(Array("done two".utf8)))
        #expect(try store.job(JobID(3))?.outcome == .failed(reason: "exit status 1"))
        #expect(try store.payload(of: JobID(3))?.bytes == Array("fails".utf8))
        #expect(
            try store.failed(of: "no", after: JobID(0), before: JobID(99), limit: 9) == [JobID(3)])
    }

    @Test func `keeps pauses, schedules and names`() throws {
        let store = try Self.directory().open()
        #expect(try store.pausedThreads() == ["mail"])
        #expect(try store.schedules().map(\.definition.name) == ["nightly"])
        let claim = NameClaim(
            name: Array("order-7".utf8), isAgain: false, until: .max, fingerprint: 1)
        let accepted: Int64 = 1_795_672_303_183
        #expect(
            try store.job(of: claim, at: accepted + 1) == NamedJob(JobID(9), isSame: true))
    }
}
