// Proves that ended jobs of before the opening, which become known little by little, keep to their
// limits in the end, and that a failed one of them runs again or is dropped at once.

import Jobs
import SQLiteJobs
import Support
import Testing

@Suite struct `Ended jobs of before` {
    private static let limits: StoreLimits = {
        var limits = StoreLimits()
        limits.retainedCountMax = 3
        limits.failedCountMax = 2
        return limits
    }()

    /// A file with jobs 1 to 12, of which each third has failed.
    private func filled() throws -> StoreDirectory {
        let directory = try StoreDirectory()
        let store = try directory.open()
        try store.accept(all: (1...12).map { .sample($0) })
        try store.transaction(at: 10) { () throws(StoreFault) in
            for number in UInt64(1)...12 {
                let outcome = number % 3 == 0 ? Outcome.failed(reason: "no") : .done([1])
                try store.end(JobID(number), Attempt(number: 1), outcome, at: 10)
            }
        }
        return directory
    }

    private func ended(_ store: SQLiteStore) throws -> Set<UInt64> {
        Set(
            try store.listEnded(thread: nil, state: nil, limit: .max, within: .none).jobs.map(
                \.id.number))
    }

    @Test func `are kept until all are known, then their limits hold`() throws {
        let directory = try filled()
        let store = try SQLiteStore(
            path: directory.database, limits: Self.limits, readsEnded: false)
        try store.transaction(at: 20) { () throws(StoreFault) in try store.touch() }
        #expect(try ended(store).count == 12)
        while try store.readEnded(atMost: 5) {}
        try store.transaction(at: 20) { () throws(StoreFault) in try store.touch() }
        #expect(try ended(store) == [8, 9, 10, 11, 12])
    }

    @Test func `can run again and be dropped before and after they are known`() throws {
        let directory = try filled()
        let store = try SQLiteStore(
            path: directory.database, limits: Self.limits, readsEnded: false)
        #expect(try store.readEnded(atMost: 5))
        var isDone: [Bool] = []
        try store.transaction(at: 20) { () throws(StoreFault) in
            isDone = [
                try store.runAgain(JobID(3), at: 20) != nil, try store.dropFailed(JobID(6)) != nil,
                try store.runAgain(JobID(9), at: 20) != nil,
            ]
        }
        #expect(isDone == [true, true, true])
        // It fails again, under a number that is still to be read.
        try store.transaction(at: 30) { () throws(StoreFault) in
            try store.end(JobID(9), Attempt(number: 2), .failed(reason: "again"), at: 30)
            try store.end(JobID(3), Attempt(number: 2), .done([]), at: 30)
        }
        while try store.readEnded(atMost: 5) {}
        try store.transaction(at: 40) { () throws(StoreFault) in try store.touch() }
        #expect(try ended(store) == [10, 11, 3, 9, 12])
        try store.transaction(at: 50) { () throws(StoreFault) in
            #expect(try store.dropFailed(JobID(12)) != nil)
        }
        try store.accept(all: [.sample(21), .sample(22)])
        try store.transaction(at: 60) { () throws(StoreFault) in
            try store.end(JobID(21), nil, .failed(reason: "new"), at: 60)
            try store.end(JobID(22), nil, .failed(reason: "new"), at: 60)
        }
        try store.transaction(at: 70) { () throws(StoreFault) in try store.touch() }
        #expect(try ended(store) == [10, 11, 3, 21, 22])
    }

    @Test func `those that hold others up between two attempts are found at once`() throws {
        let directory = try StoreDirectory()
        let store = try directory.open()
        try store.transaction(at: 1) { () throws(StoreFault) in
            for number in UInt64(1)...4 {
                try store.accept(
                    Job(
                        id: JobID(number),
                        request: JobRequest(
                            thread: "mail", selector: "send",
                            schedule: number == 4 ? .at(9_000) : .now,
                            options: JobOptions(retryCountMax: 3, retryBlocks: number != 2)),
                        acceptedAt: 1))
            }
            try store.retry(JobID(1), Attempt(number: 1), dueAt: 8_000, at: 7_000)
            try store.retry(JobID(2), Attempt(number: 1), dueAt: 8_000, at: 7_000)
        }
        #expect(try store.blockers().map(\.id.number) == [1])
    }
}
