// The perform requests of one thread: closures by priority, then in order of arrival, each
// performed once on it. The lock-free inbox takes those of normal priority; a custom source runs
// them.

internal import Kernel
internal import RunLoops
internal import Structures
internal import Synchronization

/// The queue of perform requests of a worker thread.
final class PerformQueue: @unchecked Sendable {
    // SAFETY: requests are taken out of `inbox` on the worker's thread only. The rest is safe from
    // any thread.

    private let inbox = Inbox<PerformRequest>()
    /// Requests of high and low priority; made for the first of them.
    private let madeLanes = SetOnce<PriorityLanes>()
    /// Whether there are lanes; set before the first request is pushed into one.
    ///
    /// Publishes nothing itself: PriorityLanes.E1 carries it.
    private let hasLanes = Atomic<Bool>(false)
    /// Instead of inbox and lanes, where senders wait or the oldest gives way.
    private let bounded: BoundedRequests?
    private let room: Room
    private let thread: String
    private let loop: ThreadRunLoop
    private let poller: any Poller
    /// Keeps the queue, as the loop does, until the queue is closed or the loop ends.
    private let source = ThreadRunLoop.Source(order: 0)
    /// The conditions that a push has to look at, 0 for none: one look for all of them.
    ///
    /// Publishes nothing.
    private let traits: Atomic<UInt8>
    /// Set with every change of life, taken when the loop enters its next mode.
    ///
    /// A loop over requests looks at it in between. Publishes nothing.
    private let interrupted = Atomic<Bool>(false)
    private let dropped = Atomic<Int>(0)

    /// Told before requests are performed: the thread is busy with them from then on.
    ///
    /// Confined to the worker's thread.
    var whenBusy: (() -> Void)?

    /// Requests performed in one go before timers and ports get their turn again.
    private static let batchCount = 1_024

    private enum Trait {
        /// Later requests are refused, though the inbox is still open.
        static let refuses: UInt8 = 1
        /// Not more than `limit` requests may wait.
        static let bounded: UInt8 = 2
        /// Requests carry a note of where and when they were posted.
        static let measured: UInt8 = 4
    }

    init(
        thread: String, limit: Int, whenFull: WhenFull, loop: ThreadRunLoop, poller: any Poller
    ) {
        self.thread = thread
        room = Room(limit: limit)
        self.loop = loop
        self.poller = poller
        let isBounded = limit != .max
        traits = Atomic(isBounded ? Trait.bounded : 0)
        bounded =
            isBounded && whenFull != .refuse
            ? BoundedRequests(limit: limit, drops: whenFull == .dropOldest) : nil
        source.whenSignalled { [self] in performBatch() }
        loop.whenMeasured { [self] in setTrait(Trait.measured, $0) }
    }

    /// Puts the queue into a mode in which requests are performed; on the worker's thread.
    func add(to mode: ThreadRunLoop.Mode) { loop.add(source, to: mode) }

    /// Queues a request; wakes the worker if it is not at work here.
    ///
    /// Inlined, with what is rare kept out of it: a call would count references of the queue and of
    /// the request, which costs as much again.
    @inline(__always)
    func push(
        _ request: consuming PerformRequest, _ priority: SubmitPriority = .normal,
        _ fileID: StaticString, _ line: UInt
    ) throws(SubmitError) {
        // A stop is visible at once, not only when the thread has got round to it.
        let traits = traits.load(ordering: .relaxed)
        if traits != 0 || priority != .normal {
            return try pushSpecially(consume request, priority, traits, fileID, line)
        }
        try enter(consume request)
    }

    @inline(__always)
    private func enter(_ request: consuming PerformRequest) throws(SubmitError) {
        guard let claim = inbox.claim() else { return try enterBeyond(consume request) }
        if inbox.publish(consume request, at: claim) == .first { wakeThread() }
    }

    /// Where a new block is needed, or the inbox is closed.
    @inline(never)
    private func enterBeyond(_ request: consuming PerformRequest) throws(SubmitError) {
        try announce(inbox.push(consume request))
    }

    private func announce(
        _ result: Inbox<PerformRequest>.PushResult
    ) throws(SubmitError) {
        switch result {
        case .first: wakeThread()
        case .queued: break
        case .closed: throw stopped()
        }
    }

    /// The lanes of high and low priority.
    private var lanes: PriorityLanes {
        if let lanes = madeLanes.load() { return lanes }
        hasLanes.store(true, ordering: .relaxed)
        return madeLanes.storeIfNil(PriorityLanes())
    }

    @inline(never)
    private func pushSpecially(
        _ request: consuming PerformRequest, _ priority: SubmitPriority, _ traits: UInt8,
        _ fileID: StaticString, _ line: UInt
    ) throws(SubmitError) {
        if traits & Trait.refuses != 0 { throw stopped() }
        if traits & Trait.measured != 0 {
            let posted = Posted(fileID, line, at: poller.clock.now())
            request = .answered(NotedPerform(request, posted: posted))
        }
        if let bounded { return try add(request, priority, to: bounded) }
        if traits & Trait.bounded != 0 && !room.take() { throw full() }
        if priority == .normal { return try enter(request) }
        try announce(lanes.push(request, priority))
    }

    private func add(
        _ request: PerformRequest, _ priority: SubmitPriority, to bounded: BoundedRequests
    ) throws(SubmitError) {
        switch bounded.add(request, priority, mayBlock: !loop.isOnThread) {
        case .added(let wakes, let oldest):
            if wakes { wakeThread() }
            guard let oldest, oldest.refuse(.dropped(thread: thread)) else { return }
            dropped.add(1, ordering: .relaxed)
        case .waits(let admission): try admission?.wait()
        case .full: throw full()
        case .closed: throw stopped()
        }
    }

