// A job in memory between its acceptance and its end: where it is, and all that waits for it.

internal import Structures

/// Where an active job is.
///
///     outside ─▶ committing ─▶ delayed, buffered ─▶ inLine ─▶ heldUp ◀─▶ offered ─▶ outside
///                    └────────────────┴────────────────┴────────┴──────────▲
///
/// An attempt that fails and is tried again goes from `offered` to `delayed`.
package enum JobPlace {
    /// It comes, or it has left: it is counted nowhere.
    case outside
    /// Its change is on its way to the store.
    case committing
    /// It waits for its moment.
    case delayed
    /// It waits until its buffer is released.
    case buffered
    /// Its moment has come, and jobs with an earlier one may still be parked.
    case inLine
    /// It waits behind a job of its order that is tried again.
    case heldUp(HoldUp)
    /// Its turn has come, and its group takes no jobs until its threads have changed.
    case suspended
    /// It waits for a thread of its group, or runs.
    case offered

    var isOffered: Bool { if case .offered = self { true } else { false } }
    var isInLine: Bool { if case .inLine = self { true } else { false } }
}

/// How a job is tried again.
package struct RetryPlan: Sendable, Equatable {
    /// How many further attempts follow one that failed.
    package var countMax = 0
    /// Whether the jobs behind it in its order wait meanwhile; false without an order.
    package var blocks = false
    /// The attempts that count no more.
    package var forgivenCount = 0

    package init(countMax: Int = 0, blocks: Bool = false, forgivenCount: Int = 0) {
        self.countMax = countMax
        self.blocks = blocks
        self.forgivenCount = forgivenCount
    }

    /// Whether another attempt may follow this one.
    package func follows(attempt: Int) -> Bool { attempt - forgivenCount <= countMax }
}

