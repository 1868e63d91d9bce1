// Compares a store in a file with an array that is searched for everything, over transactions that
// succeed, that fail, and after which the file is reopened.

import Jobs
import SQLiteJobs
import Support
import Testing

@Suite struct `A store in a file, at random` {
    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func `agrees with an array of jobs`(seed: UInt64) throws {
        var run = try Run(seed: seed)
        for step in 0..<100 {
            try run.transaction(step)
            if run.random.chance(8) { try run.reopen() }
            if step % 5 == 4 { try run.compare(step) }
        }
    }

    /// A store and its expected contents.
    private struct Run {
        static let threads = ["images", "mail", "a thread with a name that is not kept inline"]
        let directory: StoreDirectory
        var random: SeededRandom
        /// Nil while it is reopened: a file has one user only.
        private var opened: SQLiteStore?
        var jobs: [UInt64: Job] = [:]
        /// The jobs that have not ended, in the order of numbers.
        var live: [UInt64] = []
        var limits = StoreLimits()
        var nextNumber: UInt64 = 1
        var now: Int64 = 1_000

        init(seed: UInt64) throws {
            random = SeededRandom(seed: seed)
            directory = try StoreDirectory()
            limits.retainedCountMax = 100
            opened = try directory.open(limits: limits)
        }

