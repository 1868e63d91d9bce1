// The perform requests of one thread: closures in order of arrival, each performed once on it.
// The lock-free inbox takes them; a custom source runs them.

internal import RunLoops
internal import Structures
internal import Synchronization

/// One request: a closure, and who is to be told if it never runs.
enum PerformRequest: Sendable {
    case plain(@Sendable () -> Void)
    case answered(AnsweredPerform)

    /// Runs it; on the thread that it is for.
    func perform() {
        switch self {
        case .plain(let body): body()
        case .answered(let answered): answered.body()
        }
    }
}

/// A request whose sender waits for it.
final class AnsweredPerform: Sendable {
    let body: @Sendable () -> Void
    let refuse: @Sendable (SubmitError) -> Void

    init(
        body: @escaping @Sendable () -> Void, refuse: @escaping @Sendable (SubmitError) -> Void
    ) {
        self.body = body
        self.refuse = refuse
    }
}

/// The queue of perform requests of a worker thread.
final class PerformQueue: @unchecked Sendable {
    // SAFETY: `inbox`, `waitingCount` and `source` are safe from any thread; `taken` is touched on
    // the worker's thread only, by the source's perform and by `close`.

    private let inbox = Inbox<PerformRequest>()
    private let waitingCount = Atomic<Int>(0)
    private let limit: Int
    private let thread: String
    private var taken = FIFO<PerformRequest>()
    private var source: ThreadRunLoop.Source?
    private var observer: ThreadRunLoop.Observer?

    /// Requests performed in one go before timers and ports get their turn again.
    private static let batchCount = 1_024

    init(thread: String, limit: Int) {
        self.thread = thread
        self.limit = limit
    }

    /// Puts the queue into the modes in which requests are performed; on the worker's thread.
    func add(to loop: ThreadRunLoop, modes: [ThreadRunLoop.Mode], yielding: @escaping () -> Bool) {
        let yielding = Confined(yielding, to: loop)
        let source = ThreadRunLoop.Source { [unowned self] in
            performBatch(in: loop, yielding: yielding.value)
        }
        self.source = source
        let observer = ThreadRunLoop.Observer(.entry) { [unowned self] _, _ in announce() }
        for mode in modes {
            loop.add(source, to: mode)
            loop.add(observer, to: mode)
        }
        self.observer = observer
    }

    /// Queues a request; wakes the worker if nothing waited before.
    func push(_ request: PerformRequest, loop: ThreadRunLoop) throws(SubmitError) {
        if limit != .max {
            let (_, count) = waitingCount.add(1, ordering: .relaxed)
            if count > limit {
                waitingCount.subtract(1, ordering: .relaxed)
                throw .full(thread: thread, limit: limit)
            }
        }
        switch inbox.push(request) {
        case .first:
            source?.signal()
            loop.wakeUp()
        case .queued: break
        case .closed: throw .stopped(thread: thread)
        }
    }

    /// Whether nothing waits; on the worker's thread.
    var isEmpty: Bool { taken.isEmpty && inbox.isEmpty }

    /// Announces what waits; on the worker's thread, when a run in one of the modes begins.
    ///
    /// That may be a run nested in a request, which may be waiting for one of those behind it.
    /// While it is told to yield the queue does not announce it again, or a loop that is held in
    /// its mode by a nested run would never sleep.
    private func announce() {
        if !isEmpty { source?.signal() }
    }

    /// Refuses later requests, and those that wait; on the worker's thread.
    ///
    /// - Returns: how many waited.
    func close() -> Int {
        var left: [PerformRequest] = []
        while let request = taken.popFirst() { left.append(request) }
        inbox.close(into: &left)
        for case .answered(let answered) in left { answered.refuse(.stopped(thread: thread)) }
        source?.invalidate()
        observer?.invalidate()
        return left.count
    }

    private func performBatch(in loop: ThreadRunLoop, yielding: () -> Bool) {
        if taken.isEmpty { takeArrived() }
        var count = 0
        while count < Self.batchCount, !yielding() {
            if taken.isEmpty { takeArrived() }
            guard let request = taken.popFirst() else { break }
            count += 1
            if limit != .max { waitingCount.subtract(1, ordering: .relaxed) }
            request.perform()
        }
        // What is left is for the next pass.
        if !isEmpty && !yielding() {
            source?.signal()
            loop.wakeUp()
        }
    }

    private func takeArrived() {
        var arrived: [PerformRequest] = []
        inbox.drain(into: &arrived)
        for request in arrived { taken.append(request) }
    }
}
