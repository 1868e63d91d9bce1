// Compares a store with the plainest one there could be: an array that is searched for everything.

import Jobs
import Support
import Testing

@Suite struct `A store in memory, at random` {
    static let threads = ["images", "mail", "a thread with a name that is not kept inline"]

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func `agrees with an array of jobs`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var limits = StoreLimits()
        limits.liveCountMax = 60
        limits.retainedCountMax = 20
        limits.retainedByteCountMax = 100
        limits.retainedMilliseconds = 200
        limits.failedCountMax = 10
        limits.failedByteCountMax = 150
        limits.failedMilliseconds = 400
        var store = JobBook(limits: limits)
        var model = Model(limits: limits)
        var now: Int64 = 0
        for step in 0..<3_000 {
            now += Int64.random(in: 0..<5, using: &random)
            if random.chance(35) {
                let request = request(at: now, using: &random)
                let id = try? store.accept(request, at: now)
                #expect(id == model.accept(request, at: now), "step \(step)")
            } else {
                let newest = max(1, store.totals.accepted)
                let id = JobID(UInt64.random(in: 1...newest, using: &random))
                let event = event(at: now, using: &random)
                let state = try? store.apply(event, to: id, at: now)
                #expect(state == model.apply(event, to: id, at: now), "step \(step)")
                #expect(store.job(id) == model.jobs.first { $0.id == id }, "step \(step)")
            }
            if step % 20 == 0 { compare(store, model, step: step) }
        }
        compare(store, model, step: 3_000)
    }

    private func compare(_ store: JobBook, _ model: Model, step: Int) {
        store.checkInvariants()
        #expect(store.totals == model.totals, "step \(step)")
        for thread in [nil, "nobody"] + Self.threads {
            for state in [nil] + JobState.allCases {
                let expected = model.jobs.filter {
                    (thread ?? $0.thread) == $0.thread && (state ?? $0.state) == $0.state
                }
                #expect(store.count(thread: thread, state: state) == expected.count)
                let all = store.jobs(thread: thread, state: state, limit: .max).jobs
                #expect(all == expected.reversed(), "step \(step)")
                let some = store.jobs(thread: thread, state: state, limit: 3).jobs
                #expect(some == Array(all.prefix(3)), "step \(step)")
                #expect(paged(store, thread, state, .newestFirst) == all.map(\.id), "step \(step)")
                let oldest = store.jobs(
                    thread: thread, state: state, in: JobSpan(.oldestFirst), limit: .max)
                #expect(oldest.jobs == expected, "step \(step)")
                #expect(
                    paged(store, thread, state, .oldestFirst) == expected.map(\.id), "step \(step)")
            }
        }
    }

    /// The same, two jobs at a time, and at most three looked at.
    private func paged(
        _ store: JobBook, _ thread: String?, _ state: JobState?, _ order: JobSpan.Order
    ) -> [JobID] {
        var (ids, span): ([JobID], JobSpan) = ([], JobSpan(order))
        while true {
            let page = store.jobs(
                thread: thread, state: state, in: span, limit: 2, searchCountMax: 3)
            ids += page.jobs.map(\.id)
            let place = page.jobs.count == 2 ? page.jobs[1].id : page.searched
            if place == span.end { return ids }
            span.goOn(behind: place)
        }
    }

    private func request(at now: Int64, using random: inout SeededRandom) -> JobRequest {
        let schedules: [JobRequest.Schedule] = [.now, .now, .buffered, .at(now), .at(now + 50)]
        return JobRequest(
            thread: Self.threads.randomElement(using: &random) ?? "",
            selector: "echo",
            payload: [UInt8](repeating: 7, count: Int.random(in: 0..<20, using: &random)),
            priority: Priority.allCases.randomElement(using: &random) ?? .normal,
            schedule: schedules.randomElement(using: &random) ?? .now)
    }

    private func event(at now: Int64, using random: inout SeededRandom) -> JobEvent {
        let result = [UInt8](repeating: 9, count: Int.random(in: 0..<20, using: &random))
        let events: [JobEvent] = [
            .release, .start(worker: "mail/1"), .start(worker: "mail/2"), .retry(dueAt: nil),
            .retry(dueAt: now + 10), .finish(.done(result)), .finish(.failed(reason: "broken")),
            .finish(.timedOut), .cancel, .runAgain,
        ]
        return events.randomElement(using: &random) ?? .release
    }

    /// The same promises, kept by searching.
    private struct Model {
        let limits: StoreLimits
        var jobs: [Job] = []
        var endedIDs: [JobID] = []
        var totals = JobTotals()

        mutating func accept(_ request: JobRequest, at now: Int64) -> JobID? {
            dropEnded(at: now)
            guard jobs.filter({ !$0.state.isEnded }).count < limits.liveCountMax else { return nil }
            totals.accepted += 1
            let id = JobID(totals.accepted)
            jobs.append(Job(id: id, request: request, acceptedAt: now))
            return id
        }

        mutating func apply(_ event: JobEvent, to id: JobID, at now: Int64) -> JobState? {
            guard let index = jobs.firstIndex(where: { $0.id == id }) else { return nil }
            guard (try? jobs[index].apply(event, at: now)) != nil else { return nil }
            let state = jobs[index].state
            if event == .runAgain { endedIDs.removeAll { $0 == id } }
            totals.countEnd(in: state)
            if state.isEnded { endedIDs.append(id) }
            dropEnded(at: now)
            return state
        }

        mutating func dropEnded(at now: Int64) {
            drop(
                at: now, count: limits.retainedCountMax, bytes: limits.retainedByteCountMax,
                after: limits.retainedMilliseconds
            ) { $0 != .failed }
            drop(
                at: now, count: limits.failedCountMax, bytes: limits.failedByteCountMax,
                after: limits.failedMilliseconds
            ) { $0 == .failed }
        }

        private mutating func drop(
            at now: Int64, count: Int, bytes: Int, after milliseconds: Int64,
            _ isMeant: (JobState) -> Bool
        ) {
            while true {
                let ended = jobs.filter { $0.state.isEnded && isMeant($0.state) }
                let kept = ended.map(\.byteCount).reduce(0, +)
                let first = endedIDs.lazy.compactMap { id in ended.first { $0.id == id } }.first
                guard let first else { return }
                let isTooOld = now - (first.endedAt ?? 0) >= milliseconds
                guard isTooOld || ended.count > count || kept > bytes else { return }
                endedIDs.removeAll { $0 == first.id }
                jobs.removeAll { $0.id == first.id }
            }
        }
    }
}
