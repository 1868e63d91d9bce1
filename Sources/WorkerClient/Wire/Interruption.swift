// Ending the waits of a client from another thread, for good. Each connection sleeps on a poller of
// its own, for a poller is made for one sleeper: two of them on one would keep each other awake,
// and take each other's wakes.

internal import Kernel
internal import Synchronization

/// Ends the waiting of all connections of a client, those included that are still to be made.
final class Interruption: Sendable {
    private struct State {
        var isOver = false
        /// The pollers on which the open connections sleep.
        var pollers: [ObjectIdentifier: SystemPoller] = [:]
    }

    private let state = Mutex(State())

    /// - Thread: any thread.
    /// - Blocks: never.
    func interrupt() {
        state.withLock { state in
            state.isOver = true
            for poller in state.pollers.values { poller.wake() }
        }
    }

    /// - Thread: any thread.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// - Throws: `.closedHere` once it is over.
    /// - Thread: any thread.
    func check() throws(WorkerClientError) {
        if isOver { throw .closedHere }
    }

    /// How many connections have a thread asleep on them at this moment.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    var sleeperCount: Int {
        state.withLock { $0.pollers.values.count { $0.isAsleep } }
    }

    /// Wakes this one, too, when the time comes.
    ///
    /// A poller that is added too late is not woken: its thread asks `isOver` before it sleeps.
    fileprivate func add(_ poller: SystemPoller) {
        state.withLock { $0.pollers[ObjectIdentifier(poller)] = poller }
    }

    fileprivate func remove(_ poller: SystemPoller) {
        state.withLock { $0.pollers[ObjectIdentifier(poller)] = nil }
    }
}

/// How long something may take, and when that is over.
struct CallDeadline {
    let limit: Duration
    let end: Instant
}

/// How one connection waits for its socket.
///
/// - Thread: one at a time.
final class InterruptibleWait {
    private let poller = SystemPoller()
    private let set: any PollSet
    private let interruption: Interruption

    /// Watches a socket, for reading first.
    init(on socket: CInt, _ interruption: Interruption) throws(SystemError) {
        set = try poller.makeSet()
        try set.add(socket, for: .readable, token: 1)
        self.interruption = interruption
        interruption.add(poller)
    }

    deinit {
        interruption.remove(poller)
    }

    var now: Instant { poller.now }

    /// Changes what is waited for.
    func watch(_ socket: CInt, for interest: Readiness) throws(SystemError) {
        try set.change(socket, for: interest, token: 1)
    }

    /// When waiting for so long, from now on, is over; nil if it never is.
    func deadline(after limit: Duration?) -> CallDeadline? {
        limit.map { CallDeadline(limit: $0, end: now.advanced(by: $0)) }
    }

    /// Waits until the socket is ready.
    ///
    /// - Throws: `.closed` when it was interrupted, `.timedOut`.
    /// - Blocks: until then; until the deadline at most.
    func untilReady(before deadline: CallDeadline?) throws(WorkerClientError) {
        var ready: [ReadyEvent] = []
        while true {
            try interruption.check()
            poller.wait(on: set, until: deadline?.end ?? .distantFuture, ready: &ready)
            if !ready.isEmpty { return }
            if let deadline, now >= deadline.end { throw .timedOut(after: deadline.limit) }
        }
    }
}
