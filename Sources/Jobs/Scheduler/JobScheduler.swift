// The one place that knows where each job is, from its acceptance until it is forgotten: a state
// machine without a thread, a file, a socket or a clock.
//
// Its package methods are the inputs; each appends the actions that have to follow to `effects`, in
// order. A driver calls `advance(to:)`, then an input, carries out the effects, and calls `advance`
// at `alarms.first`:
//
//     request ─┐                                ┌─▶ store        keep, record
//     answers ─┼─▶ input ─▶ JobScheduler ─▶ effects ─▶ threads  offer, retract, cancel
//     ends ────┤      ▲                         └─▶ clients      answer, news, rows
//     time ────┘      └ asks: SchedulerEnvironment
//
// An answer of the store is always a next input, so there is no re-entrance. Every job goes one
// road, whether a store keeps it or not: `perform` is the one place that decides that.

internal import Structures
internal import Synchronization

/// Schedules jobs on groups of threads.
///
/// Owns all jobs in memory (`book`), the windows of stored queues (`queues`), the orders that jobs
/// keep (`orders`) and all that clients wait for.
///
/// Invariants: an active job is in exactly one place (`JobPlace`), and the counts of its group
/// follow it; a stored job is in memory or parked, decided when its change is issued
/// (`QueueWindow`, `DelayedWindow`); each reply token is answered once.
///
/// - Complexity: O(1) on average for accepting, ending and cancelling a job; O(jobs in memory) for
///   bulk actions, a shutdown and a clock that was set.
package struct JobScheduler: ~Copyable {
    /// The time of the present input; the driver calls `advance(to:)` before each.
    package private(set) var now: SchedulerTime
    /// The work of the driver.
    package var effects = JobEffects()
    package internal(set) var book: JobBook
    package internal(set) var queues: JobQueues
    package internal(set) var orders = OrderKeeper()
    package internal(set) var alarms = Alarms()
    package internal(set) var store: StoreLink
    package var audience = Audience()
    package internal(set) var stage = SchedulerStage()
    var served: ServedNames
    var names: UniqueNames
    var cancels = PendingCancels()
    let environment: any SchedulerEnvironment
    /// Spreads the pauses before further attempts.
    var jitter: SplitMix64
    /// Has the compiler pass the scheduler by its address.
    ///
    /// A value that contains an atomic is never moved to be read. The scheduler is a kilobyte, and
    /// each call of a function that only reads would copy it.
    private let isInPlace = Atomic<Bool>(true)

    /// - Parameters:
    ///   - groups: the configured threads and pools.
    ///   - selectors: the names for which there are handlers.
    ///   - limits: of waiting jobs, and of ended jobs that are kept.
    ///   - window: how much of a stored queue is in memory.
    ///   - isKeeping: whether there is a store that keeps jobs.
    ///   - seed: of the pauses before further attempts; the same inputs with the same seed say the
    ///     same.
    package init(
        _ groups: [ThreadGroup], _ selectors: [JobSelector], limits: StoreLimits,
        window: WindowLimits = WindowLimits(), isKeeping: Bool, nextNumber: UInt64 = 1,
        now: SchedulerTime, seed: UInt64, _ environment: any SchedulerEnvironment
    ) {
        jitter = SplitMix64(seed: seed)
        self.now = now
        store = StoreLink(isKeeping: isKeeping)
        self.environment = environment
        served = ServedNames(groups, selectors)
        book = JobBook(limits: limits, nextNumber: nextNumber)
        queues = JobQueues(window)
        names = UniqueNames()
    }

    // MARK: - The driver's part

    /// When `advance` is to be called, in nanoseconds on the monotonic clock; nil if nothing is
    /// due.
    package var nextAlarm: Int64? { alarms.first }

    /// Whether the driver has something to do, and does not do it already.
    ///
    /// Asked here: a call to a part of the scheduler copies the part.
    package var hasNewEffects: Bool { !effects.isEmpty && !effects.areBeingCarriedOut }

    /// Whether a client watches a job.
    package func isWatched(_ id: JobID) -> Bool { audience.watches.isWatched(id) }

    /// Whether clients are throttled because too many bytes await their commit.
    package var throttlesClients: Bool { store.commits.isFull }

    /// Counts that had to be repaired: lines for the log.
    package func takeFaults() -> [String] {
        queues.miscounts.hasReports ? queues.miscounts.takeReports() : []
    }

    // MARK: - Time

    /// Sets the present time, and does all that is due: it comes before the next input.
    package mutating func advance(to time: SchedulerTime) {
        now = time
        if let first = alarms.first, first <= time.monotonic { advance() }
    }

    /// Does all that is due now.
    package mutating func advance() {
        var due: [JobEntry] = []
        repeat {
            due.removeAll()
            while let alarm = alarms.popDue(at: now.monotonic) { ring(alarm, &due) }
            release(due)
        } while !due.isEmpty
    }

    /// - Parameter due: gets the job whose moment has come.
    private mutating func ring(_ alarm: Alarms.Alarm, _ due: inout [JobEntry]) {
        switch alarm {
        case .release(let job): due.append(job)
        case .expiry(let job): expire(job)
        case .parkedExpiry: findExpiredNow()
        case .patience(let id, let reply, let milliseconds, _):
            waitedInVain(for: id, reply, milliseconds: milliseconds)
        case .look(let id): look(at: id)
        case .loadAgain(let queue): loadAgain(queue)
        case .keepDue: keepDue()
        }
    }

    // MARK: - The store

    /// Tells the store something.
    mutating func keep(_ command: consuming StoreCommand) { effects.keep(command) }

    /// Asks the store something.
    mutating func ask(_ inquiry: Inquiry, _ command: (UInt64) -> StoreCommand) {
        effects.keep(command(store.inquiries.expect(inquiry)))
    }

    /// Has the store record an event of a job, if it keeps the job.
    mutating func record(_ command: @autoclosure () -> StoreCommand, of job: JobEntry) {
        if job.isStored { effects.record(command()) }
    }

    /// Answers when everything that was told to the store is kept.
    mutating func confirm(_ answer: JobAnswer, _ reply: ReplyToken) {
        ask(.confirm(reply, answer)) { .confirm(ticket: $0) }
    }

    /// Has the effect `confirm` with this tag come when everything told to the store is kept, or
    /// can't be.
    package mutating func confirm(tag: UInt64) { keep(tag: tag) { .confirm(ticket: $0) } }

    /// Tells the store something of the driver's; the effect `confirm` with this tag says what
    /// became of it.
    package mutating func keep(tag: UInt64, _ command: (UInt64) -> StoreCommand) {
        ask(.driver(tag: tag), command)
    }

    /// Has the store keep which threads are paused; answers when it does.
    package mutating func keepPauses(_ change: PauseChange, _ reply: ReplyToken? = nil) {
        keep(.pause(change))
        if let reply { confirm(.done, reply) }
    }

    /// Has the store keep back numbers before they are given to jobs that leave no trace there.
    mutating func reserveNumbers() {
        let half = StoreRecovery.reservedCount / 2
        guard book.nextNumber + half > book.reservedBelow else { return }
        book.reservedBelow = book.nextNumber + StoreRecovery.reservedCount
        keep(.reserve(below: book.reservedBelow))
    }

    // MARK: - States of jobs

    /// Lets an event happen to a job, and tells the clients that watch it.
    mutating func apply(_ event: JobEvent, to id: JobID, at time: Int64? = nil) {
        // The book may drop a job as it ends.
        let entry = audience.followsChanges ? book.entry(id) : nil
        do throws(JobStoreError) {
            try book.apply(event, to: id, at: time ?? now.unixMilliseconds)
            if !audience.watches.isEmpty { tellWatchers(event, of: id) }
            if let entry { tell(event, of: entry, at: time ?? now.unixMilliseconds) }
        } catch {
            // The scheduler asks for nothing that a job's state does not allow.
            effects.note(.error, "job \(id): \(error); please report this fault")
        }
    }

    /// An attempt has begun, as its thread says.
    package mutating func began(_ id: JobID, on thread: String, at time: Int64) {
        guard book.start(id, on: thread, at: time) else { return }
        if !audience.watches.isEmpty { tellWatchers(.start(worker: thread), of: id) }
        if audience.followsChanges, let entry = book.entry(id) {
            tell(.running, of: entry, at: time)
        }
    }

    /// Notes which jobs have begun: threads report only ends.
    package mutating func noteRunning() {
        for job in environment.runningJobs() { began(job.id, on: job.thread, at: job.startedAt) }
    }

    /// A job's attempt may have begun: its thread has not said so yet.
    mutating func noteBeginning(of job: JobEntry) {
        if let beginning = beginning(of: job) {
            began(job.id, on: beginning.thread, at: beginning.startedAt)
        }
    }

    /// Where and when the present attempt of a job has begun; nil if it has not.
    package func beginning(of job: JobEntry) -> (thread: String, startedAt: Int64)? {
        job.attempt.flatMap { environment.beginning(of: $0) }
    }

    /// Checks all counters against the jobs that they count.
    ///
    /// - Complexity: O(jobs).
    package func checkInvariants() {
        book.checkInvariants()
        var kept: [Int: (kept: Int, heldUp: Int)] = [:]
        var inLineCounts: [Int: Int] = [:]
        var suspendedCounts: [Int: Int] = [:]
        var buffered: [Int: Set<JobID>] = [:]
        var moving: Set<QueueName> = []
        for job in book.activeJobs {
            if let queue = job.queue, !job.place.isInLine { moving.insert(queue.name) }
            if !job.place.isOffered { kept[job.group.index, default: (0, 0)].kept += 1 }
            switch job.place {
            case .outside: preconditionFailure("job \(job.id) is active and in no place")
            case .offered, .committing, .delayed: break
            case .buffered: buffered[job.group.index, default: []].insert(job.id)
            case .suspended: suspendedCounts[job.group.index, default: 0] += 1
            case .inLine: inLineCounts[job.group.index, default: 0] += 1
            case .heldUp(let holdUp):
                kept[job.group.index, default: (0, 0)].heldUp += 1
                precondition(
                    book.active(holdUp.blocker) != nil || stage.isRefusing
                        || orders.isUntilClaim(holdUp),
                    "job \(job.id) waits behind job \(holdUp.blocker), which has left")
            }
        }
        for queue in queues.all where !queue.line.isEmpty && !stage.isRefusing {
            precondition(
                moving.contains(queue.name) || queue.isLoadDue || queue.window.isLoading
                    || queue.delayed.isLoading || front(of: queue) < queue.delayed.horizon
                    || queue.isReleased || isStopped(queue),
                "jobs in line wait for nothing: \(queue.name) \(queue.line), "
                    + "\(queue.window.extent), delayed to \(queue.delayed.horizon)")
        }
        for group in served.groups {
            precondition(
                group.isSuspended || !group.drained.isEmpty || group.suspended.isEmpty,
                "group \(group.name) keeps \(group.suspended.count) suspended jobs for nothing")
            let counted = kept[group.index] ?? (0, 0)
            precondition(
                counted.kept == group.keptBackCount && counted.heldUp == group.heldUpCount
                    && inLineCounts[group.index, default: 0] == group.inLineCount
                    && suspendedCounts[group.index, default: 0] == group.suspendedCount,
                "group \(group.name) has \(counted), and counts \(group.keptBackCount) kept back, "
                    + "\(group.heldUpCount) held up, \(group.inLineCount) in line, "
                    + "\(group.suspendedCount) suspended")
            precondition(
                buffered[group.index, default: []].isSubset(of: group.buffered),
                "group \(group.name) has lost a buffered job")
            precondition(
                waitingCount(of: group) <= book.activeCount + queues.load.parkedSum.count,
                "group \(group.name) has \(waitingCount(of: group)) waiting jobs, more than all")
        }
    }
}

/// How far a scheduler has gone down: each step takes less than the one before.
package struct SchedulerStage {
    /// Whether new jobs are refused.
    package internal(set) var isRefusing = false
    /// Whether delayed jobs stay in the store: only jobs in turn run.
    package internal(set) var keepsDelayed = false
    /// Whether all parked jobs stay in the store.
    package internal(set) var keepsParked = false
    /// Jobs in turn that were in memory and were left to the store.
    var keptInTurnCount = 0
    /// Stored jobs whose attempt the shutdown has interrupted.
    package var requeuedCount = 0
    package internal(set) var abandoned = AbandonedJobs()
}