/// A job in memory, from its acceptance until it is forgotten: the one object that all parts know.
///
/// Owned by the job book; confined to its scheduler's thread. Invariant: an active job is in
/// exactly one `place` that is not `outside`, and the counts of its group are those of the places
/// of its jobs.
package final class JobEntry {
    package let id: JobID
    package let details: JobDetails
    package let selector: JobSelector
    package let group: ThreadGroup
    package private(set) var retry: RetryPlan {
        get { unsafe uncheckedRetry }
        set { unsafe uncheckedRetry = newValue }
    }
    /// How many bytes it was accepted with.
    let payloadByteCount: Int
    /// The queue of the store that it belongs to; nil for a job in memory only.
    let queue: JobQueue?
    /// The orders that it keeps; none once it is active no longer.
    private(set) var orders: JobOrders {
        get { unsafe uncheckedOrders }
        set { unsafe uncheckedOrders = newValue }
    }
    /// Its place in the chain of the book.
    var slot = 0
    /// Where the jobs of its thread are counted.
    var tally: SlotMap<Tally>.Handle?
    /// Which part of its queue's memory it is counted in.
    var part = JobQueue.Part.inTurn
    /// The number of its turn: those of jobs whose turns came later are larger.
    ///
    /// It stays when the job is taken back and offered again.
    package private(set) var turn: UInt64 {
        get { unsafe uncheckedTurn }
        set { unsafe uncheckedTurn = newValue }
    }
    /// Rings when it is due.
    var release: Alarms.Handle?
    /// Whether a worker of an earlier run may still have it: then it goes before all others, and
    /// those of its order wait for its end.
    private(set) var isInherited: Bool {
        get { unsafe uncheckedIsInherited }
        set { unsafe uncheckedIsInherited = newValue }
    }
    /// Whether that worker may have it now: then it counts as running.
    private(set) var isInHands = false
    /// Whether it is due at a time of day, however the clock is set.
    var goesByClock: Bool
    /// Whether it was asked to end while it ran.
    var isAskedToEnd = false
    /// Whether a shutdown asked it to end: then it runs again after the restart.
    var isInterrupted = false

    // SAFETY: confined to one thread, and no access calls out to anything that could make another
    // one, so accesses never overlap. Each job makes dozens; checked, they would cost as much as
    // all that they are for.
    @exclusivity(unchecked) private var uncheckedJob: Job
    @exclusivity(unchecked) private var uncheckedPlace = JobPlace.outside
    @exclusivity(unchecked) private var uncheckedAttempt: AnyObject?
    @exclusivity(unchecked) private var uncheckedRetry: RetryPlan
    @exclusivity(unchecked) private var uncheckedOrders: JobOrders
    @exclusivity(unchecked) private var uncheckedTurn: UInt64 = 0
    @exclusivity(unchecked) private var uncheckedIsOfferPending = false
    @exclusivity(unchecked) private var uncheckedIsInherited = false
    @exclusivity(unchecked) private var uncheckedAttemptNumber: Int
    @exclusivity(unchecked) private var uncheckedExpiresAt: Int64
    @exclusivity(unchecked) private var waiters = WaitingClients()
    @exclusivity(unchecked) private var rare: Rare?

    /// The parts that few jobs have.
    private final class Rare {
        var expiry: Alarms.Handle?
        var stuckSince: Int64?
        var lastFailure: String?
    }

    init(
        _ job: consuming Job, _ selector: JobSelector, of group: ThreadGroup, orders: JobOrders,
        queue: JobQueue?
    ) {
        let details = job.details
        id = job.id
        self.details = details
        payloadByteCount = job.payload.count
        unsafe uncheckedAttemptNumber = job.attempt + 1
        unsafe uncheckedExpiresAt = job.expiresAt ?? .max
        goesByClock = job.goesByClock
        unsafe uncheckedRetry = RetryPlan(
            countMax: details.options.retryCountMax ?? 0,
            blocks: details.options.retryBlocks == true && orders.own != nil,
            forgivenCount: job.forgivenCount)
        self.selector = selector
        self.group = group
        unsafe uncheckedOrders = orders
        self.queue = queue
        unsafe uncheckedJob = job
    }

    /// A job that no scheduler runs.
    package convenience init(inactive job: Job) {
        self.init(
            job, JobSelector(name: job.selector, index: 0),
            of: ThreadGroup(
                name: job.thread, memberNames: [job.thread], maxQueued: 0, maxQueuedByteCount: 0,
                index: 0, startedAt: 0),
            orders: JobOrders(), queue: nil)
    }

    /// The job: its request, its state and its attempts.
    package internal(set) var job: Job {
        _read { yield unsafe uncheckedJob }
        _modify { yield unsafe &uncheckedJob }
    }

    /// Where it is; changed by `move(to:)` only.
    package internal(set) var place: JobPlace {
        _read { yield unsafe uncheckedPlace }
        _modify { yield unsafe &uncheckedPlace }
    }

    /// Whether it has neither ended nor been left to the store.
    var isActive: Bool { if case .outside = place { false } else { true } }

    /// The number of its present attempt, from 1 on.
    package var attemptNumber: Int { unsafe uncheckedAttemptNumber }

    /// When it is too late to begin, in Unix milliseconds; `.max` for never, as for a later
    /// attempt.
    package var expiresAt: Int64 { unsafe uncheckedExpiresAt }

    /// The driver's part of the present attempt, once that is queued; the scheduler only asks about
    /// it.
    package var attempt: AnyObject? {
        get { unsafe uncheckedAttempt }
        set { unsafe uncheckedAttempt = newValue }
    }

    /// Whether the driver has yet to carry out an offer.
    package var isOfferPending: Bool {
        get { unsafe uncheckedIsOfferPending }
        set { unsafe uncheckedIsOfferPending = newValue }
    }

    /// The thread or pool that it is for.
    package var thread: String { details.thread }

    /// The bytes for its handler.
    package var payload: [UInt8] { job.payload }

    /// Whether a store keeps it.
    package var isStored: Bool { queue != nil }

    /// Whether another attempt may follow the present one.
    var mayRetry: Bool { retry.follows(attempt: attemptNumber) && !isAskedToEnd }

    /// Goes on to the next attempt.
    func beginAnew() {
        unsafe uncheckedAttemptNumber += 1
        unsafe uncheckedExpiresAt = .max
        attempt = nil
        goesByClock = false
        isInherited = false
        isInHands = false
        stuckSince = nil
    }

    /// A worker in another process had begun it: it expires no more.
    func hasBegunElsewhere(isInherited: Bool = false) {
        unsafe uncheckedExpiresAt = .max
        isInHands = isInherited
        if isInherited { self.isInherited = true }
    }

    /// Its worker has vanished: another attempt follows, beside its retries.
    func forgiveAttempt() {
        unsafe uncheckedAttemptNumber += 1
        unsafe uncheckedExpiresAt = .max
        retry.forgivenCount += 1
        isInHands = false
    }

    /// Whether the jobs behind it in its order wait until it has ended.
    var holdsUpOthers: Bool { retry.blocks || isInherited }

    /// Its turn has come.
    ///
    /// - Parameter number: of the turn.
    func takeTurn(_ number: UInt64) { turn = number }

    /// It is offered to the threads of its group.
    func beOffered() {
        if attempt != nil { attempt = nil }
        isOfferPending = true
        move(to: .offered)
    }

    /// It is active no longer.
    func leave() {
        move(to: .outside)
        attempt = nil
    }

    /// Lets go of its orders: those of keys live as long as an active job keeps them.
    func forgetOrders() { orders = JobOrders() }

    /// Keeps other orders from now on: its name means one thread where it meant a pool, or the
    /// other way.
    func keep(_ orders: JobOrders) {
        self.orders = orders
        retry.blocks = details.options.retryBlocks == true && orders.own != nil
    }

    // MARK: - Parts that few jobs have

    /// Rings when it is too late to begin.
    var expiry: Alarms.Handle? {
        get { unsafe rare?.expiry }
        set { if unsafe rare != nil || newValue != nil { madeRare.expiry = newValue } }
    }

    /// Since when it is known not to react, in Unix milliseconds.
    package internal(set) var stuckSince: Int64? {
        get { unsafe rare?.stuckSince }
        set { if unsafe rare != nil || newValue != nil { madeRare.stuckSince = newValue } }
    }

    /// Why its latest attempt failed; nil if none has while it was in memory.
    package internal(set) var lastFailure: String? {
        get { unsafe rare?.lastFailure }
        set { if unsafe rare != nil || newValue != nil { madeRare.lastFailure = newValue } }
    }

    var hasWaiters: Bool { unsafe !waiters.isEmpty }

    func withWaiters(_ body: (inout WaitingClients) -> Void) { unsafe body(&waiters) }

    /// Lets go of all who wait for its end.
    func takeWaiters() -> WaitingClients {
        unsafe exchange(&waiters, with: WaitingClients())
    }

    private var madeRare: Rare {
        if let rare = unsafe rare { return rare }
        let made = Rare()
        unsafe rare = made
        return made
    }
}
