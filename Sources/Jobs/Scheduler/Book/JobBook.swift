// All jobs in memory: the active ones, and ended ones within limits.
//
// Each job is one object (`JobEntry`). A chain has all in the order in which they came, a table
// leads from a number to the job's place in it, a tally per thread counts its jobs by state, and a
// queue has the ended ones in the order in which they will be forgotten.
//
// A job that has not ended is active, or a stopped thread or a shutdown has left it to the store.

internal import Structures

/// Keeps jobs in memory, the ended ones within limits, one entry for each job.
///
/// - Thread: one, its owner's.
/// - Complexity: O(1) for everything but `newest`, which walks the jobs until it has found as many
///   as there are.
package struct JobBook {
    /// The counts of all events since the book was made.
    package private(set) var totals = JobTotals()

    /// How much it keeps.
    package private(set) var limits: StoreLimits
    /// The slot of each job in `chain`.
    private var slots: [JobID: Int] = [:]
    private var chain = LinkedSlots<JobEntry>()
    private var ends = LinkedSlots<JobEntry>.Chain()
    var spares = SpareEntries()
    private var ended: RetainedJobs
    private var failed: RetainedJobs
    /// Ended jobs in memory only to which unique names lead.
    private var named: NamedResults
    /// The counts of each thread that has jobs, and of none in the free places.
    private var tallies: [Tally] = []
    private var tallyPlaces: [String: Int] = [:]
    private var freeTallyPlaces: [Int] = []
    /// The one that was looked up last: most jobs are for the thread of the one before.
    private var recentTally: (thread: String, place: Int)?
    private var overall = Tally()
    /// The payload bytes of the jobs that have not ended.
    package private(set) var liveByteCount = 0

    /// The number of the next job.
    package private(set) var nextNumber: UInt64
    /// Numbers below this one are kept back in the store.
    var reservedBelow: UInt64 = 0
    /// How many jobs are active.
    package private(set) var activeCount = 0
    /// Whether jobs came in that are older than others here: then no listing can trust the chain.
    private var hasAdopted = false

    /// Makes an empty book.
    ///
    /// - Parameters:
    ///   - limits: how much it keeps.
    ///   - nextNumber: the id of its first job.
    package init(limits: StoreLimits = StoreLimits(), nextNumber: UInt64 = 1) {
        self.limits = limits
        ended = .ended(within: limits)
        failed = .failed(within: limits)
        named = NamedResults(byteCountMax: limits.retainedByteCountMax)
        self.nextNumber = nextNumber
    }

    /// Keeps within other limits from now on.
    package mutating func limit(_ limits: StoreLimits) {
        self.limits = limits
        ended.takeLimits(of: .ended(within: limits))
        failed.takeLimits(of: .failed(within: limits))
        named.byteCountMax = limits.retainedByteCountMax
    }

    private var liveCount: Int { chain.count - ended.count - failed.count - named.count }

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
    package mutating func keep(_ entry: JobEntry) { insert(entry) }

    /// Takes the next id for a job that is kept elsewhere.
    package mutating func takeNumber() -> JobID {
        totals.accepted += 1
        defer { nextNumber += 1 }
        return JobID(nextNumber)
    }

    /// Keeps a job that was accepted before and has not ended, under its own id.
    ///
    /// No limit refuses it: the caller loads only as much as there is room for.
    ///
    /// - Returns: false if it has ended, as the book knows.
    @discardableResult
    package mutating func adopt(_ entry: JobEntry) -> Bool {
        guard !entry.job.state.isEnded else { return false }
        // A job that was left to the store may come back.
        if let left = self.entry(entry.id) {
            guard !left.job.state.isEnded else { return false }
            letGo(entry.id)
        }
        hasAdopted = true
        liveByteCount += entry.job.byteCount
        insert(entry)
        return true
    }

    // MARK: - Active jobs

    /// The job of a number, active or not.
    ///
    /// Inlined: a call copies the book, which is 300 bytes.
    @inline(__always)
    package func entry(_ id: JobID) -> JobEntry? { slots[id].flatMap { chain[$0] } }

    /// The active job of a number.
    package func active(_ id: JobID) -> JobEntry? {
        guard let entry = entry(id), entry.isActive else { return nil }
        return entry
    }

    /// All active jobs, in the order in which they came.
    ///
    /// - Complexity: O(jobs).
    package var activeJobs: [JobEntry] {
        var found: [JobEntry] = []
        found.reserveCapacity(activeCount)
        forEach { if $0.isActive { found.append($0) } }
        return found
    }

    /// Calls `body` with the active jobs, in the order in which they came, until it returns false.
    package func forEachActive(_ body: (JobEntry) -> Bool) {
        var next = ends.first
        while let slot = next {
            next = chain.slot(after: slot)
            if let entry = chain[slot], entry.isActive, !body(entry) { return }
        }
    }

    func forEach(_ body: (JobEntry) -> Void) {
        var next = ends.first
        while let slot = next {
            next = chain.slot(after: slot)
            if let entry = chain[slot] { body(entry) }
        }
    }

    /// A failed job runs again.
    mutating func activate(_ entry: JobEntry) {
        guard let slot = slots[entry.id], let before = chain[slot],
            !before.isActive
        else { return }
        entry.tally = before.tally
        chain[slot] = entry
        activeCount += 1
    }

    /// A job is active no longer: it has ended, or is left to the store.
    mutating func deactivate(_ entry: JobEntry) {
        guard entry.isActive else { return }
        activeCount -= 1
        entry.leave()
    }

    /// All jobs leave.
    mutating func removeAllActive() {
        for entry in activeJobs { deactivate(entry) }
    }

    /// Counts a job as ended that is kept elsewhere.
    package mutating func countEnd(in state: JobState) { totals.countEnd(in: state) }

    /// Forgets a job that has not begun, as if it had never been accepted.
    ///
    /// It may have been cancelled since, or have expired, and been dropped for that.
    ///
    /// - Parameters:
    ///   - id: of a job that was kept here, and has not been discarded yet.
    ///   - end: how it has ended since, if it has.
    package mutating func discard(_ id: JobID, endedAs end: JobState = .cancelled) {
        totals.accepted -= 1
        if letGo(id) { return }
        guard end.isEnded else { return }
        if end == .expired { totals.expired -= 1 } else { totals.cancelled -= 1 }
        guard let retained = entry(id)?.retained(as: end) else { return }
        ended.remove(retained)
        drop(id)
    }

    /// Forgets a job that has not ended and is kept elsewhere.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    package mutating func letGo(_ id: JobID) -> Bool {
        guard let entry = entry(id), !entry.job.state.isEnded else { return false }
        liveByteCount -= entry.job.byteCount
        drop(id)
        return true
    }

    private mutating func insert(_ entry: JobEntry) {
        let (tally, state) = (tallyPlace(of: entry.thread), entry.job.state)
        tallies[tally][state] += 1
        overall[state] += 1
        if entry.isActive { activeCount += 1 }
        entry.tally = tally
        let id = entry.id
        slots[id] = chain.append(entry, to: &ends)
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
        guard let entry = entry(id) else { throw .unknownJob(id) }
        let before = Before(entry)
        do {
            try entry.job.apply(event, at: now)
        } catch {
            throw .illegalTransition(error)
        }
        count(entry, before, at: now)
        return entry.job.state
    }

    /// Lets a job begin, unless it has begun or does not wait for that.
    ///
    /// - Returns: whether it begins.
    package mutating func start(_ id: JobID, on worker: String, at now: Int64) -> Bool {
        guard let entry = entry(id), entry.job.state == .waiting else { return false }
        let before = Before(entry)
        guard (try? entry.job.apply(.start(worker: worker), at: now)) != nil else { return false }
        count(entry, before, at: now)
        return true
    }

    /// Lets a job end, which has begun whether that was told before or not.
    ///
    /// - Parameters:
    ///   - keepsPayload: whether it can be run again from here if it has failed.
    /// - Throws: `.illegalTransition`.
    package mutating func finish(
        _ entry: JobEntry, _ outcome: Outcome, on worker: String, from startedAt: Int64,
        at now: Int64, keepsPayload: Bool
    ) throws(JobStoreError) {
        let before = Before(entry)
        do {
            if before.state == .waiting {
                try entry.job.apply(.start(worker: worker), at: startedAt)
            }
            try entry.job.apply(.finish(outcome), at: now)
        } catch {
            throw .illegalTransition(error)
        }
        if !keepsPayload { entry.job.releasePayload() }
        count(entry, before, at: now)
    }

    /// The counted parts of a job.
    private struct Before {
        let state: JobState
        let byteCount: Int
        let endedAt: Int64?

        init(_ entry: JobEntry) {
            state = entry.job.state
            byteCount = entry.job.byteCount
            endedAt = entry.job.endedAt
        }
    }

    private mutating func count(_ entry: JobEntry, _ before: Before, at now: Int64) {
        let state = entry.job.state
        tallies[entry.tally].move(from: before.state, to: state)
        overall.move(from: before.state, to: state)
        if state.isEnded {
            totals.countEnd(in: state)
            liveByteCount -= before.byteCount
            retain(entry, endedAs: state, at: now)
        } else if before.state == .failed, let endedAt = before.endedAt {
            failed.remove(
                RetainedJobs.Entry(id: entry.id, endedAt: endedAt, byteCount: before.byteCount))
            liveByteCount += entry.job.byteCount
        }
        dropEnded(at: now)
    }

    private mutating func retain(_ entry: JobEntry, endedAs state: JobState, at now: Int64) {
        let byteCount = entry.job.byteCount
        if !entry.isStored, let until = limits.keptByName(entry.details, endedAs: state, at: now) {
            return named.append(entry.id, until: until, byteCount: byteCount)
        }
        let retained = RetainedJobs.Entry(id: entry.id, endedAt: now, byteCount: byteCount)
        if state == .failed { failed.append(retained) } else { ended.append(retained) }
    }

    /// Returns a job, or `nil` if there never was one or it has been dropped.
    package func job(_ id: JobID) -> Job? { entry(id)?.job }

    /// Returns the state of a job without copying the job, or `nil` as `job(_:)` does.
    package func state(of id: JobID) -> JobState? {
        entry(id)?.job.state
    }

    /// Lists jobs, from one end or the other.
    ///
    /// - Parameters:
    ///   - thread: only those for this thread; `nil` for all.
    ///   - state: only those in this state; `nil` for all.
    ///   - span: only those with a number in it, in its order.
    ///   - place: none behind it; nil for all.
    ///   - limit: no more than these, nor than `JobLimits.listCountMax`.
    ///   - searchCountMax: how many jobs are looked at.
    /// - Returns: the jobs, and the place up to which all were looked at.
    package func jobs(
        thread: String?, state: JobState?, in span: JobSpan = JobSpan(),
        through place: JobID? = nil, limit: Int, searchCountMax: Int = .max
    ) -> (jobs: [Job], searched: JobID) {
        let wanted = min(limit, JobLimits.listCountMax, count(thread: thread, state: state))
        let place = place ?? span.end
        var (found, searched): ([JobEntry], JobID) = ([], place)
        guard wanted > 0 else { return ([], searched) }
        let tally = thread.flatMap { tallyPlaces[$0] }
        // An adopted job is chained behind younger ones: then the whole chain is read and sorted.
        let most = hasAdopted ? Int.max : wanted
        var next = firstSlot(of: span)
        var left = hasAdopted ? Int.max : searchCountMax
        while found.count < most, let slot = next {
            next = span.isAscending ? chain.slot(after: slot) : chain.slot(before: slot)
            guard let entry = chain[slot] else { continue }
            let id = entry.id
            if !span.contains(id) || span.precedes(place, id) {
                // Entries before the span are passed over, an entry behind it ends the search.
                let isBehind = span.isAscending ? span.after < id : id < span.before
                if isBehind, !hasAdopted { break } else { continue }
            }
            guard left > 0 else {
                searched = span.place(shortOf: id)
                break
            }
            left -= 1
            guard tally == nil || tally == entry.tally else { continue }
            guard state == nil || state == entry.job.state else { continue }
            found.append(entry)
        }
        if hasAdopted { found.sort { span.precedes($0.id, $1.id) } }
        return (found.prefix(wanted).map(\.job), searched)
    }

    /// Where a listing begins.
    private func firstSlot(of span: JobSpan) -> Int? {
        // A listing goes on where it ended: that job is mostly there still.
        let former = hasAdopted ? nil : slots[span.isAscending ? span.after : span.before]
        guard span.isAscending else {
            return former.flatMap { chain.slot(before: $0) } ?? ends.last
        }
        return former.flatMap { chain.slot(after: $0) } ?? ends.first
    }

    /// Gives no number below this one from now on; numbers from it on are free.
    mutating func leap(to number: UInt64) {
        guard number > nextNumber else { return }
        (nextNumber, reservedBelow) = (number, number + StoreRecovery.reservedCount)
    }

    /// The number of jobs kept, of one thread or all, in one state or any.
    package func count(thread: String?, state: JobState?) -> Int {
        guard let thread else { return overall.count(in: state) }
        guard let tally = tallyPlaces[thread] else { return 0 }
        return tallies[tally].count(in: state)
    }

    /// Drops ended jobs that are older than the limits allow.
    ///
    /// The other operations do so as well. An idle daemon calls this one before it answers a
    /// question.
    package mutating func expire(at now: Int64) {
        dropEnded(at: now)
    }

    // MARK: - Ended jobs

    /// Drops the jobs that ended first until all limits are kept.
    private mutating func dropEnded(at now: Int64) {
        while let first = ended.popDue(at: now) { drop(first.id) }
        if !failed.isEmpty { while let first = failed.popDue(at: now) { drop(first.id) } }
        guard named.count > 0 else { return }
        while let id = named.popDue(at: now) { drop(id) }
    }

    /// Drops a job that has failed.
    ///
    /// - Returns: false if there is none of this id.
    package mutating func dropFailed(_ id: JobID) -> Bool {
        guard let retained = entry(id)?.retained(as: .failed) else { return false }
        failed.remove(retained)
        drop(id)
        return true
    }

    /// The jobs of a selector that have failed and can be run again.
    ///
    /// - Complexity: O(jobs).
    package func failed(of selector: String) -> [JobID] {
        var found: [JobID] = []
        forEach { entry in
            if entry.job.mayRunAgain, entry.details.selector == selector { found.append(entry.id) }
        }
        return found.sorted()
    }

    /// Forgets a job.
    private mutating func drop(_ id: JobID) {
        guard let slot = slots.removeValue(forKey: id),
            var entry = chain.remove(slot, from: &ends)
        else { return }
        if entry.isActive { deactivate(entry) }
        uncount(entry)
        spares.keep(&entry)
    }

    private mutating func uncount(_ entry: JobEntry) {
        let (tally, state) = (entry.tally, entry.job.state)
        overall[state] -= 1
        tallies[tally][state] -= 1
        guard tallies[tally].count(in: nil) == 0 else { return }
        tallyPlaces[entry.thread] = nil
        recentTally = nil
        freeTallyPlaces.append(tally)
    }

    /// Checks every counter against the jobs that it counts.
    ///
    /// - Complexity: O(count).
    package func checkInvariants() {
        precondition(activeJobs.count == activeCount, "\(activeCount) active")
        var counted = Tally()
        var bytes = (live: 0, retained: 0)
        forEach { entry in
            let job = entry.job
            precondition(self.entry(job.id) === entry, "job \(job.id) is not where its id leads")
            counted[job.state] += 1
            if job.state.isEnded {
                precondition(
                    job.payload.isEmpty || job.mayRunAgain, "job \(job.id) ended with its payload")
                bytes.retained += job.byteCount
            } else {
                bytes.live += job.byteCount
            }
        }
        precondition(slots.count == chain.count, "\(slots.count) ids of \(chain.count) jobs")
        precondition(bytes.live == liveByteCount, "\(liveByteCount) live, not \(bytes.live)")
        let retained = ended.byteCount + failed.byteCount + named.byteCount
        precondition(bytes.retained == retained, "\(retained) retained, not \(bytes.retained)")
        for state in JobState.allCases {
            let perThread = tallyPlaces.values.reduce(0) { $0 + tallies[$1][state] }
            precondition(overall[state] == counted[state], "\(overall[state]) \(state)")
            precondition(overall[state] == perThread, "\(perThread) \(state) by thread")
        }
        let endedCount = JobState.allCases.reduce(0) { $0 + ($1.isEnded ? counted[$1] : 0) }
        precondition(
            ended.count + failed.count + named.count == endedCount, "\(ended.count) ended")
        precondition(
            tallies.count == tallyPlaces.count + freeTallyPlaces.count, "\(tallies.count) tallies")
    }

    // MARK: - Tallies

    private mutating func tallyPlace(of thread: String) -> Int {
        if let recentTally, recentTally.thread == thread { return recentTally.place }
        let place = tallyPlaces[thread] ?? freeTallyPlaces.popLast() ?? tallies.count
        if place == tallies.count { tallies.append(Tally()) }
        tallyPlaces[thread] = place
        recentTally = (thread, place)
        return place
    }
}

extension JobEntry {
    /// How it is kept once it has ended in a state; nil in any other state.
    fileprivate func retained(as state: JobState) -> RetainedJobs.Entry? {
        guard job.state == state, let endedAt = job.endedAt else { return nil }
        return RetainedJobs.Entry(id: id, endedAt: endedAt, byteCount: job.byteCount)
    }
}
