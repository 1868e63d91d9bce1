// Proves that a store finds, lists, counts and forgets its jobs as it promises.

import Jobs
import Testing

@Suite struct `A store in memory` {
    @Test func `gives ids from 1 on and knows no other`() throws {
        var store = JobBook()
        for number in 1...3 as ClosedRange<UInt64> {
            let id = try store.accept(JobRequest(thread: "mail", selector: "send"), at: 5)
            #expect(id == JobID(number))
            #expect(store.job(id)?.acceptedAt == 5)
        }
        #expect(store.job(JobID(4)) == nil)
        #expect(throws: JobStoreError.unknownJob(JobID(4))) {
            try store.apply(.cancel, to: JobID(4), at: 5)
        }
    }

    @Test func `leaves a job as it was if it is in no state for an event`() throws {
        var store = JobBook()
        let id = try store.accept(JobRequest(thread: "mail", selector: "send"), at: 0)
        #expect {
            try store.apply(.finish(.timedOut), to: id, at: 1)
        } throws: { error in
            guard case .illegalTransition(let transition) = error as? JobStoreError else {
                return false
            }
            return transition.state == .waiting && transition.event == "finish"
        }
        #expect(store.count(thread: "mail", state: .waiting) == 1)
        store.checkInvariants()
    }

    @Test(arguments: [Outcome.done([1, 2, 3]), .failed(reason: "no"), .timedOut], [true, false])
    func `ends a job in one step as in several`(outcome: Outcome, isBegun: Bool) throws {
        var (quick, slow) = (JobBook(), JobBook())
        let request = JobRequest(thread: "mail", selector: "send", payload: [7, 7])
        let id = try quick.accept(request, at: 0)
        _ = try slow.accept(request, at: 0)
        let begins = isBegun && quick.start(id, on: "mail/1", at: 3)
        #expect(begins == isBegun)
        try slow.apply(.start(worker: "mail/1"), to: id, at: 3)
        try slow.apply(.finish(outcome), to: id, at: 9)
        let job = try #require(quick.entry(id))
        try quick.finish(job, outcome, on: "mail/1", from: 3, at: 9, keepsPayload: true)
        #expect(quick.job(id) == slow.job(id))
        #expect(quick.totals == slow.totals)
        #expect(quick.count(thread: "mail", state: outcome.state) == 1)
        #expect(quick.liveByteCount == 0)
        quick.checkInvariants()
        #expect(throws: JobStoreError.self) {
            try quick.finish(job, outcome, on: "mail/1", from: 3, at: 9, keepsPayload: true)
        }
    }

    @Test func `keeps no payload of a failed job that is kept elsewhere`() throws {
        var store = JobBook()
        let request = JobRequest(thread: "mail", selector: "send", payload: [7, 7])
        let id = try store.accept(request, at: 0)
        let job = try #require(store.entry(id))
        try store.finish(job, .timedOut, on: "mail", from: 3, at: 9, keepsPayload: false)
        #expect(store.job(id)?.payload == [])
        #expect(store.job(id)?.mayRunAgain == false)
        store.checkInvariants()
    }

    @Test func `lists by thread and state, either end first, up to a limit`() throws {
        var store = JobBook()
        for number in 1...6 as ClosedRange<UInt64> {
            let thread = number % 2 == 0 ? "even" : "odd"
            _ = try store.accept(JobRequest(thread: thread, selector: "count"), at: 0)
        }
        try store.apply(.start(worker: "even"), to: JobID(4), at: 1)
        #expect(numbers(store) == [6, 5, 4, 3, 2, 1])
        #expect(numbers(store, thread: "even") == [6, 4, 2])
        #expect(numbers(store, thread: "even", state: .waiting) == [6, 2])
        #expect(numbers(store, state: .waiting, limit: 2) == [6, 5])
        #expect(numbers(store, thread: "none") == [])
        #expect(numbers(store, limit: 0) == [])
        #expect(numbers(store, limit: -1) == [])
    }

    @Test func `lists no more than the limit of all listings`() throws {
        var store = JobBook()
        for _ in 0...JobLimits.listCountMax {
            _ = try store.accept(JobRequest(thread: "mail", selector: "send"), at: 0)
        }
        #expect(numbers(store, limit: .max).count == JobLimits.listCountMax)
    }

    @Test func `refuses the job after the last that it may keep, until one has ended`() throws {
        var limits = StoreLimits()
        limits.liveCountMax = 2
        var store = JobBook(limits: limits)
        let request = JobRequest(thread: "mail", selector: "send")
        let first = try store.accept(request, at: 0)
        _ = try store.accept(request, at: 0)
        #expect(throws: JobStoreError.full(liveCount: 2, liveByteCount: 0)) {
            try store.accept(request, at: 0)
        }
        try store.apply(.cancel, to: first, at: 0)
        #expect(try store.accept(request, at: 0) == JobID(3))
    }

    @Test func `refuses the byte after the last that it may keep, until a job has ended`() throws {
        var limits = StoreLimits()
        limits.liveByteCountMax = 5
        var store = JobBook(limits: limits)
        let three = JobRequest(thread: "mail", selector: "send", payload: [1, 2, 3])
        let two = JobRequest(thread: "mail", selector: "send", payload: [1, 2])
        let first = try store.accept(three, at: 0)
        #expect(throws: JobStoreError.full(liveCount: 1, liveByteCount: 3)) {
            try store.accept(three, at: 0)
        }
        _ = try store.accept(two, at: 0)
        try store.apply(.cancel, to: first, at: 0)
        #expect(try store.accept(three, at: 0) == JobID(3))
        store.checkInvariants()
    }

    @Test func `keeps as many ended jobs as it may, and drops what ended first`() throws {
        var limits = StoreLimits()
        limits.retainedCountMax = 2
        var store = JobBook(limits: limits)
        let ids = try (0..<3).map { _ in
            try store.accept(JobRequest(thread: "mail", selector: "send"), at: 0)
        }
        try store.apply(.cancel, to: ids[2], at: 1)
        try store.apply(.cancel, to: ids[0], at: 2)
        #expect(numbers(store) == [3, 2, 1])
        try store.apply(.cancel, to: ids[1], at: 3)
        #expect(numbers(store) == [2, 1])
        #expect(store.totals.cancelled == 3)
        #expect(store.totals.accepted == 3)
    }

    @Test func `keeps as many result bytes as it may`() throws {
        var limits = StoreLimits()
        limits.retainedByteCountMax = 10
        var store = JobBook(limits: limits)
        try finish(&store, result: 4, at: 0)
        try finish(&store, result: 6, at: 0)
        #expect(numbers(store) == [2, 1])
        try finish(&store, result: 1, at: 0)
        #expect(numbers(store) == [3, 2])
        try finish(&store, result: 11, at: 0)
        #expect(numbers(store) == [], "larger than all that may be kept")
        store.checkInvariants()
    }

    @Test func `keeps an ended job as long as it may, whether or not anything happens`() throws {
        var limits = StoreLimits()
        limits.retainedMilliseconds = 100
        var store = JobBook(limits: limits)
        try finish(&store, result: 1, at: 10)
        store.expire(at: 109)
        #expect(store.count(thread: nil, state: .done) == 1)
        store.expire(at: 110)
        #expect(store.count(thread: nil, state: nil) == 0)
        try finish(&store, result: 1, at: 200)
        _ = try store.accept(JobRequest(thread: "mail", selector: "send"), at: 300)
        #expect(numbers(store) == [3])
    }

    @Test func `keeps nothing that has ended if it may keep none`() throws {
        var limits = StoreLimits()
        limits.retainedCountMax = 0
        var store = JobBook(limits: limits)
        try finish(&store, result: 1, at: 0)
        #expect(store.count(thread: "mail", state: nil) == 0)
        #expect(store.totals.done == 1)
    }

    private func finish(_ store: inout JobBook, result: Int, at now: Int64) throws {
        let request = JobRequest(thread: "mail", selector: "send", payload: [1, 2, 3])
        let id = try store.accept(request, at: now)
        try store.apply(.start(worker: "mail"), to: id, at: now)
        let bytes = [UInt8](repeating: 1, count: result)
        #expect(try store.apply(.finish(.done(bytes)), to: id, at: now) == .done)
    }

    @Test func `adopts jobs of before, forgets refused ones, and lists all in order`() throws {
        var store = JobBook(nextNumber: 10)
        let ten = try store.accept(JobRequest(thread: "mail", selector: "send"), at: 0)
        #expect(ten == JobID(10))
        let request = JobRequest(thread: "mail", selector: "send", payload: [1])
        store.adopt(Job(id: JobID(3), request: request, acceptedAt: 0))
        store.adopt(Job(id: JobID(3), request: request, acceptedAt: 0))
        #expect(store.takeNumber() == JobID(11))
        let refused = try store.accept(request, at: 0)
        #expect(refused == JobID(12))
        store.discard(refused)
        #expect(store.job(refused) == nil)
        #expect(numbers(store) == [10, 3])
        #expect(numbers(store, limit: 1) == [10])
        #expect(store.totals.accepted == 2)
        #expect(store.nextNumber == 13)
        store.checkInvariants()
    }

    @Test(arguments: [0, 10], [JobState.cancelled, .expired])
    func `what is discarded has never been, ended or not`(retained: Int, end: JobState) throws {
        var limits = StoreLimits()
        limits.retainedCountMax = retained
        var store = JobBook(limits: limits)
        let request = JobRequest(thread: "mail", selector: "send", payload: [1])
        let ids = try (0..<3).map { _ in try store.accept(request, at: 0) }
        for id in ids { try store.apply(end == .expired ? .expire : .cancel, to: id, at: 1) }
        store.discard(ids[1], endedAs: end)
        #expect(numbers(store) == (retained == 0 ? [] : [3, 1]))
        #expect(store.totals.accepted == 2)
        #expect(store.totals.cancelled == (end == .cancelled ? 2 : 0))
        #expect(store.totals.expired == (end == .expired ? 2 : 0))
        store.checkInvariants()
        store.expire(at: .max / 2)
        #expect(store.count(thread: nil, state: nil) == 0)
        store.checkInvariants()
    }

    private func numbers(
        _ store: JobBook, thread: String? = nil, state: JobState? = nil, limit: Int = 100
    ) -> [UInt64] {
        store.jobs(thread: thread, state: state, limit: limit).jobs.map(\.id.number)
    }
}

