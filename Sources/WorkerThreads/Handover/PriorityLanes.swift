// Requests of high and low priority of one thread. They wait beside the thread's inbox, which keeps
// only requests of normal priority and so needs no lock.
//
// PriorityLanes.E1 overtake
//    push: `urgentCount` is raised ─▶ exchange: `urgentCount` is read
//    Carried by the inbox: a sender that pushes a high request and then a normal one raises the
//    count before it publishes the normal one (Inbox.E1). So the consumer, which reads the count
//    after it has taken the normal request, finds the high one and performs it first.
// PriorityLanes.E2 give way
//    push of a low request, under the lock ─▶ popLow: the inbox is looked at, under the lock
//    A sender that pushes a normal request and then a low one has claimed a slot of the inbox
//    before it takes the lock. So the consumer, which finds the low request, also finds that slot
//    claimed.
//
// Without the first a normal request could overtake a high one that its own sender had pushed
// before it, and without the second a low request a normal one.

internal import Structures
internal import Synchronization

/// The high and low requests of one thread, in order of arrival within each priority.
final class PriorityLanes: Sendable {
    private struct State {
        /// The lane of normal priority holds at most one request: one that a high one has
        /// overtaken.
        var requests = PriorityFIFO<PerformRequest>()
        var nextSequence: UInt64 = 0
        var isResting = true
        var isClosed = false

        mutating func push(_ request: PerformRequest, _ priority: SubmitPriority) {
            _ = requests.push(request, lane: priority.rawValue, sequence: nextSequence)
            nextSequence += 1
        }
    }

    private let state = Mutex(State())
    /// The number of requests of high and normal priority; written under the lock.
    private let urgentCount = Atomic<Int>(0)
    /// The number of all requests; written under the lock.
    private let allCount = Atomic<Int>(0)

    /// Queues a request of high or low priority.
    ///
    /// - Returns: `.first` if the caller must wake the thread.
    /// - Thread: any thread.
    func push(
        _ request: PerformRequest, _ priority: SubmitPriority
    ) -> Inbox<PerformRequest>.PushResult {
        state.withLock { state in
            if state.isClosed { return .closed }
            state.push(request, priority)
            count(1, priority)
            defer { state.isResting = false }
            return state.isResting ? .first : .queued
        }
    }

    private func count(_ change: Int, _ priority: SubmitPriority) {
        allCount.add(change, ordering: .relaxed)
        if priority != .low { urgentCount.add(change, ordering: .releasing) }
    }

    /// Takes the request that goes before everything in the inbox, if there is one.
    ///
    /// - Thread: the worker's.
    func popUrgent() -> PerformRequest? {
        guard urgentCount.load(ordering: .acquiring) > 0 else { return nil }
        return state.withLock { popUrgent(&$0) }
    }

    private func popUrgent(_ state: inout State) -> PerformRequest? {
        guard let lane = state.requests.firstTicket?.lane, lane < SubmitPriority.low.rawValue,
            let request = state.requests.popFirst()?.element
        else { return nil }
        count(-1, .high)
        return request
    }

    /// Keeps a normal request, just taken out of the inbox, if a high one goes before it.
    ///
    /// - Returns: the request to perform now.
    /// - Thread: the worker's.
    func exchange(_ normal: PerformRequest) -> PerformRequest {
        guard urgentCount.load(ordering: .acquiring) > 0 else { return normal }  // PriorityLanes.E1
        return state.withLock { state in
            guard let high = popUrgent(&state) else { return normal }
            state.push(normal, .normal)
            count(1, .normal)
            return high
        }
    }

    /// Takes the oldest low request if no other request waits.
    ///
    /// - Parameter isInboxEmpty: whether no slot of the inbox is claimed.
    /// - Thread: the worker's.
    func popLow(if isInboxEmpty: () -> Bool) -> PerformRequest? {
        guard allCount.load(ordering: .relaxed) > 0 else { return nil }
        return state.withLock { state in
            guard state.requests.firstTicket?.lane == SubmitPriority.low.rawValue, isInboxEmpty(),
                let request = state.requests.popFirst()?.element
            else { return nil }  // PriorityLanes.E2
            count(-1, .low)
            return request
        }
    }

    /// Has the next request announced, if everything was taken.
    ///
    /// - Returns: false when a request waits.
    /// - Thread: the worker's.
    func rest() -> Bool {
        state.withLock { state in
            guard state.requests.isEmpty else { return false }
            state.isResting = true
            return true
        }
    }

    /// Whether the next request is announced.
    var isResting: Bool { state.withLock { $0.isResting } }

    /// The number of requests.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    var count: Int { allCount.load(ordering: .relaxed) }

    /// Refuses later requests, and takes out those that wait, highest priority first.
    ///
    /// - Returns: the requests that go before those in the inbox, and those that go after them.
    func close() -> (urgent: [PerformRequest], low: [PerformRequest]) {
        state.withLock { state in
            state.isClosed = true
            urgentCount.store(0, ordering: .relaxed)
            allCount.store(0, ordering: .relaxed)
            var (urgent, low): ([PerformRequest], [PerformRequest]) = ([], [])
            while let (ticket, request) = state.requests.popFirst() {
                if ticket.lane == SubmitPriority.low.rawValue {
                    low.append(request)
                } else {
                    urgent.append(request)
                }
            }
            return (urgent, low)
        }
    }
}
