// Proves that due jobs stay due in a file that is opened after the clock was set back.

import Jobs
import SQLiteJobs
import Support
import Testing

@Suite struct `What a command has made due` {
    private let directory: StoreDirectory
    private let store: SQLiteStore

    /// Jobs 1 and 2 were fired at 10,000 and 3 failed and was run again then; 4 is delayed until
    /// 9,000.
    init() throws {
        directory = try StoreDirectory()
        store = try directory.open()
        let store = store
        try store.accept(all: [
            .sample(1, schedule: .buffered), .sample(2, schedule: .buffered), .sample(3),
            .sample(4, schedule: .at(9_000)),
        ])
        try store.end(3, .failed(reason: "no"), at: 2_000)
        try store.transaction(at: 10_000) { () throws(StoreFault) in
            _ = try store.fire(QueueName(thread: "mail", priority: .normal), at: 10_000)
            _ = try store.runAgain(JobID(3), at: 10_000)
        }
    }

    private func dates(after now: Int64) throws -> [UInt64: Int64?] {
        try store.transaction(at: now) { () throws(StoreFault) in try store.keepDue(at: now) }
        let held = try store.deferred()
        return Dictionary(uniqueKeysWithValues: held.map { ($0.id.number, $0.dueAt) })
    }

    @Test func `keeps its date as long as the clock is ahead of it`() throws {
        #expect(try dates(after: 10_000) == [1: 10_000, 2: 10_000, 3: 10_000, 4: 9_000])
    }

    @Test func `is due when the clock was set back, again and again, and nothing else is`() throws {
        #expect(try dates(after: 5_000) == [1: 5_000, 2: 5_000, 3: 5_000, 4: 9_000])
        #expect(try dates(after: 6_000) == [1: 5_000, 2: 5_000, 3: 5_000, 4: 9_000])
        #expect(try dates(after: 4_000) == [1: 4_000, 2: 4_000, 3: 4_000, 4: 9_000])
    }

    @Test func `has the date of its next attempt once that is known`() throws {
        try store.transaction(at: 10_000) { () throws(StoreFault) in
            try store.retry(JobID(1), Attempt(number: 1), dueAt: 12_000, at: 10_000)
        }
        #expect(try dates(after: 5_000) == [1: 12_000, 2: 5_000, 3: 5_000, 4: 9_000])
    }
}
