// A job in memory between its acceptance and its end: where it is, and all that waits for it.

internal import Structures

/// Where an active job is.
///
///     outside ─▶ committing ─▶ delayed, buffered ─▶ heldUp ◀─▶ offered ─▶ outside
///                    └───────────────────────────────┴───────────▲
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
    /// It waits behind a job of its order that is tried again.
    case heldUp(HoldUp)
    /// It waits for a thread of its group, or runs.
    case offered

    var isOffered: Bool { if case .offered = self { true } else { false } }
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

/// A job that has not ended, in memory.
///
/// Owned by the job book; confined to its scheduler. Invariant: exactly one `place`, and the counts of the
/// group are those of the places of its jobs.
package final class ActiveJob {
    package let id: JobID
    package let details: JobDetails
    package let payload: [UInt8]
    package let selector: JobSelector
    package let group: ThreadGroup
    package let retry: RetryPlan
    /// The queue of the store that it belongs to; nil for a job in memory only.
    let queue: JobQueue?
    /// The orders that it keeps.
    let orders: JobOrders
    package internal(set) var place = JobPlace.outside
    /// Which part of its queue's memory it is counted in.
    var part = JobQueue.Part.inTurn
    /// The number of its present attempt, from 1 on.
    package private(set) var attemptNumber: Int
    /// When it is too late to begin, in Unix milliseconds; `.max` for never, as for a later attempt.
    package private(set) var expiresAt: Int64
    /// The driver's part of the present attempt, once that is queued; the scheduler only asks about it.
    package var attempt: AnyObject?
    /// Whether the driver has yet to carry out an offer.
    package var isOfferPending = false
    /// How often it was offered.
    private(set) var turn: UInt32 = 0
    /// Rings when it is due.
    var release: Alarms.Handle?
    /// Whether it is due at a time of day, however the clock is set.
    var goesByClock: Bool
    /// Whether it was asked to end while it ran.
    package var isAskedToEnd = false
    /// Whether a shutdown asked it to end: then it runs again after the restart.
    package var isInterrupted = false
    /// The parts that few jobs have.
    private var rare: Rare?

    private final class Rare {
        var expiry: Alarms.Handle?
        var stuckSince: Int64?
        var lastFailure: String?
        var waiters = Waiters()
    }

    init(
        _ job: borrowing Job, _ selector: JobSelector, of group: ThreadGroup, orders: JobOrders,
        queue: JobQueue?
    ) {
        id = job.id
        details = job.details
        payload = job.payload
        attemptNumber = job.attempt + 1
        expiresAt = job.expiresAt ?? .max
        goesByClock = job.goesByClock
        retry = RetryPlan(
            countMax: job.retryCountMax, blocks: job.retryBlocks && orders.own != nil,
            forgivenCount: job.forgivenCount)
        self.selector = selector
        self.group = group
        self.orders = orders
        self.queue = queue
    }

    /// The thread or pool that it is for.
    package var thread: String { details.thread }

    /// Whether a store keeps it.
    package var isStored: Bool { queue != nil }

    /// Whether another attempt may follow the present one.
    var mayRetry: Bool { retry.follows(attempt: attemptNumber) && !isAskedToEnd }

    /// Goes on to the next attempt.
    func beginAnew() {
        attemptNumber += 1
        expiresAt = .max
        attempt = nil
        goesByClock = false
        stuckSince = nil
    }

    /// It is offered to the threads of its group.
    func takeTurn() {
        attempt = nil
        isOfferPending = true
        turn &+= 1
        move(to: .offered)
    }

    // MARK: - Parts that few jobs have

    /// Rings when it is too late to begin.
    var expiry: Alarms.Handle? {
        get { rare?.expiry }
        set { if rare != nil || newValue != nil { madeRare.expiry = newValue } }
    }

    /// Since when it is known not to react, in Unix milliseconds.
    package internal(set) var stuckSince: Int64? {
        get { rare?.stuckSince }
        set { if rare != nil || newValue != nil { madeRare.stuckSince = newValue } }
    }

    /// Why its latest attempt failed; nil if none has while it was in memory.
    package internal(set) var lastFailure: String? {
        get { rare?.lastFailure }
        set { if rare != nil || newValue != nil { madeRare.lastFailure = newValue } }
    }

    var hasWaiters: Bool { rare.map { !$0.waiters.isEmpty } == true }

    func withWaiters(_ body: (inout Waiters) -> Void) { body(&madeRare.waiters) }

    /// Lets go of all who wait for its end.
    func takeWaiters() -> Waiters {
        guard let rare else { return Waiters() }
        defer { rare.waiters = Waiters() }
        return rare.waiters
    }

    private var madeRare: Rare {
        if let rare { return rare }
        let made = Rare()
        rare = made
        return made
    }
}
