// One thread's part in a pool: a custom source that takes work from the pool's queues, one item
// after another, for as long as there is some.

internal import Kernel
internal import RunLoops
internal import Structures
internal import Synchronization

/// The queues of a pool, shared by its members and its senders.
final class PoolQueues: Sendable {
    let board: Mutex<PoolBoard<PerformRequest>>
    /// Tells this pool's tickets from those of others, also of one that is gone and lay here
    /// before.
    let number = PoolQueues.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    /// Publishes nothing.
    private static let lastNumber = Atomic<UInt64>(0)
    let limit: Int
    let whenFull: WhenFull
    /// How much gave way to newer work.
    ///
    /// Publishes nothing.
    let droppedCount = Atomic<Int>(0)
    /// How many items never ran on threads that were replaced, as far as was known by then.
    ///
    /// Publishes nothing.
    let formerAbandonedCount = Atomic<Int>(0)
    /// How many members are measured.
    ///
    /// Publishes nothing.
    let measuredCount = Atomic<Int>(0)

    init(memberCount: Int, limit: Int, whenFull: WhenFull) {
        board = Mutex(PoolBoard(memberCount: memberCount))
        self.limit = limit
        self.whenFull = whenFull
    }
}

/// A pool's source in one worker's loop.
final class PoolMember: WorkerAttachment, @unchecked Sendable {
    // SAFETY: `source` is written once, on the worker's thread, before `wake` can find it: a member
    // is woken only after it rested, which its source did, or was prepared. `wakeOther` is written
    // before the member is attached, and then like `observer` touched on the worker's thread only.
    // The rest is immutable or guarded.

    typealias Admission = PoolBoard<PerformRequest>.Admission

    let index: Int
    let queues: PoolQueues
    let core: WorkerCore
    private var source: ThreadRunLoop.Source?
    private var observer: ThreadRunLoop.Observer?
    /// Whether another one sits in its place: then the queues are no longer its affair.
    ///
    /// Changed under the board's lock, and read under it or behind `endObservers`, which publish
    /// it.
    private let isReplaced = Atomic<Bool>(false)
    /// Told when its thread is at its end, or it gave up its seat.
    private let endObservers = EndObservers()
    /// Its turn while another thread has it (PoolMember+Turn.swift).
    let turn = Mutex<MemberTurn?>(nil)
    /// Whether another thread has its turn.
    ///
    /// Changed under the board's lock, and read by wakers, which have found the member under it.
    let isLent = Atomic<Bool>(false)

    /// Items run in one go before timers and ports get their turn again.
    private static let batchCount = 256

    init(index: Int, queues: PoolQueues, core: WorkerCore) {
        self.index = index
        self.queues = queues
        self.core = core
    }

    /// Lets the member look at the queues.
    ///
    /// - Thread: any thread.
    func wake() {
        if isLent.load(ordering: .relaxed), turn.withLock({ $0 })?.callTaker() == true { return }
        source?.signal()
        core.loop.wakeUp()
    }

    /// Makes it known to its wakers; on first use, or before other threads can find it.
    func prepare() {
        let source = ThreadRunLoop.Source { [unowned self] in performBatch() }
        let observer = ThreadRunLoop.Observer([.entry, .exit]) { [unowned self] _, activity in
            runChanged(activity)
        }
        self.source = source
        self.observer = observer
    }

    /// Leaves the queues to its successor, which has its seat already.
    func giveUpSeat() {
        queues.board.withLock { _ in
            isReplaced.store(true, ordering: .relaxed)
            let count = core.abandonedCount.load(ordering: .relaxed)
            queues.formerAbandonedCount.add(count, ordering: .relaxed)
        }
        endObservers.end()
    }

    /// Whether its thread has ended.
    ///
    /// - Thread: any thread.
    var hasEnded: Bool { core.ended.isOpen }

    /// Whether the caller runs on its thread.
    ///
    /// - Thread: any thread.
    var isCurrent: Bool { core.loop.isOnThread }

    /// Waits until its thread has ended, or its seat is another member's.
    ///
    /// - Thread: any thread but its own.
    func waitUntilGone() {
        let isTold = Latch()
        if endObservers.add(isTold, isTold.open) { isTold.wait() }
        if !isOut { core.ended.wait() }
    }

    /// Waits as `waitUntilGone()`, at most until a deadline.
    ///
    /// - Returns: false when the deadline came first.
    func waitUntilGone(until deadline: ContinuousClock.Instant) -> Bool {
        let isTold = Latch()
        if endObservers.add(isTold, isTold.open), !isTold.wait(until: deadline) {
            endObservers.remove(isTold)
            return false
        }
        return isOut || core.ended.wait(until: deadline)
    }

