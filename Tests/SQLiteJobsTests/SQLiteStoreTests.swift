// Proves that the reopened durable store gives back all committed changes.

import Jobs
import SQLiteJobs
import Support
import Testing

@Suite struct `A store in a file` {
    @Test func `gives back after a restart what was accepted, byte by byte`() throws {
        let directory = try StoreDirectory()
        let payload = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let jobs: [Job] = [
            .sample(1), .sample(2, payload: payload), .sample(3, payload: [0]),
            .sample(4, thread: "träge Ämter"), .sample(5, priority: .high),
        ]
        try directory.open().accept(all: jobs)
        let store = try directory.open()
        for job in jobs {
            let found = try store.job(job.id)
            #expect(found == job)
        }
        #expect(try store.job(JobID(6)) == nil)
        #expect(store.nextNumber == 6)
    }

    @Test func `lists each queue in the order of ids, in parts`() throws {
        let directory = try StoreDirectory()
        let store = try directory.open()
        try store.accept(
            all: (1...40).map { number in
                .sample(
                    number, thread: number % 2 == 0 ? "mail" : "images", payload: [1, 2, 3, 4],
                    priority: number % 4 < 2 ? .normal : .low)
            })
        let all = try store.waiting()
        #expect(all == [4, 8, 12, 16, 20, 24, 28, 32, 36, 40])
        #expect(try store.waiting(after: 12, limit: 2) == [16, 20])
        #expect(try store.waiting(byteCount: 9) == [4, 8, 12])
        #expect(try store.waiting("nobody") == [])
        let queues = try store.queues()
        #expect(queues.count == 4)
        #expect(queues.contains(QueueName(thread: "images", priority: .low)))
        let newest = try store.listInTurn(
            QueueName(thread: "mail", priority: .normal), in: JobSpan(after: JobID(4)), limit: 2)
        #expect(newest.map(\.id.number) == [40, 36])
    }

    @Test func `holds delayed and buffered jobs back until they are released`() throws {
        let directory = try StoreDirectory()
        let store = try directory.open()
        try store.accept(all: [
            .sample(1, schedule: .at(9_000)), .sample(2, schedule: .buffered),
            .sample(3, schedule: .at(5_000)), .sample(4),
        ])
        #expect(try store.waiting() == [4])
        let queue = QueueName(thread: "mail", priority: .normal)
        func delayed(after key: DueKey = .first, limit: Int = 9) throws -> [UInt64] {
            try store.delayed(queue, after: key, limit: limit, byteCount: 1 << 20)
                .jobs.map(\.id.number)
        }
        #expect(try delayed() == [3, 1])
        #expect(try delayed(after: DueKey(dueAt: 5_000, id: JobID(2))) == [3, 1])
        #expect(try delayed(after: DueKey(dueAt: 5_000, id: JobID(3))) == [1])
        #expect(try store.buffered(queue).count == 1)
        #expect(try store.buffered(queue, after: JobID(2)).isEmpty)
        func buffered(after id: UInt64, limit: Int = 9) throws -> JobBatch {
            try store.buffered(queue, after: JobID(id), limit: limit, byteCount: 1 << 20)
        }
        #expect(try buffered(after: 0).jobs.map(\.id.number) == [2])
        #expect(try buffered(after: 0).jobs.map(\.state) == [.buffered])
        #expect(try buffered(after: 0).isEnd && !buffered(after: 0, limit: 1).isEnd)
        #expect(try buffered(after: 2).jobs.isEmpty)
        #expect(try store.listDeferred(queue, state: .delayed, limit: 1).map(\.id.number) == [3])
        try store.transaction(at: 2_000) { () throws(StoreFault) in
            #expect(try store.fire(queue, at: 2_000).map(\.id.number) == [2])
        }
        #expect(try delayed() == [2, 3, 1])
        #expect(try delayed(limit: 2) == [2, 3])
        #expect(try store.job(JobID(2))?.dueAt == 2_000)
    }

