// The requests of a thread with a limit at which senders wait or the oldest request gives way.
// Under a lock, unlike the inbox: a producer takes out here what another has put in. It knows
// nothing of loops, and what it decides is done by its owner once the lock is given back.

internal import Kernel
internal import Structures
internal import Synchronization

/// The fate of a submit to a full queue.
public enum WhenFull: Sendable, Hashable {
    /// It is refused, with `SubmitError.full`.
    case refuse
    /// Its sender waits until there is room, in the order of arrival: a thread is blocked, a task
    /// suspended. On the worker's own thread, which alone makes room, a sender that
    /// would block is refused.
    ///
    /// Two workers that each wait for room in the other's queue wait for ever.
    case wait
    /// The oldest waiting item of the lowest priority is refused instead: its sender, if it waits,
    /// is told `SubmitError.dropped`, and `droppedCount` counts it. If all waiting items go before
    /// the new one by their priority, the new one is refused with `SubmitError.full`.
    case dropOldest
}

/// Where a sender that is blocked learns that its request has a place, or has been refused.
final class Admission<Place: Sendable>: Sendable {
    private let decided = WordLatch()
    private let outcome = Mutex<Result<Place, SubmitError>?>(nil)

    func decide(_ result: Result<Place, SubmitError>) {
        outcome.withLock { $0 = result }
        decided.open()
    }

    /// - Blocks: until it is decided.
    func wait() throws(SubmitError) -> Place {
        decided.wait()
        guard let outcome = outcome.withLock({ $0 }) else {
            fatalError("nothing was decided")
        }
        return try outcome.get()
    }
}

/// A request that there was no room for, and the blocked sender's place to learn of its admission.
///
/// No sender is blocked that waits for the request's result anyway.
struct Newcomer: Sendable {
    let request: PerformRequest
    let priority: SubmitPriority
    let admission: Admission<Void>?

    func refuse(_ error: SubmitError) {
        request.refuse(error)
        admission?.decide(.failure(error))
    }
}

/// The bounded queue of one thread.
final class BoundedRequests: Sendable {
    /// The fate of a request, and the duty of its sender's thread.
    enum Addition {
        /// Wake the thread, if `wakes`; refuse what was dropped.
        case added(wakes: Bool, dropped: PerformRequest?)
        /// It has a place in the line of newcomers; block on what is given.
        case waits(Admission<Void>?)
        case full
        case closed
    }

    private struct State {
        var requests = PriorityFIFO<PerformRequest>()
        var nextSequence: UInt64 = 0
        /// Only while there is no room.
        var newcomers = WaitingLine<Newcomer>()
        var isResting = true
        var isClosed = false

        mutating func append(_ request: PerformRequest, _ priority: SubmitPriority) {
            _ = requests.push(request, lane: priority.rawValue, sequence: nextSequence)
            nextSequence += 1
        }

        /// Takes out the oldest request of the lowest priority, for one of another priority.
        ///
        /// - Returns: nil when all requests go before that one.
        mutating func dropOldest(for priority: SubmitPriority) -> PerformRequest? {
            guard let oldest = requests.lowestTicket, oldest.lane >= priority.rawValue else {
                return nil
            }
            return requests.remove(oldest)
        }
    }

    private let state = Mutex(State())
    private let limit: Int
    private let drops: Bool

    init(limit: Int, drops: Bool) {
        self.limit = limit
        self.drops = drops
    }

    /// - Parameter mayBlock: whether the caller can wait for room.
    func add(
        _ request: PerformRequest, _ priority: SubmitPriority, mayBlock: Bool
    ) -> Addition {
        // Let go of without the lock: what they hold is their senders' own.
        var left: [Newcomer] = []
        return state.withLock { state in
            if state.isClosed { return .closed }
            var dropped: PerformRequest?
            if state.requests.count >= limit {
                guard drops else {
                    return Self.line(up: request, priority, mayBlock, &state, &left)
                }
                dropped = state.dropOldest(for: priority)
                if dropped == nil { return .full }
            }
            state.append(request, priority)
            defer { state.isResting = false }
            return .added(wakes: state.isResting, dropped: dropped)
        }
    }

    private static func line(
        up request: PerformRequest, _ priority: SubmitPriority, _ mayBlock: Bool,
        _ state: inout State, _ left: inout [Newcomer]
    ) -> Addition {
        let isAwaited = request.isAwaited
        guard isAwaited || mayBlock else { return .full }
        let admission = isAwaited ? nil : Admission<Void>()
        let newcomer = Newcomer(request: request, priority: priority, admission: admission)
        // The task of one that is decided was cancelled.
        left = state.newcomers.join(newcomer, hasLeft: { $0.request.isDecided })
        return .waits(admission)
    }

    /// Takes the oldest request of the highest priority; on the worker's thread.
    func popFirst() -> PerformRequest? {
        let (request, newcomer) = state.withLock { state -> (PerformRequest?, Newcomer?) in
            guard let request = state.requests.popFirst()?.element else { return (nil, nil) }
            guard let newcomer = state.newcomers.popFirst() else { return (request, nil) }
            state.append(newcomer.request, newcomer.priority)
            return (request, newcomer)
        }
        newcomer?.admission?.decide(.success(()))
        return request
    }

    /// Has the next request announced, if everything was taken; on the worker's thread.
    ///
    /// - Returns: false when something waits.
    func rest() -> Bool {
        state.withLock { state in
            guard state.requests.isEmpty else { return false }
            state.isResting = true
            return true
        }
    }

    var isResting: Bool { state.withLock { $0.isResting } }

    var isEmpty: Bool { state.withLock { $0.requests.isEmpty } }

    /// How many wait; those that wait for room are not among them.
    var count: Int { state.withLock { $0.requests.count } }

    /// How many wait for room, tasks among them that were cancelled since.
    var newcomerCount: Int { state.withLock { $0.newcomers.count } }

    /// Refuses later requests.
    ///
    /// - Returns: those that there was no room for, to be refused.
    func refuseMore() -> [Newcomer] {
        state.withLock { state in
            state.isClosed = true
            var newcomers: [Newcomer] = []
            while let newcomer = state.newcomers.popFirst() { newcomers.append(newcomer) }
            return newcomers
        }
    }

    /// Takes everything out, for good.
    func close() -> [PerformRequest] {
        state.withLock { state in
            state.isClosed = true
            var left: [PerformRequest] = []
            while let request = state.requests.popFirst()?.element { left.append(request) }
            return left
        }
    }
}
