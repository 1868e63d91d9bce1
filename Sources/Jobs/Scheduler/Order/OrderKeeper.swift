// The orders of all threads, and of all keys that have live jobs.

/// Finds the order of a thread or key.
///
/// The order of a key lives as long as a job of its key does; the rest of the others is swept away
/// when their number has doubled.
package struct OrderKeeper {
    private struct Scope: Hashable {
        let thread: String
        let key: [UInt8]
    }

    private struct Weak {
        weak var order: JobOrder?
    }

    /// The orders that are held up.
    var holdUps = HoldUps()
    /// The orders whose blockers a shutdown has left to the store: jobs that are loaded later wait
    /// too.
    var heldUpUntilRestart: [JobOrder] = []
    /// The orders whose blockers have left with their thread, by its name: the claim that follows
    /// brings them back.
    var heldUpUntilClaim: [String: [JobOrder]] = [:]
    /// How many turns have come: the number of the latest one.
    var turnCount: UInt64 = 0
    /// How many jobs were looked at because one before them failed: the cost of a failure.
    package internal(set) var lookedAtCount = 0
    private var threads: [String: JobOrder] = [:]
    private var keys: [Scope: Weak] = [:]
    private var sweepCount = 64
    /// The one that was looked up last: most jobs are for the thread of the one before.
    private var recent: (thread: String, order: JobOrder)?

    /// The orders that a job keeps.
    ///
    /// - Parameter isForOne: whether its thread's name is that of one thread, not of a pool.
    mutating func orders(
        thread: String, isForOne: Bool, key: [UInt8]?
    ) -> JobOrders {
        JobOrders(
            thread: isForOne ? order(of: thread) : nil,
            key: key.map { order(of: $0, thread: thread) })
    }

    /// The hold-up behind which a job waits that is not in memory.
    func holdUp(thread: String, isForOne: Bool, key: [UInt8]?) -> HoldUp? {
        if isForOne, let holdUp = threads[thread]?.holdUp { return holdUp }
        return key.flatMap { keys[Scope(thread: thread, key: $0)]?.order?.holdUp }
    }

    /// Whether a claim is to bring the blocker of a hold-up back.
    func isUntilClaim(_ holdUp: HoldUp) -> Bool {
        heldUpUntilClaim.values.contains { $0.contains { $0.holdUp === holdUp } }
    }

    private mutating func order(of thread: String) -> JobOrder {
        if let recent, recent.thread == thread { return recent.order }
        let order = threads[thread] ?? JobOrder(notesJobs: false)
        threads[thread] = order
        recent = (thread, order)
        return order
    }

    private mutating func order(of key: [UInt8], thread: String) -> JobOrder {
        let scope = Scope(thread: thread, key: key)
        if let order = keys[scope]?.order { return order }
        if keys.count >= sweepCount {
            keys = keys.filter { $0.value.order != nil }
            sweepCount = max(64, keys.count * 2)
        }
        let order = JobOrder(notesJobs: true)
        keys[scope] = Weak(order: order)
        return order
    }
}