    @Test func `remembers attempts, and one that is put back does not count`() throws {
        let directory = try StoreDirectory()
        let store = try directory.open()
        try store.accept(all: [.sample(1), .sample(2)])
        try store.transaction(at: 3) { () throws(StoreFault) in
            let attempt = Attempt(number: 1, workerName: "mail/1", startedAt: 3)
            try store.start(JobID(1), attempt)
            try store.start(JobID(2), attempt)
            try store.putBack(JobID(2), attempt: 0, forgivenCount: 0, mayExpire: true)
        }
        let again = try #require(try store.job(JobID(1)))
        #expect(again.state == .waiting)
        #expect(again.attempt == 1)
        #expect(again.startedAt == 3)
        #expect(again.workerName == "mail/1")
        #expect(try store.job(JobID(2)) == .sample(2))
        #expect(try store.waiting() == [1, 2])
    }

    @Test(arguments: [
        Outcome.done([1, 2, 3]), .done([]), .failed(reason: "no paper"), .failed(reason: ""),
        .timedOut, .cancelled,
    ])
    func `keeps how a job ended, and it is never in turn again`(outcome: Outcome) throws {
        let directory = try StoreDirectory()
        do {
            let store = try directory.open()
            try store.accept(all: [.sample(1, payload: [7])])
            try store.transaction(at: 9) { () throws(StoreFault) in
                let attempt = Attempt(number: 2, workerName: "mail", startedAt: 5)
                try store.end(JobID(1), attempt, outcome, at: 9)
                // A recorded outcome is not changed by a second one.
                try store.end(JobID(1), attempt, .failed(reason: "again"), at: 10)
            }
        }
        let store = try directory.open()
        #expect(try store.waiting() == [])
        let job = try #require(try store.job(JobID(1)))
        #expect(job.outcome == outcome)
        #expect(job.state == outcome.state)
        #expect(job.attempt == 2)
        #expect(job.endedAt == 9)
        #expect(job.payload.isEmpty)
        let listed = try store.listEnded(thread: "mail", state: outcome.state, limit: 5).jobs
        #expect(listed.map(\.id) == [JobID(1)])
        #expect(try store.listEnded(thread: nil, state: .waiting, limit: 5).jobs.isEmpty)
        #expect(store.nextNumber == 2)
    }

    @Test func `drops ended jobs by number, size and age, after a restart too`() throws {
        let directory = try StoreDirectory()
        var limits = StoreLimits()
        limits.retainedCountMax = 3
        limits.retainedByteCountMax = 10
        limits.retainedMilliseconds = 100
        func kept(_ store: SQLiteStore) throws -> [UInt64] {
            try store.listEnded(thread: nil, state: nil, limit: 100).jobs.map(\.id.number)
        }
        do {
            let store = try directory.open(limits: limits)
            try store.accept(all: (1...8).map { .sample($0) })
            for number in 1...5 as ClosedRange<UInt64> {
                try store.end(number, .done([0]), at: 10)
            }
            try store.transaction(at: 10) { () throws(StoreFault) in }
            #expect(try kept(store) == [5, 4, 3])
            try store.end(6, .done([UInt8](repeating: 0, count: 9)), at: 50)
            try store.transaction(at: 50) { () throws(StoreFault) in }
            #expect(try kept(store) == [6, 5])
        }
        let store = try directory.open(limits: limits)
        try store.transaction(at: 110) { () throws(StoreFault) in }
        #expect(try kept(store) == [6])
        try store.transaction(at: 150) { () throws(StoreFault) in }
        #expect(try kept(store) == [])
        #expect(try store.waiting() == [7, 8])
    }

    @Test func `gives no number twice, not even one that left no trace`() throws {
        let directory = try StoreDirectory()
        do {
            let store = try directory.open()
            try store.transaction(at: 0) { () throws(StoreFault) in
                try store.reserve(below: 500)
            }
        }
        #expect(try directory.open().nextNumber == 500)
        try directory.open().accept(all: [.sample(700)])
        #expect(try directory.open().nextNumber == 701)
    }

    @Test func `does all of a transaction or nothing`() throws {
        let directory = try StoreDirectory()
        let store = try directory.open()
        try store.accept(all: [.sample(1)])
        #expect(throws: StoreFault.self) {
            try store.transaction(at: 5) { () throws(StoreFault) in
                try store.end(JobID(1), nil, .cancelled, at: 5)
                try store.accept(.sample(2))
                // The number is taken, by a row.
                try store.accept(.sample(3, schedule: .buffered))
                try store.accept(.sample(3, schedule: .buffered))
            }
        }
        #expect(try store.waiting() == [1])
        try store.accept(all: [.sample(2)])
        #expect(try store.waiting() == [1, 2])
    }
}