        var store: SQLiteStore {
            get throws { try #require(opened) }
        }

        mutating func reopen() throws {
            opened = nil
            opened = try directory.open(limits: limits)
            // A number of a failed transaction may be given again: no client was told it.
            #expect(try store.nextNumber <= nextNumber)
        }

        /// Makes some changes at once, and sometimes fails after them.
        mutating func transaction(_ step: Int) throws {
            now += 7
            let before = (jobs, live)
            let store = try store
            let fails = random.chance(15)
            let count = Int.random(in: 1..<(random.chance(10) ? 150 : 12), using: &random)
            var fault: StoreFault?
            do throws(StoreFault) {
                try store.transaction(at: now) { () throws(StoreFault) in
                    for _ in 0..<count { try change(store) }
                    if fails { throw StoreFault(.failed, path: "", detail: "wanted") }
                }
            } catch {
                fault = error
            }
            #expect((fault != nil) == fails, "step \(step): \(fault.map { "\($0)" } ?? "")")
            if fails { (jobs, live) = before }
        }

        private mutating func change(_ store: SQLiteStore) throws(StoreFault) {
            // Mostly the oldest, as in practice.
            let id = random.chance(70) ? live.first : live.randomElement(using: &random)
            guard random.chance(50), let id, let chosen = jobs[id] else {
                return try accept(store)
            }
            let attempt = Attempt(
                number: chosen.attempt + 1, workerName: "worker", startedAt: now - 1)
            switch Int.random(in: 0..<20, using: &random) {
            case 0...9:
                let outcome: Outcome = random.chance(80) ? .done([1, 2, 3]) : .cancelled
                try store.end(chosen.id, attempt, outcome, at: now)
                set(chosen, attempt, outcome)
            case 10...11:
                try store.end(chosen.id, attempt, .failed(reason: "no paper"), at: now)
                set(chosen, attempt, .failed(reason: "no paper"))
            case 12...14:
                try store.start(chosen.id, attempt)
                set(chosen, attempt)
            case 15...16:
                try store.putBack(
                    chosen.id, attempt: chosen.attempt, forgivenCount: chosen.forgivenCount,
                    mayExpire: true)
                set(chosen, Attempt(number: chosen.attempt))
            case 17:
                try store.begun(chosen.id, attempts: chosen.attempt + 2)
                set(
                    chosen,
                    Attempt(
                        number: chosen.attempt + 2, workerName: chosen.workerName,
                        startedAt: chosen.startedAt))
            case 18:
                try store.retry(chosen.id, attempt, dueAt: now + 100, at: now)
                set(chosen, attempt, state: .delayed, dueAt: now + 100)
            default:
                // An ended job, and one that never was, do not change.
                let other = UInt64.random(in: 1..<nextNumber + 3, using: &random)
                guard jobs[other].map(\.state.isEnded) != false else { return }
                try store.end(JobID(other), attempt, .done([]), at: now)
            }
        }

        private mutating func accept(_ store: SQLiteStore) throws(StoreFault) {
            // Some numbers are those of volatile jobs.
            nextNumber += random.chance(10) ? UInt64.random(in: 2..<2_000, using: &random) : 1
            let schedules: [JobRequest.Schedule] = [
                .now, .now, .now, .now, .buffered, .at(9_000_000),
            ]
            let size = random.chance(3) ? 5_000 : Int.random(in: 0..<70, using: &random)
            let request = JobRequest(
                thread: Run.threads.randomElement(using: &random) ?? "",
                selector: random.chance(50) ? "echo" : "a selector that is not kept inline",
                payload: [UInt8](repeating: UInt8.random(in: 0...9, using: &random), count: size),
                priority: Priority.allCases.randomElement(using: &random) ?? .normal,
                schedule: schedules.randomElement(using: &random) ?? .now,
                options: JobOptions(
                    timeoutMilliseconds: random.chance(20) ? 5_000 : nil,
                    retryCountMax: random.chance(20) ? 3 : 0, retryBlocks: random.chance(20),
                    key: random.chance(20) ? [0, 13, 255] : nil))
            let job = Job(id: JobID(nextNumber - 1), request: request, acceptedAt: now)
            try store.accept(job)
            jobs[job.id.number] = job
            live.append(job.id.number)
        }

        /// Records a change of a job.
        private mutating func set(
            _ job: Job, _ attempt: Attempt, _ outcome: Outcome? = nil, state: JobState? = nil,
            dueAt: Int64? = nil
        ) {
            var progress = Job.Progress()
            progress.dueAt = dueAt ?? job.dueAt
            progress.attempt = attempt.number
            progress.workerName = attempt.workerName
            progress.startedAt = attempt.startedAt
            progress.outcome = outcome
            progress.endedAt = outcome == nil ? nil : now
            if outcome != nil { live.removeAll { $0 == job.id.number } }
            let request = JobRequest(
                thread: job.thread, selector: job.selector,
                payload: outcome == nil ? job.payload : [], priority: job.priority,
                options: job.details.options)
            jobs[job.id.number] = Job(
                id: job.id, request: request, acceptedAt: job.acceptedAt,
                state: outcome?.state ?? state ?? job.state, progress: progress)
        }

        func compare(_ step: Int) throws {
            let store = try store
            let note: Comment = "step \(step)"
            let sorted = jobs.values.sorted { $0.id < $1.id }
            var counted: [QueueName: [JobState: Int]] = [:]
            var bytes = 0
            var through: UInt64 = 0
            while let next = try store.forEachLive(
                after: through, through: try store.lastLiveNumber(), limit: 7,
                { queue, job in
                    counted[queue, default: [:]][job.state, default: 0] += 1
                    bytes += job.byteCount
                })
            { through = next }
            let live = sorted.filter { !$0.state.isEnded }
            #expect(bytes == live.reduce(0) { $0 + $1.payload.count }, note)
            for thread in Run.threads {
                for priority in Priority.allCases {
                    let queue = QueueName(thread: thread, priority: priority)
                    let own = live.filter { $0.thread == thread && $0.priority == priority }
                    let waiting = own.filter { $0.state == .waiting }
                    #expect(counted[queue]?[.waiting] ?? 0 == waiting.count, note)
                    #expect(counted[queue]?.values.reduce(0, +) ?? 0 == own.count, note)
                    #expect(try inParts(queue) == waiting, note)
                    let newest = try store.listInTurn(queue, limit: 3)
                    #expect(newest.map(\.id) == waiting.suffix(3).reversed().map(\.id), note)
                    let oldest = try store.listInTurn(queue, in: JobSpan(.oldestFirst), limit: 3)
                    #expect(oldest.map(\.id) == waiting.prefix(3).map(\.id), note)
                    let first = waiting.filter { $0.attempt == 0 }.map(\.id)
                    #expect(try firstAttempts(queue, .newestFirst) == first.reversed(), note)
                    #expect(try firstAttempts(queue, .oldestFirst) == first, note)
                    for state in [JobState.delayed, .buffered] {
                        let held = own.filter { $0.state == state }
                        let middle = held.isEmpty ? .max : held[held.count / 2].id
                        let listed = try store.listDeferred(
                            queue, state: state, in: JobSpan(before: middle), limit: 3)
                        let expected = held.filter { $0.id < middle }.suffix(3).reversed()
                        #expect(listed.map(\.id) == expected.map(\.id), note)
                        let later = try store.listDeferred(
                            queue, state: state, in: JobSpan(.oldestFirst, after: middle), limit: 3)
                        let laterOnes = held.filter { middle < $0.id }.prefix(3)
                        #expect(later.map(\.id) == laterOnes.map(\.id), note)
                    }
                }
            }
            for job in live { #expect(try store.job(job.id) == job, note) }
            try compareEnded(sorted.filter(\.state.isEnded), note)
        }

        /// Of the ended jobs that did not fail, the latest are there.
        private func compareEnded(_ ended: [Job], _ note: Comment) throws {
            let store = try store
            var kept: [Job] = []
            var dropped: [Job] = []
            for job in ended {
                let found = try store.job(job.id)
                #expect(found == nil || found == job, note)
                if found == nil { dropped.append(job) } else { kept.append(job) }
            }
            #expect(!dropped.contains { $0.state == .failed }, note)
            let others = kept.filter { $0.state != .failed }
            // Jobs of the latest transaction are dropped with the next.
            let now = others.compactMap(\.endedAt).max()
            let earlier = others.filter { $0.endedAt != now }
            #expect(earlier.count <= limits.retainedCountMax, note)
            #expect(dropped.isEmpty || others.count >= limits.retainedCountMax, note)
            let newestDropped = dropped.compactMap(\.endedAt).max() ?? 0
            #expect(others.allSatisfy { newestDropped <= $0.endedAt ?? 0 }, note)
            for state in [JobState.done, .failed, .cancelled, nil] {
                let expected = kept.filter { state == nil || $0.state == state }
                let newest = expected.suffix(20).reversed().map(\.id)
                #expect(try listedEnded(state, .newestFirst) == newest, note)
                #expect(try listedEnded(state, .oldestFirst) == expected.prefix(20).map(\.id), note)
            }
        }

        /// The first 20, a few at a time, out of a few that are read.
        private func listedEnded(_ state: JobState?, _ order: JobSpan.Order) throws -> [JobID] {
            var limits = SQLiteStore.SearchLimits()
            (limits.rowCountMax, limits.packCountMax) = (3, 2)
            var (ids, span): ([JobID], JobSpan) = ([], JobSpan(order))
            while ids.count < 20 {
                let page = try store.listEnded(
                    thread: nil, state: state, in: span, limit: 7, within: limits)
                ids += page.jobs.map(\.id)
                let place = page.jobs.count == 7 ? page.jobs[6].id : page.searched
                if place == span.end { break }
                #expect(span.contains(place))
                span.goOn(behind: place)
            }
            return Array(ids.prefix(20))
        }

        /// The jobs of a queue in turn that have not begun, out of a few that are read.
        private func firstAttempts(
            _ queue: QueueName, _ order: JobSpan.Order
        ) throws -> [JobID] {
            var limits = SQLiteStore.SearchLimits()
            limits.rowCountMax = 3
            var (ids, span): ([JobID], JobSpan) = ([], JobSpan(order))
            while true {
                var searched = span.end
                let page = try store.listInTurn(
                    queue, in: span, limit: 2, within: limits, searched: &searched
                ) { $0.attempt == 0 }
                ids += page.map(\.id)
                let place = page.count == 2 ? page[1].id : searched
                if place == span.end { return ids }
                span.goOn(behind: place)
            }
        }

        /// All of a queue, as it is loaded into memory.
        private func inParts(_ queue: QueueName) throws -> [Job] {
            let store = try store
            var all: [Job] = []
            while true {
                let batch = try store.inTurn(
                    queue, after: all.last?.id ?? JobID(0), limit: 5, byteCount: 6_000)
                all += batch.jobs
                if batch.isEnd { return all }
                guard !batch.jobs.isEmpty else { return all }
            }
        }
    }
}
