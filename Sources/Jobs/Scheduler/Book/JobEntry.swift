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
    // SAFETY: confined to one thread, and no access calls out to anything that could make another
    // one, so accesses never overlap. Each job makes dozens; checked, they would cost as much as
    // all that they are for.
    @exclusivity(unchecked) private var contents: Contents

    /// All that it knows, in one value, so that an object is used again for another job as it was
    /// made for the first.
    private struct Contents {
        let selectorIndex: Int
        let group: ThreadGroup
        let queue: JobQueue?
        let payloadByteCount: Int
        var job: Job
        var place = JobPlace.outside
        var part = JobQueue.Part.inTurn
        var orders: JobOrders
        var retry: RetryPlan
        var attempt: AnyObject?
        var attemptNumber: Int
        var expiresAt: Int64
        var tally = 0
        var turn: UInt64 = 0
        var release: Alarms.Handle?
        var isOfferPending = false
        var isInherited = false
        var isInHands = false
        var goesByClock: Bool
        var isAskedToEnd = false
        var isInterrupted = false
        var waiters = WaitingClients()
        var rare: Rare?

        init(
            _ job: consuming Job, selectorIndex: Int, of group: consuming ThreadGroup,
            orders: consuming JobOrders, queue: consuming JobQueue?
        ) {
            let details = job.details
            payloadByteCount = job.payload.count
            attemptNumber = job.attempt + 1
            expiresAt = job.expiresAt ?? .max
            goesByClock = job.goesByClock
            retry = RetryPlan(
                countMax: details.options.retryCountMax ?? 0,
                blocks: details.options.retryBlocks == true && orders.own != nil,
                forgivenCount: job.forgivenCount)
            self.selectorIndex = selectorIndex
            self.group = group
            self.orders = orders
            self.queue = queue
            self.job = job
        }
    }

    /// The parts that few jobs have.
    private final class Rare {
        var expiry: Alarms.Handle?
        var stuckSince: Int64?
        var lastFailure: String?
    }

    init(
        _ job: consuming Job, selectorIndex: Int, of group: consuming ThreadGroup,
        orders: consuming JobOrders, queue: consuming JobQueue?
    ) {
        unsafe contents = Contents(
            job, selectorIndex: selectorIndex, of: group, orders: orders, queue: queue)
    }

    /// A job that no scheduler runs.
    package convenience init(inactive job: Job) {
        self.init(
            job, selectorIndex: 0,
            of: ThreadGroup(
                name: job.thread, memberNames: [job.thread], maxQueued: 0, maxQueuedByteCount: 0,
                index: 0, startedAt: 0),
            orders: JobOrders(), queue: nil)
    }

    /// Uses the object for another job; nothing refers to it.
    func become(
        _ job: consuming Job, selectorIndex: Int, of group: consuming ThreadGroup,
        orders: consuming JobOrders, queue: consuming JobQueue?
    ) {
        unsafe contents = Contents(
            job, selectorIndex: selectorIndex, of: group, orders: orders, queue: queue)
    }

    package var id: JobID { unsafe contents.job.id }
    package var details: JobDetails { unsafe contents.job.details }
    /// The number by which the driver knows its handler.
    package var selectorIndex: Int { unsafe contents.selectorIndex }
    package var group: ThreadGroup { unsafe contents.group }
    /// The number by which the driver knows its group.
    package var groupIndex: Int { unsafe contents.group.index }
    /// The queue of the store that it belongs to; nil for a job in memory only.
    var queue: JobQueue? { unsafe contents.queue }
    /// How many bytes it was accepted with.
    var payloadByteCount: Int { unsafe contents.payloadByteCount }

    /// The job: its request, its state and its attempts.
    package internal(set) var job: Job {
        _read { yield unsafe contents.job }
        _modify { yield unsafe &contents.job }
    }

    /// Where it is; changed by `move(to:)` only.
    package internal(set) var place: JobPlace {
        _read { yield unsafe contents.place }
        _modify { yield unsafe &contents.place }
    }

    /// Which part of its queue's memory it is counted in.
    var part: JobQueue.Part {
        get { unsafe contents.part }
        set { unsafe contents.part = newValue }
    }

    /// The orders that it keeps; none once it is active no longer.
    private(set) var orders: JobOrders {
        get { unsafe contents.orders }
        set { unsafe contents.orders = newValue }
    }

    package private(set) var retry: RetryPlan {
        get { unsafe contents.retry }
        set { unsafe contents.retry = newValue }
    }

    /// The driver's part of the present attempt, once that is queued; the scheduler only asks about
    /// it.
    package var attempt: AnyObject? {
        get { unsafe contents.attempt }
        set { unsafe contents.attempt = newValue }
    }

    /// The number of its present attempt, from 1 on.
    package var attemptNumber: Int { unsafe contents.attemptNumber }

    /// When it is too late to begin, in Unix milliseconds; `.max` for never, as for a later
    /// attempt.
    package var expiresAt: Int64 { unsafe contents.expiresAt }

    /// Where the book counts the jobs of its thread.
    var tally: Int {
        get { unsafe contents.tally }
        set { unsafe contents.tally = newValue }
    }

    /// The number of its turn: a later turn has a larger number.
    ///
    /// It stays when the job is taken back and offered again.
    package var turn: UInt64 { unsafe contents.turn }

    /// Rings when it is due.
    var release: Alarms.Handle? {
        get { unsafe contents.release }
        set { unsafe contents.release = newValue }
    }

    /// Whether the driver has yet to carry out an offer.
    package var isOfferPending: Bool {
        get { unsafe contents.isOfferPending }
        set { unsafe contents.isOfferPending = newValue }
    }

    /// Whether a worker of an earlier run may still have it: then it goes before all others, and
    /// the jobs of its order wait for its end.
    var isInherited: Bool { unsafe contents.isInherited }

    /// Whether that worker may have it now: then it counts as running.
    var isInHands: Bool { unsafe contents.isInHands }

    /// Whether it is due at a time of day, however the clock is set.
    var goesByClock: Bool {
        get { unsafe contents.goesByClock }
        set { unsafe contents.goesByClock = newValue }
    }

    /// Whether it was asked to end while it ran.
    var isAskedToEnd: Bool {
        get { unsafe contents.isAskedToEnd }
        set { unsafe contents.isAskedToEnd = newValue }
    }

    /// Whether a shutdown asked it to end, and no client.
    var isInterrupted: Bool {
        get { unsafe contents.isInterrupted }
        set { unsafe contents.isInterrupted = newValue }
    }

    /// Whether it has neither ended nor been left to the store.
    var isActive: Bool { if case .outside = place { false } else { true } }

    /// The thread or pool that it is for.
    package var thread: String { details.thread }
    package var slot: String { details.slot }

    /// The bytes for its handler.
    package var payload: [UInt8] { job.payload }

    /// Whether a store keeps it.
    package var isStored: Bool { queue != nil }

    /// Whether another attempt may follow the present one.
    var mayRetry: Bool { retry.follows(attempt: attemptNumber) && !isAskedToEnd }

    /// Goes on to the next attempt.
    func beginAnew() {
        unsafe contents.attemptNumber += 1
        unsafe contents.expiresAt = .max
        attempt = nil
        goesByClock = false
        unsafe contents.isInherited = false
        unsafe contents.isInHands = false
        stuckSince = nil
    }

    /// A worker in another process had begun it: it expires no more.
    func hasBegunElsewhere(isInherited: Bool = false) {
        unsafe contents.expiresAt = .max
        unsafe contents.isInHands = isInherited
        if isInherited { unsafe contents.isInherited = true }
    }

    /// Its worker has vanished: another attempt follows, beside its retries.
    func forgiveAttempt() {
        unsafe contents.attemptNumber += 1
        unsafe contents.expiresAt = .max
        retry.forgivenCount += 1
        unsafe contents.isInHands = false
    }

    /// Whether the jobs behind it in its order wait until it has ended.
    var holdsUpOthers: Bool { retry.blocks || isInherited }

    /// The order whose jobs wait behind it, if it holds up others.
    var heldUpOrder: JobOrder? { orders.heldUp(isInherited: isInherited) }

    /// Its turn has come.
    ///
    /// - Parameter number: of the turn.
    func takeTurn(_ number: UInt64) { unsafe contents.turn = number }

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
        get { unsafe contents.rare?.expiry }
        set { if unsafe contents.rare != nil || newValue != nil { madeRare.expiry = newValue } }
    }

    /// Since when it is known not to react, in Unix milliseconds.
    package internal(set) var stuckSince: Int64? {
        get { unsafe contents.rare?.stuckSince }
        set { if unsafe contents.rare != nil || newValue != nil { madeRare.stuckSince = newValue } }
    }

    /// Why its latest attempt failed; nil if none has while it was in memory.
    package internal(set) var lastFailure: String? {
        get { unsafe contents.rare?.lastFailure }
        set {
            if unsafe contents.rare != nil || newValue != nil { madeRare.lastFailure = newValue }
        }
    }

    var hasWaiters: Bool { unsafe !contents.waiters.isEmpty }

    func withWaiters(_ body: (inout WaitingClients) -> Void) { unsafe body(&contents.waiters) }

    /// Lets go of all who wait for its end.
    func takeWaiters() -> WaitingClients {
        unsafe exchange(&contents.waiters, with: WaitingClients())
    }

    private var madeRare: Rare {
        if let rare = unsafe contents.rare { return rare }
        let made = Rare()
        unsafe contents.rare = made
        return made
    }
}

/// The objects of forgotten jobs, which new jobs use again: these then take no memory of their own.
struct SpareEntries {
    private static let countMax = 64
    /// The bytes of a payload or result that a spare object may keep.
    private static let byteCountMax = 1_024

    private var entries: [JobEntry] = []

    /// Keeps the object of a forgotten job if nothing else refers to it.
    mutating func keep(_ entry: inout JobEntry) {
        guard entries.count < Self.countMax, isKnownUniquelyReferenced(&entry),
            entry.job.byteCount <= Self.byteCountMax
        else { return }
        entries.append(entry)
    }

    /// The object of a new job.
    mutating func entry(
        _ job: consuming Job, selectorIndex: Int, of group: consuming ThreadGroup,
        orders: consuming JobOrders, queue: consuming JobQueue?
    ) -> JobEntry {
        guard let spare = entries.popLast() else {
            return JobEntry(
                job, selectorIndex: selectorIndex, of: group, orders: orders, queue: queue)
        }
        spare.become(job, selectorIndex: selectorIndex, of: group, orders: orders, queue: queue)
        return spare
    }
}
