// A job between its acceptance and its end, as the desk holds it.

internal import Jobs
internal import RunLoops
internal import WorkerThreads

/// A job that has not ended.
///
/// Confined to the desk's thread.
final class LiveJob {
    let id: JobID
    /// Its present attempt.
    private(set) var context: JobContext
    let handler: Handler
    let lane: Lane
    /// The queue of the journal that it belongs to; nil for a volatile job.
    let backlog: Backlog?
    /// What it has in common with those whose order counts.
    let key: SubmitKey?
    /// As what it counts in its queue, until its end.
    var part = Backlog.Part.inTurn
    /// Whether a shutdown has asked it to end: what it has not done is done after the restart.
    var isInterrupted = false
    /// Its place among what waits; nil while the desk itself holds it.
    var ticket: WorkerPool.Ticket?
    /// How often it has got one.
    private(set) var turn: UInt32 = 0
    /// The orders that it keeps.
    let orders: JobOrders
    /// What it waits behind at the desk; nil if it does not.
    var holdUp: HoldUp?
    /// What lets it go when its time has come.
    var release: ThreadRunLoop.Timeout?
    /// Whether that is a time of the clock on the wall, however it is set.
    var goesByClock = false
    /// What ends it if it has not begun by then.
    var expiry: ThreadRunLoop.Timeout?
    /// Tells when it has not ended although it was to end.
    var alarm: ThreadRunLoop.Timer?
    /// Since when it is known that it does not listen, in Unix milliseconds.
    var stuckSince: Int64?
    /// Why its latest attempt failed; nil if none has, or it has been out of memory since.
    var lastFailure: String?
    /// Those who wait for its end.
    var waiters = Waiters()

    init(
        _ id: JobID, _ context: JobContext, _ handler: Handler, of lane: Lane,
        orders: JobOrders, backlog: Backlog?
    ) {
        self.id = id
        self.context = context
        self.handler = handler
        self.lane = lane
        key = context.options.key.map { SubmitKey($0) }
        self.orders = orders
        self.backlog = backlog
    }

    /// The thread that it is for: the lane's name or a member's.
    var thread: String { context.details.thread }
    var priority: Priority { context.details.priority }
    /// How it is tried again.
    var retry: RetryPlan { context.retry }

    /// Whether another attempt may follow the present one.
    var mayRetry: Bool {
        retry.follows(attempt: context.attempt) && !context.isCancelRequested
    }

    /// Goes on to the next attempt, which the desk holds.
    func beginAnew() {
        context = context.next()
        ticket = nil
        goesByClock = false
        stuckSince = nil
    }

    /// It was handed to its lane.
    func takeTurn(_ ticket: WorkerPool.Ticket) {
        self.ticket = ticket
        turn &+= 1
    }

    /// It waits behind no other one any more.
    func leaveHoldUp() {
        if holdUp?.forget(id) == true { lane.countHeldBack(-1) }
        holdUp = nil
    }

    /// Whether the journal knows it.
    var isDurable: Bool { backlog != nil }

    /// Lets go of everybody who waits.
    func takeWaiters() -> Waiters {
        defer { waiters = Waiters() }
        return waiters
    }
}