    /// Suspends the task until its thread has ended, or its seat is another member's.
    nonisolated(nonsending) func gone() async throws {
        try await endObservers.wait()
        if !isOut { try await core.loop.endObservers.wait() }
    }

    var isOut: Bool { isReplaced.load(ordering: .relaxed) }

    func workerAttached(_ core: WorkerCore) {
        if source == nil { prepare() }
        source?.signal()
        core.queue.whenBusy = { [unowned self] in beginBeside() }
        core.loop.whenMeasured { [queues] isMeasured in
            queues.measuredCount.add(isMeasured ? 1 : -1, ordering: .relaxed)
        }
    }

    func workerEnters(_ mode: ThreadRunLoop.Mode, _ core: WorkerCore) {
        guard let source, let observer else { return }
        core.loop.add(source, to: mode)
        core.loop.add(observer, to: mode)
    }

    func workerLifeChanged(_ core: WorkerCore) {
        let life = core.life.withLock { $0 }
        let (heir, refused) = queues.board.withLock { board -> (Int?, [Admission]) in
            if isOut { return (nil, []) }
            if !life.shouldKeepRunning {
                let heir = board.retire(index)
                return (heir, board.refuseNewcomers())
            }
            if life.isPaused { return (board.leave(index), []) }
            board.comeBack(index)
            return (nil, [])
        }
        if let heir { wakeOther?(heir) }
        tell(refused)
        endIdleTurn()
    }

    func hasWork(for core: WorkerCore) -> Bool {
        queues.board.withLock { !isOut && $0.hasWork(for: index) }
    }

    func workerEnded(_ core: WorkerCore) {
        let finishes = core.stopPolicy == .finishQueued
        // Work that came in at the same moment as the thread was done was taken, and runs as well:
        // as long as there is some the member has not ended, and its keys are no other member's.
        while finishes, let request = takeNext() { request.perform() }
        let (left, heir, admitted) = queues.board.withLock {
            board -> ([PerformRequest], Int?, [Admission]) in
            if isOut { return ([], nil, []) }
            let (left, heir) = board.end(index)
            return (left, heir, board.refuseNewcomers() + board.admit(limit: queues.limit))
        }
        tell(admitted)
        if let heir { wakeOther?(heir) }
        let refusedCount = left.refuseAll(.stopped(thread: core.name))
        // Under the lock: a successor that takes its seat at this moment takes its count over, with
        // this or without.
        queues.board.withLock { _ in
            core.abandonedCount.add(refusedCount, ordering: .relaxed)
            if isOut { queues.formerAbandonedCount.add(refusedCount, ordering: .relaxed) }
        }
        core.queue.whenBusy = nil
        source?.invalidate()
        observer?.invalidate()
        // The members hold one another by it.
        wakeOther = nil
        endObservers.end()
    }

    /// Wakes another member of the pool, also when the pool itself is gone; set by the pool before
    /// the member is attached.
    var wakeOther: (@Sendable (Int) -> Void)?

    /// Tells newcomers what became of them, and wakes the members for work that has a place now.
    func tell(_ admissions: [Admission]) {
        for admission in admissions {
            guard let member = admission.tell() else { continue }
            wakeOther?(member)
        }
    }

    /// Looks at the queues when a run begins, which may be nested in work that waits for other
    /// work, and when one has ended: the run around it, or the work, goes on.
    private func runChanged(_ activity: ThreadRunLoop.Activity) {
        if activity == .exit { handOn() }
        source?.signal()
    }

    /// Wakes another member for what this one was woken for: it does not look again soon.
    private func handOn() {
        if let heir = queues.board.withLock({ isOut ? nil : $0.goOn(index) }) { wakeOther?(heir) }
    }

    /// The thread begins what was submitted to it directly: the pool is not to count on it
    /// meanwhile.
    ///
    /// It looks at the queues afterwards.
    private func beginBeside() {
        handOn()
        source?.signal()
    }

    /// Takes the next work of the queues, which makes room for newcomers.
    private func takeNext() -> PerformRequest? {
        let (request, admitted) = queues.board.withLock {
            board -> (PerformRequest?, [Admission]) in
            isOut ? (nil, []) : (board.next(for: index), board.admit(limit: queues.limit))
        }
        if !admitted.isEmpty { tell(admitted) }
        return request
    }

    private func performBatch() {
        for _ in 0..<Self.batchCount {
            // It is signalled again when the thread's next run begins. That may be long: a run
            // nested in a job goes on after a change of life.
            if core.isToYield { return handOn() }
            guard let request = takeNext() else { return }
            request.perform()
        }
        // More may wait, for the next pass.
        wake()
    }
}
