// All jobs in memory: the active ones, and ended ones within limits.
//
// Jobs lie in slots, chained in the order of their ids; a table leads from id to slot, a tally
// per thread counts its jobs by state, and a queue holds the ended ones in the order in which they
// will be dropped. A job is changed in its slot, never copied, and so its payload never is.
//
// A job that has not ended is active, or a stopped thread or a shutdown has left it to the store.

internal import Structures

/// Keeps jobs in memory, the ended ones within limits, one entry for each job.
///
/// - Thread: one, its owner's.
/// - Complexity: O(1) for everything but `newest`, which walks the jobs until it has found as many as
///   there are.
package struct JobBook {
    private struct Entry {
        var job: Job
        let tally: SlotMap<Tally>.Handle
        /// Nil once it has ended, or was left.
        var active: ActiveJob?

        mutating func takeActive() -> ActiveJob? { active.take() }

        /// Changes the job where it lies, and says what the book has to count.
        mutating func apply(_ event: JobEvent, at now: Int64) throws(IllegalTransition) -> Step {
            let before = job.state
            let (byteCount, endedAt) = (job.byteCount, job.endedAt)
            try job.apply(event, at: now)
            return Step(
                tally: tally, before: before, after: job.state,
                byteCountBefore: byteCount, byteCountAfter: job.byteCount,
                endedAtBefore: endedAt)
        }

        /// Begins the job where it lies, unless it does not wait for that.
        mutating func start(on worker: String, at now: Int64) throws(IllegalTransition) -> Step? {
            job.state == .waiting ? try apply(.start(worker: worker), at: now) : nil
        }

        /// Ends the job where it lies, which may have begun unnoticed.
        mutating func finish(
            _ outcome: Outcome, on worker: String, from startedAt: Int64, at now: Int64,
            keepsPayload: Bool
        ) throws(IllegalTransition) -> Step {
            let before = job.state
            let byteCount = job.byteCount
            if before == .waiting { try job.apply(.start(worker: worker), at: startedAt) }
            try job.apply(.finish(outcome), at: now)
            if !keepsPayload { job.releasePayload() }
            return Step(
                tally: tally, before: before, after: job.state,
                byteCountBefore: byteCount, byteCountAfter: job.byteCount, endedAtBefore: nil)
        }

        var retainedAsFailed: RetainedJobs.Entry? { retained(as: .failed) }
        var retainedAsCancelled: RetainedJobs.Entry? { retained(as: .cancelled) }

        private func retained(as state: JobState) -> RetainedJobs.Entry? {
            guard job.state == state, let endedAt = job.endedAt else { return nil }
            return RetainedJobs.Entry(id: job.id, endedAt: endedAt, byteCount: job.byteCount)
        }
    }

    private struct Step {
        let tally: SlotMap<Tally>.Handle
        let before: JobState
        let after: JobState
        let byteCountBefore: Int
        let byteCountAfter: Int
        let endedAtBefore: Int64?
    }

    /// What the store has seen since it was made.
    package private(set) var totals = JobTotals()

    /// How much it keeps.
    package let limits: StoreLimits
    private var entries = LinkedSlots<Entry>()
    private var byID = LinkedSlots<Entry>.Chain()
    private var slots = JobTable<Int>()
    private var ended: RetainedJobs
    private var failed: RetainedJobs
    private var tallies = SlotMap<Tally>()
    private var tallyHandles: [String: SlotMap<Tally>.Handle] = [:]
    /// The one that was looked up last: most jobs are for the thread of the one before.
    private var recentTally: (thread: String, handle: SlotMap<Tally>.Handle)?
    private var overall = Tally()
    /// The payload bytes of the jobs that have not ended.
    package private(set) var liveByteCount = 0

    /// The number of the next job.
    package private(set) var nextNumber: UInt64
    /// How many jobs are active.
    package private(set) var activeCount = 0
    /// Whether jobs came in that are older than others here: then no listing can trust the chain.
    private var hasAdopted = false

    /// Makes an empty store.
    ///
    /// - Parameters:
    ///   - limits: how much it keeps.
    ///   - nextNumber: the id of its first job.
    package init(limits: StoreLimits = StoreLimits(), nextNumber: UInt64 = 1) {
        self.limits = limits
        ended = .ended(within: limits)
        failed = .failed(within: limits)
        self.nextNumber = nextNumber
    }

    private var liveCount: Int { entries.count - ended.count - failed.count }

    /// Keeps a new job.
    ///
    /// - Parameter now: Unix milliseconds, as everywhere here.
    /// - Returns: its id, larger than any before; the first is 1.
    /// - Throws: `.full`.
    package mutating func accept(
        _ request: borrowing JobRequest, at now: Int64
    ) throws(JobStoreError) -> JobID {
        let id = try takeNumber(forPayloadOf: request.payload.count, at: now)
        keep(Job(id: id, request: request, acceptedAt: now), nil)
        return id
    }

    /// Takes the next id, and room for a job that is kept under it at once.
    package mutating func takeNumber(
        forPayloadOf byteCount: Int, at now: Int64
    ) throws(JobStoreError) -> JobID {
        dropEnded(at: now)
        let byteCount = liveByteCount + byteCount
        guard liveCount < limits.liveCountMax, byteCount <= limits.liveByteCountMax else {
            throw .full(liveCount: liveCount, liveByteCount: liveByteCount)
        }
        liveByteCount = byteCount
        return takeNumber()
    }

    /// Keeps the new job for which the number was taken.
    package mutating func keep(_ job: Job, _ active: ActiveJob?) { insert(job, active) }

    /// Takes the next id for a job that is kept elsewhere.
    package mutating func takeNumber() -> JobID {
        totals.accepted += 1
        defer { nextNumber += 1 }
        return JobID(nextNumber)
    }

    /// Keeps a job that was accepted before and has not ended, under its own id.
    ///
    /// Nothing is refused: whoever brings jobs back keeps within the limits.
    package mutating func adopt(_ job: Job, _ active: ActiveJob? = nil) {
        guard !job.state.isEnded else { return }
        if let slot = slots[job.id] {
            // A job that was left to the store comes back.
            if entries[slot]?.job.state.isEnded == false { activate(active, at: slot) }
            return
        }
        hasAdopted = true
        liveByteCount += job.byteCount
        insert(job, active)
    }

    // MARK: - Active jobs

    /// The active job of a number.
    package func active(_ id: JobID) -> ActiveJob? { slots[id].flatMap { entries[$0]?.active } }

    /// All active jobs, in the order in which they came.
    ///
    /// - Complexity: O(jobs).
    package var activeJobs: [ActiveJob] {
        var found: [ActiveJob] = []
        found.reserveCapacity(activeCount)
        var next = byID.first
        while let slot = next {
            next = entries.slot(after: slot)
            if let active = entries[slot]?.active { found.append(active) }
        }
        return found
    }

    /// A job becomes active.
    mutating func activate(_ active: ActiveJob) {
        if let slot = slots[active.id] { activate(active, at: slot) }
    }

    private mutating func activate(_ active: ActiveJob?, at slot: Int) {
        if entries[slot]?.active != nil { activeCount -= 1 }
        entries[slot]?.active = active
        if active != nil { activeCount += 1 }
    }

    /// A job is active no longer: it has ended, or is left to the store.
    @discardableResult
    mutating func deactivate(_ id: JobID) -> ActiveJob? {
        guard let slot = slots[id], let active = entries[slot]?.takeActive() else { return nil }
        activeCount -= 1
        active.move(to: .outside)
        return active
    }

    /// All jobs leave.
    mutating func removeAllActive() {
        for job in activeJobs { deactivate(job.id) }
    }

    /// Counts a job as ended that is kept elsewhere.
    package mutating func countEnd(in state: JobState) { totals.countEnd(in: state) }

    /// Forgets a job that has not begun, as if it had never been accepted.
    ///
    /// It may have been cancelled since, and dropped for that.
    ///
    /// - Parameter id: of a job that was kept here, and has not been discarded yet.
    package mutating func discard(_ id: JobID) {
        if !letGo(id) {
            if let slot = slots[id] {
                guard let entry = entries[slot]?.retainedAsCancelled else { return }
                ended.remove(entry)
                drop(slot)
            }
            totals.cancelled -= 1
        }
        totals.accepted -= 1
    }

    /// Forgets a job that has not ended and is kept elsewhere.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    package mutating func letGo(_ id: JobID) -> Bool {
        guard let slot = slots[id], let job = entries[slot]?.job, !job.state.isEnded else {
            return false
        }
        liveByteCount -= job.byteCount
        drop(slot)
        return true
    }

    private mutating func insert(_ job: Job, _ active: ActiveJob?) {
        let tally = tallyHandle(of: job.thread)
        tallies.update(tally) { $0[job.state] += 1 }
        overall[job.state] += 1
        if active != nil { activeCount += 1 }
        slots[job.id] = entries.append(Entry(job: job, tally: tally, active: active), to: &byID)
    }

    /// Lets `event` happen to a job.
    ///
    /// A job that ends may be dropped at once if the limits say so: its outcome is in the caller's
    /// hands.
    ///
    /// - Returns: the state that the job is in now.
    /// - Throws: `.unknownJob`, `.illegalTransition`; nothing has changed then.
    @discardableResult
    package mutating func apply(
        _ event: JobEvent, to id: JobID, at now: Int64
    ) throws(JobStoreError) -> JobState {
        guard let slot = slots[id] else { throw .unknownJob(id) }
        let change: Step?
        do {
            change = try entries[slot]?.apply(event, at: now)
        } catch {
            throw .illegalTransition(error)
        }
        guard let change else { throw .unknownJob(id) }
        count(change, of: id, at: now)
        return change.after
    }

    /// Lets a job begin, unless it has begun or does not wait for that.
    ///
    /// - Returns: whether it begins.
    package mutating func start(_ id: JobID, on worker: String, at now: Int64) -> Bool {
        guard let slot = slots[id],
            let change = try? entries[slot]?.start(on: worker, at: now)
        else { return false }
        count(change, of: id, at: now)
        return true
    }

    /// Lets a job end, which has begun whether that was told before or not.
    ///
    /// - Parameters:
    ///   - keepsPayload: whether it can be run again from here if it has failed.
    /// - Throws: `.unknownJob`, `.illegalTransition`.
    package mutating func finish(
        _ id: JobID, _ outcome: Outcome, on worker: String, from startedAt: Int64, at now: Int64,
        keepsPayload: Bool
    ) throws(JobStoreError) {
        guard let slot = slots[id] else { throw .unknownJob(id) }
        let change: Step?
        do {
            change = try entries[slot]?.finish(
                outcome, on: worker, from: startedAt, at: now, keepsPayload: keepsPayload)
        } catch {
            throw .illegalTransition(error)
        }
        if let change { count(change, of: id, at: now) }
    }

    private mutating func count(_ change: Step, of id: JobID, at now: Int64) {
        tallies.update(change.tally) { $0.move(from: change.before, to: change.after) }
        overall.move(from: change.before, to: change.after)
        if change.after.isEnded {
            totals.countEnd(in: change.after)
            liveByteCount -= change.byteCountBefore
            let entry = RetainedJobs.Entry(
                id: id, endedAt: now, byteCount: change.byteCountAfter)
            if change.after == .failed { failed.append(entry) } else { ended.append(entry) }
        } else if change.before == .failed, let endedAt = change.endedAtBefore {
            failed.remove(
                RetainedJobs.Entry(
                    id: id, endedAt: endedAt, byteCount: change.byteCountBefore))
            liveByteCount += change.byteCountAfter
        }
        dropEnded(at: now)
    }

    /// Returns a job, or `nil` if there never was one or it has been dropped.
    package func job(_ id: JobID) -> Job? {
        slots[id].flatMap { entries[$0]?.job }
    }

    /// Returns the state of a job without copying the job, or `nil` as `job(_:)` does.
    package func state(of id: JobID) -> JobState? {
        slots[id].flatMap { entries[$0]?.job.state }
    }

    /// Lists jobs, the newest first.
    ///
    /// - Parameters:
    ///   - thread: only those for this thread; `nil` for all.
    ///   - state: only those in this state; `nil` for all.
    ///   - numbers: only those with a number in this range.
    ///   - limit: no more than these, nor than `Limits.listCountMax`.
    ///   - searchCountMax: how many jobs are looked at.
    /// - Returns: the jobs, and the smallest number down to which all were looked at.
    package func newest(
        thread: String?, state: JobState?, in numbers: Range<JobID> = JobID(0)..<JobID.max,
        limit: Int, searchCountMax: Int = .max
    ) -> (jobs: [Job], searched: JobID) {
        let wanted = min(limit, Limits.listCountMax, count(thread: thread, state: state))
        var (found, searched): ([Job], JobID) = ([], numbers.lowerBound)
        guard wanted > 0 else { return (found, searched) }
        let tally = thread.flatMap { tallyHandles[$0] }
        // What was adopted stands behind younger ones: then all are looked at and sorted.
        let most = hasAdopted ? Int.max : wanted
        found.reserveCapacity(wanted)
        // A listing goes on where it ended: that job is mostly there still.
        let start = hasAdopted ? nil : slots[numbers.upperBound].flatMap(entries.slot(before:))
        var next = start ?? byID.last
        var left = hasAdopted ? Int.max : searchCountMax
        while found.count < most, let slot = next {
            next = entries.slot(before: slot)
            guard let id = entries[slot]?.job.id, id < numbers.upperBound else { continue }
            guard numbers.lowerBound <= id else {
                if hasAdopted { continue } else { break }
            }
            guard left > 0 else {
                searched = JobID(id.number + 1)
                break
            }
            left -= 1
            guard tally == nil || tally == entries[slot]?.tally else { continue }
            guard state == nil || state == entries[slot]?.job.state else { continue }
            if let job = entries[slot]?.job { found.append(job) }
        }
        guard hasAdopted else { return (found, searched) }
        found.sort { $1.id < $0.id }
        return (Array(found.prefix(wanted)), searched)
    }

    /// The number of jobs kept, of one thread or all, in one state or any.
    package func count(thread: String?, state: JobState?) -> Int {
        guard let thread else { return overall.count(in: state) }
        guard let handle = tallyHandles[thread] else { return 0 }
        return tallies[handle]?.count(in: state) ?? 0
    }

    /// Drops ended jobs that are older than the limits allow.
    ///
    /// The other operations do so as well: this is for a store that nobody has called for a while.
    package mutating func expire(at now: Int64) {
        dropEnded(at: now)
    }

    // MARK: - Ended jobs

    /// Drops what ended first until all limits are kept.
    private mutating func dropEnded(at now: Int64) {
        while let first = ended.popDue(at: now) { drop(first) }
        while let first = failed.popDue(at: now) { drop(first) }
    }

    private mutating func drop(_ entry: RetainedJobs.Entry) {
        if let slot = slots[entry.id] { drop(slot) }
    }

    /// Drops a job that has failed.
    ///
    /// - Returns: false if there is none of this id.
    package mutating func dropFailed(_ id: JobID) -> Bool {
        guard let entry = failedEntry(id), let slot = slots[id] else { return false }
        failed.remove(entry)
        drop(slot)
        return true
    }

    private func failedEntry(_ id: JobID) -> RetainedJobs.Entry? {
        slots[id].flatMap { entries[$0]?.retainedAsFailed }
    }

    /// The jobs of a selector that have failed and can be run again.
    ///
    /// - Complexity: O(jobs).
    package func failed(of selector: String) -> [JobID] {
        var found: [JobID] = []
        var next = byID.first
        while let slot = next {
            next = entries.slot(after: slot)
            guard let job = entries[slot]?.job else { continue }
            if job.mayRunAgain, job.selector == selector { found.append(job.id) }
        }
        return found.sorted()
    }

    private mutating func drop(_ slot: Int) {
        guard let entry = entries.remove(slot, from: &byID) else { return }
        if let active = entry.active {
            activeCount -= 1
            active.move(to: .outside)
        }
        slots[entry.job.id] = nil
        overall[entry.job.state] -= 1
        let left = tallies.update(entry.tally) { tally in
            tally[entry.job.state] -= 1
            return tally.count(in: nil)
        }
        guard left == 0 else { return }
        tallyHandles[entry.job.thread] = nil
        _ = tallies.remove(entry.tally)
    }

    /// Checks every counter against the jobs that it counts.
    ///
    /// - Complexity: O(count).
    package func checkInvariants() {
        precondition(activeJobs.count == activeCount, "\(activeCount) active")
        var counted = Tally()
        var bytes = (live: 0, retained: 0)
        var next = byID.first
        while let slot = next, let entry = entries[slot] {
            next = entries.slot(after: slot)
            let job = entry.job
            precondition(slots[job.id] == slot, "job \(job.id) is not where its id leads")
            counted[job.state] += 1
            if job.state.isEnded {
                precondition(
                    job.payload.isEmpty || job.mayRunAgain, "job \(job.id) ended with its payload")
                bytes.retained += job.byteCount
            } else {
                bytes.live += job.byteCount
            }
        }
        precondition(slots.count == entries.count, "\(slots.count) ids of \(entries.count) jobs")
        precondition(bytes.live == liveByteCount, "\(liveByteCount) live, not \(bytes.live)")
        let retained = ended.byteCount + failed.byteCount
        precondition(bytes.retained == retained, "\(retained) retained, not \(bytes.retained)")
        for state in JobState.allCases {
            let perThread = tallies.reduce(0) { $0 + $1.value[state] }
            precondition(overall[state] == counted[state], "\(overall[state]) \(state)")
            precondition(overall[state] == perThread, "\(perThread) \(state) by thread")
        }
        let endedCount = JobState.allCases.reduce(0) { $0 + ($1.isEnded ? counted[$1] : 0) }
        precondition(ended.count + failed.count == endedCount, "\(ended.count) ended")
        precondition(tallies.count == tallyHandles.count, "\(tallies.count) tallies")
    }

    // MARK: - Tallies

    private mutating func tallyHandle(of thread: String) -> SlotMap<Tally>.Handle {
        if let recentTally, recentTally.thread == thread, tallies.contains(recentTally.handle) {
            return recentTally.handle
        }
        let handle = tallyHandles[thread] ?? tallies.insert(Tally())
        tallyHandles[thread] = handle
        recentTally = (thread, handle)
        return handle
    }
}