@Suite struct `Objects of forgotten jobs` {
    private let driver: TestDriver

    init() {
        var limits = StoreLimits()
        limits.retainedCountMax = 1
        driver = TestDriver(limits: limits)
    }

    /// Runs the next job to its end.
    private func runJob() throws -> ObjectIdentifier {
        let number = driver.scheduler.book.nextNumber
        driver.input {
            $0.perform(
                JobRequest(thread: "one", selector: "echo", payload: [UInt8(number)]),
                ReplyToken(client: 1, number: number))
        }
        let attempt = try #require(driver.begin(on: "one"))
        #expect(attempt.job.id == JobID(number))
        #expect(attempt.job.payload == [UInt8(number)])
        defer {
            driver.end(attempt, .done(attempt.job.payload))
            driver.hear()
        }
        return ObjectIdentifier(attempt.job)
    }

    @Test func `are used again for new ones`() throws {
        let (first, second) = (try runJob(), try runJob())
        #expect(second != first)
        #expect(try runJob() == first)
        #expect(driver.scheduler.book.job(JobID(1)) == nil)
        #expect(driver.scheduler.book.job(JobID(3))?.outcome == .done([3]))
    }

    @Test func `are left alone while anything refers to them`() throws {
        _ = try runJob()
        let held = try #require(driver.scheduler.book.entry(JobID(1)))
        for _ in 0..<3 { #expect(try runJob() != ObjectIdentifier(held)) }
        #expect(held.id == JobID(1))
        #expect(held.job.outcome == .done([1]))
    }
}