    private func setTrait(_ trait: UInt8, _ isSet: Bool) {
        if isSet {
            traits.bitwiseOr(trait, ordering: .relaxed)
        } else {
            traits.bitwiseAnd(~trait, ordering: .relaxed)
        }
    }

    /// Lets the thread perform the waiting requests.
    @inline(never)
    private func wakeThread() {
        source.signal()
        poller.wake()
    }

    @inline(never)
    private func stopped() -> SubmitError { .stopped(thread: thread) }

    private func full() -> SubmitError { .full(thread: thread, limit: room.limit) }

    /// Whether nothing waits; on the worker's thread.
    var isEmpty: Bool {
        bounded?.isEmpty ?? (inbox.isEmpty && (madeLanes.load()?.count ?? 0) == 0)
    }

    /// The most that may wait.
    var limit: Int { room.limit }

    /// How many requests wait.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    var depth: Int { bounded?.count ?? (inbox.count + (madeLanes.load()?.count ?? 0)) }

    /// How many requests wait for room.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    var newcomerCount: Int { bounded?.newcomerCount ?? 0 }

    /// How many requests gave way to newer ones.
    ///
    /// - Thread: any thread.
    var droppedCount: Int { dropped.load(ordering: .relaxed) }

    /// Refuses later requests; waiting ones are still performed.
    ///
    /// - Thread: any thread.
    func refuseMore() { setTrait(Trait.refuses, true) }

    /// Refuses what there was no room for; after `refuseMore`.
    ///
    /// - Thread: any thread.
    func refuseNewcomers() {
        for newcomer in bounded?.refuseMore() ?? [] { newcomer.refuse(stopped()) }
    }

    /// Whether later requests are refused.
    ///
    /// - Thread: any thread.
    var refusesMore: Bool { traits.load(ordering: .relaxed) & Trait.refuses != 0 }

    /// Makes a loop over requests let the run loop look around first.
    ///
    /// - Thread: any thread.
    func interrupt() { interrupted.store(true, ordering: .sequentiallyConsistent) }

    /// Takes the interruption back; on the worker's thread.
    func resume() { interrupted.store(false, ordering: .sequentiallyConsistent) }

    /// Whether a loop over requests should let the run loop look around first.
    ///
    /// - Thread: any thread.
    var isInterrupted: Bool { interrupted.load(ordering: .sequentiallyConsistent) }

    /// Announces waiting requests; on the worker's thread, when a run in one of the modes begins.
    ///
    /// That may be a run nested in a request, which may be waiting for one of those behind it.
    /// While it is told to yield the queue does not announce it again, or a loop that stays in
    /// its mode by a nested run would never sleep.
    func announce() {
        let isResting =
            bounded?.isResting ?? (inbox.isResting && madeLanes.load()?.isResting ?? true)
        if !isResting { source.signal() }
    }

    /// Refuses later requests; on the worker's thread.
    ///
    /// - Parameter performsLast: whether those that wait are performed, or refused as well.
    /// - Returns: how many were refused.
    func close(performing performsLast: Bool) -> Int {
        refuseMore()
        refuseNewcomers()
        // From the queue as long as it is open: one of them may run the loop until one behind it
        // has run.
        while performsLast, let request = next() { request.perform() }
        var left = bounded?.close() ?? []
        // Made here if there are none: a sender that has seen the thread running finds them closed.
        let inLanes = bounded == nil ? lanes.close() : nil
        left += inLanes?.urgent ?? []
        inbox.close(into: &left, waiting: SystemThread.yield)
        left += inLanes?.low ?? []
        source.invalidate()
        guard performsLast else { return left.refuseAll(.stopped(thread: thread)) }
        for request in left { request.perform() }
        return 0
    }

    @inline(__always)
    private func next() -> PerformRequest? {
        if isSpecial { return nextSpecially() }
        guard let request = inbox.popFirst() else { return nil }
        // After the look into the inbox: PriorityLanes.E1.
        return hasLanes.load(ordering: .relaxed) ? exchange(request) : request
    }

    /// Whether lanes or the bounded queue are looked at too, or places given back.
    private var isSpecial: Bool { room.limit != .max || hasLanes.load(ordering: .relaxed) }

    @inline(never)
    private func nextSpecially() -> PerformRequest? {
        if let bounded { return bounded.popFirst() }
        guard let request = nextByPriority() else { return nil }
        room.giveBack()
        return request
    }

    private func nextByPriority() -> PerformRequest? {
        if let urgent = madeLanes.load()?.popUrgent() { return urgent }
        if let normal = inbox.popFirst() { return exchange(normal) }
        return madeLanes.load()?.popLow { inbox.isEmpty }
    }

    /// The request, or one of high priority that goes before it.
    @inline(never)
    private func exchange(_ request: PerformRequest) -> PerformRequest {
        madeLanes.load()?.exchange(request) ?? request
    }

    @inline(never)
    private func restSpecially() -> Bool {
        if let bounded { return bounded.rest() }
        return inbox.rest() && madeLanes.load()?.rest() ?? true
    }

    private func performBatch() {
        whenBusy?()
        for count in 0..<Self.batchCount {
            // It is announced again when the thread's next run begins.
            if isInterrupted { return }
            guard let request = next() else {
                let hasGathered = StreamPace.gather(after: count)
                if isSpecial ? restSpecially() : inbox.rest() { return }
                if !hasGathered { SystemThread.yield() }
                break
            }
            request.perform()
        }
        // The rest is for the next pass.
        wakeThread()
    }
}
