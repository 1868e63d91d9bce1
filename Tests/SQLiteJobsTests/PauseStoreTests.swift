// Proves the pauses between two attempts in a file that is opened after the clock was set back.

import Jobs
import SQLiteJobs
import Support
import Testing

@Suite struct `A pause between two attempts` {
    private static let hour: Int64 = 3_600_000
    private let directory: StoreDirectory
    private let store: SQLiteStore

    /// At ten o'clock, job 1 has failed once and job 2 three times; job 3 is delayed.
    init() throws {
        directory = try StoreDirectory()
        store = try directory.open()
        let (store, ten) = (store, 10 * Self.hour)
        try store.accept(all: [
            .sample(1), .sample(2), .sample(3, schedule: .at(ten + 1_000)),
        ])
        try store.transaction(at: ten) { () throws(StoreFault) in
            try store.retry(JobID(1), Attempt(number: 1), dueAt: ten + 900, at: ten)
            try store.retry(JobID(2), Attempt(number: 3), dueAt: ten + 4_500, at: ten)
        }
    }

    private func dates(at now: Int64) throws -> [UInt64: Int64?] {
        try store.transaction(at: now) { () throws(StoreFault) in try store.shortenPauses(at: now) }
        let held = try store.deferred()
        return Dictionary(uniqueKeysWithValues: held.map { ($0.id.number, $0.dueAt) })
    }

    @Test func `is as long as it was if the clock was not set back`() throws {
        let ten = 10 * Self.hour
        #expect(try dates(at: ten + 100) == [1: ten + 900, 2: ten + 4_500, 3: ten + 1_000])
    }

    @Test func `is no longer than it may be if the clock was set back, again and again`() throws {
        for hour in [5, 4] {
            let now = Int64(hour) * Self.hour
            #expect(
                try dates(at: now) == [1: now + 1_250, 2: now + 5_000, 3: 10 * Self.hour + 1_000])
        }
    }

    @Test func `stays as it is if the clock was set back by less than that`() throws {
        let now = 10 * Self.hour - 100
        #expect(try dates(at: now) == [1: now + 1_000, 2: now + 4_600, 3: now + 1_100])
    }
}
