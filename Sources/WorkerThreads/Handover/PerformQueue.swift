// The perform requests of one thread: closures in order of arrival, each performed once on it.
// The lock-free inbox takes them; a custom source runs them.

internal import Kernel
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
        case .answered(let answered): answered.perform()
        }
    }
}

/// The queue of perform requests of a worker thread.
final class PerformQueue: @unchecked Sendable {
    // SAFETY: requests are taken out of `inbox` on the worker's thread only. The rest is safe from
    // any thread.

    private let inbox = Inbox<PerformRequest>()
    private let waitingCount = Atomic<Int>(0)
    private let limit: Int
    private let thread: String
    private let poller: any Poller
    private let source: ThreadRunLoop.Source
    private let observer: ThreadRunLoop.Observer
    /// Whether later requests are refused though the inbox is still open. Publishes nothing.
    private let refuses = Atomic<Bool>(false)
    /// Set with every change of life, taken when the loop enters its next mode.
    ///
    /// What runs one request after another looks at it in between. Publishes nothing.
    private let interrupted = Atomic<Bool>(false)

    /// Requests performed in one go before timers and ports get their turn again.
    private static let batchCount = 1_024

    init(thread: String, limit: Int, poller: any Poller) {
        self.thread = thread
        self.limit = limit
        self.poller = poller
        let back = Back()
        source = ThreadRunLoop.Source { unsafe back.queue.performBatch() }
        observer = ThreadRunLoop.Observer(.entry) { _, _ in unsafe back.queue.announce() }
        unsafe back.queue = self
    }

    /// What the callouts reach the queue by; both are let go of when the thread ends.
    private final class Back: @unchecked Sendable {
        // SAFETY: set once, in the queue's initializer; the queue closes both before it goes.
        unowned(unsafe) var queue: PerformQueue!
    }

    /// Puts the queue into a mode in which requests are performed; on the worker's thread.
    func add(to loop: ThreadRunLoop, mode: ThreadRunLoop.Mode) {
        loop.add(source, to: mode)
        loop.add(observer, to: mode)
    }

    /// Queues a request; wakes the worker if it is not at work here.
    ///
    /// Inlined, with what is rare kept out of it: a call would count references of the queue and of
    /// the request, which costs as much again.
    @inline(__always)
    func push(_ request: consuming PerformRequest) throws(SubmitError) {
        // A stop is visible at once, not only when the thread has got round to it.
        if refuses.load(ordering: .relaxed) { throw stopped() }
        if limit != .max { try count() }
        switch inbox.push(consume request) {
        case .first: announceFirst()
        case .queued: break
        case .closed: throw stopped()
        }
    }

    @inline(never)
    private func announceFirst() {
        source.signal()
        poller.wake()
    }

    @inline(never)
    private func stopped() -> SubmitError { .stopped(thread: thread) }

    /// Whether nothing waits; on the worker's thread.
    var isEmpty: Bool { inbox.isEmpty }

    /// Refuses later requests; what waits is still performed.
    ///
    /// - Thread: any thread.
    func refuseMore() { refuses.store(true, ordering: .relaxed) }

    /// Whether later requests are refused.
    ///
    /// - Thread: any thread.
    var refusesMore: Bool { refuses.load(ordering: .relaxed) }

    /// Makes what runs one request after another let the loop look around first.
    ///
    /// - Thread: any thread.
    func interrupt() { interrupted.store(true, ordering: .sequentiallyConsistent) }

    /// Takes the interruption back; on the worker's thread.
    func resume() { interrupted.store(false, ordering: .sequentiallyConsistent) }

    /// Whether what runs one request after another should let the loop look around first.
    ///
    /// - Thread: any thread.
    var isInterrupted: Bool { interrupted.load(ordering: .sequentiallyConsistent) }

    /// Announces what waits; on the worker's thread, when a run in one of the modes begins.
    ///
    /// That may be a run nested in a request, which may be waiting for one of those behind it.
    /// While it is told to yield the queue does not announce it again, or a loop that is held in
    /// its mode by a nested run would never sleep.
    private func announce() {
        if !inbox.isResting { source.signal() }
    }

    /// Refuses later requests, and those that wait; on the worker's thread.
    ///
    /// - Returns: how many waited.
    func close() -> Int {
        var left: [PerformRequest] = []
        inbox.close(into: &left, waiting: SystemThread.yield)
        let refusedCount = left.refuseAll(.stopped(thread: thread))
        source.invalidate()
        observer.invalidate()
        return refusedCount
    }

    private func count() throws(SubmitError) {
        let (_, count) = waitingCount.add(1, ordering: .relaxed)
        guard count > limit else { return }
        waitingCount.subtract(1, ordering: .relaxed)
        throw .full(thread: thread, limit: limit)
    }

    private func performBatch() {
        for _ in 0..<Self.batchCount {
            // It is announced again when the thread's next run begins.
            if isInterrupted { return }
            guard let request = inbox.popFirst() else {
                if inbox.rest() { return }
                SystemThread.yield()
                break
            }
            if limit != .max { waitingCount.subtract(1, ordering: .relaxed) }
            request.perform()
        }
        // What is left is for the next pass.
        source.signal()
        poller.wake()
    }
}
