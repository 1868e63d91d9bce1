// Proves UNIQUE names, and failed jobs that run again, in a file.

import Jobs
import SQLiteJobs
import Support
import Testing

@Suite struct `A store's names and failures` {
    @Test func `a name is its job's for a while, and as long as that one is live`() throws {
        let directory = try StoreDirectory()
        do {
            let store = try directory.open()
            func give(_ name: UInt8, to id: UInt64, at now: Int64) throws -> JobID? {
                var other: JobID?
                let claim = NameClaim(
                    name: [name], isAgain: false, until: now + 100, fingerprint: 0)
                try store.transaction(at: now) { () throws(StoreFault) in
                    other = try store.giveName(claim, to: JobID(id), at: now)?.id
                    if other == nil { try store.accept(.sample(id)) }
                }
                return other
            }
            #expect(try give(7, to: 1, at: 0) == nil)
            #expect(try give(7, to: 2, at: 99) == JobID(1))
            #expect(try give(7, to: 3, at: 5_000) == JobID(1))
            try store.transaction(at: 5_000) { () throws(StoreFault) in
                try store.end(JobID(1), nil, .cancelled, at: 5_000)
            }
            #expect(try give(7, to: 4, at: 5_001) == nil)
            #expect(try give(7, to: 5, at: 5_002) == JobID(4))
            // Old names whose jobs have ended are dropped as new ones come; those of live jobs
            // stay.
            for id in 10..<30 {
                #expect(try give(UInt8(id), to: UInt64(id), at: 6_000) == nil)
                try store.transaction(at: 6_000) { () throws(StoreFault) in
                    try store.end(JobID(UInt64(id)), nil, .cancelled, at: 6_000)
                }
            }
            for id in 30..<34 { #expect(try give(UInt8(id), to: UInt64(id), at: 9_000) == nil) }
            #expect(try give(7, to: 50, at: 9_000) == JobID(4))
        }
        #expect(directory.rowCount(of: "unique_names") == 5)
    }

    @Test func `a failed job runs again with its payload, due and with its attempts forgiven`()
        throws
    {
        let directory = try StoreDirectory()
        let store = try directory.open()
        try store.accept(all: [.sample(1), .sample(2)])
        let sample = try #require(try store.job(JobID(1)))
        var again: [Job?] = []
        try store.transaction(at: 50) { () throws(StoreFault) in
            try store.end(JobID(1), Attempt(number: 3), .failed(reason: "x"), at: 50)
            try store.end(JobID(2), Attempt(number: 1), .done([]), at: 50)
        }
        #expect(try store.job(JobID(1))?.state == .failed)
        #expect(try store.failed(of: sample.selector, limit: 9) == [JobID(1)])
        try store.transaction(at: 60) { () throws(StoreFault) in
            again = [
                try store.runAgain(JobID(1), at: 60), try store.runAgain(JobID(1), at: 60),
                try store.runAgain(JobID(2), at: 60),
            ]
        }
        let job = try #require(again[0])
        #expect(again[1] == nil && again[2] == nil)
        #expect(job.payload == sample.payload && job.state == .delayed && job.dueAt == 60)
        #expect(job.attempt == 3 && job.forgivenCount == 3)
        #expect(try store.deferred().map(\.id) == [JobID(1)])
        try store.transaction(at: 70) { () throws(StoreFault) in
            try store.end(JobID(1), Attempt(number: 4), .timedOut, at: 70)
        }
        var isDropped: [Bool] = []
        try store.transaction(at: 80) { () throws(StoreFault) in
            isDropped = [
                try store.dropFailed(JobID(1)) != nil, try store.dropFailed(JobID(1)) != nil,
                try store.dropFailed(JobID(2)) != nil,
            ]
        }
        #expect(isDropped == [true, false, false])
        #expect(try store.job(JobID(1)) == nil)
    }

    @Test func `failures have limits of their own, whatever was taken out of them`() throws {
        let directory = try StoreDirectory()
        var limits = StoreLimits()
        limits.retainedCountMax = 0
        limits.failedCountMax = 3
        limits.failedMilliseconds = 1_000
        let store = try directory.open(limits: limits)
        let selector = Job.sample(1).selector
        func fail(_ ids: ClosedRange<UInt64>, at now: Int64) throws {
            for id in ids {
                try store.transaction(at: now) { () throws(StoreFault) in
                    try store.accept(.sample(id))
                    try store.end(
                        JobID(id), Attempt(number: 1), .failed(reason: "x"), at: now)
                }
            }
        }
        func kept(at now: Int64) throws -> [UInt64] {
            try store.transaction(at: now) { () throws(StoreFault) in try store.touch() }
            return try store.failed(of: selector, limit: 99).map(\.number)
        }
        try fail(1...5, at: 0)
        #expect(try kept(at: 0) == [3, 4, 5])
        try store.transaction(at: 10) { () throws(StoreFault) in
            _ = try store.runAgain(JobID(4), at: 10)
        }
        try fail(6...6, at: 20)
        #expect(try kept(at: 20) == [3, 5, 6])
        try store.transaction(at: 30) { () throws(StoreFault) in
            try store.end(JobID(4), Attempt(number: 2), .failed(reason: "y"), at: 30)
        }
        #expect(try kept(at: 30) == [4, 5, 6])
        // 4 failed anew: its age counts from then on.
        #expect(try kept(at: 1_000) == [4, 6])
        #expect(try kept(at: 1_025) == [4])
        #expect(try kept(at: 1_030) == [])
    }
}
