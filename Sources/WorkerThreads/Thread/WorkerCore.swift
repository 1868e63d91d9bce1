// The thread's own side of a worker: all of its code, from the first line to the last. The handle
// (`WorkerThread`) holds the core; the core never holds the handle, so that letting go of the last
// handle can stop the thread.

internal import Kernel
package import RunLoops
internal import Structures
internal import Synchronization

/// The state that a worker's thread and its handles share.
package final class WorkerCore: RunLoopOwner, @unchecked Sendable {
    // SAFETY: `life`, `queue`, `modeRequests`, `control`, `orders`, `ended` and `name` are safe
    // from any thread. The others are touched on the worker's thread only, once it has started.

    package let name: String
    let queue: PerformQueue
    let life = Mutex(LifeCycle())
    let ended = WordLatch()
    private var isServingJob = false
    private var wantsOuterStop = false
    /// Work that was taken and never began, because the thread ended before.
    let abandonedCount = Atomic<Int>(0)
    /// Performs that wait for a mode of their own.
    let modeRequests = ModeRequests()
    /// Wakes the thread for what it is told, before all other ports and in every mode of its life.
    ///
    /// Keeps the core, as the loop does, until the loop ends.
    private let control = ThreadRunLoop.Port(order: .min)
    private let orders = Mutex(Orders())
    /// Made when it is first asked for: most threads run no tasks.
    private let madeExecutor = SetOnce<WorkerExecutor>()
    /// The worker's run loop.
    ///
    /// - Thread: any thread.
    package let loop: ThreadRunLoop
    /// The other owners of work on this thread; asked while draining, and told when it ends.
    private var attachments: [any WorkerAttachment] = []

    // SAFETY: the variable's objects are cores; it hands over the reference that it has.
    private static let local: ThreadLocal<WorkerCore> = unsafe ThreadLocal(whenThreadEnds: {
        address in
        guard let address = unsafe address else { return }
        let core = unsafe Unmanaged<WorkerCore>.fromOpaque(address).takeRetainedValue()
        // Its taken work would not be performed, and waiting senders would not be told.
        require(
            core.ended.isOpen,
            "what ran on thread \(core.name) has ended it, as pthread_exit and Foundation's "
                + "Thread.exit() do: use stop()")
    })

    /// Orders that the thread has not heard yet.
    private struct Orders {
        private(set) var waiting = FIFO<Order>()
        private(set) var areClosed = false
        /// Whether a change of life is among them.
        private var tellsLife = false

        /// - Returns: false once they are closed.
        mutating func append(_ order: Order) -> Bool {
            if areClosed { return false }
            if case .lifeChanged = order {
                // The thread reads the present life: one order stands for any number of changes.
                if tellsLife { return true }
                tellsLife = true
            }
            waiting.append(order)
            return true
        }

        mutating func popFirst() -> Order? {
            let order = waiting.popFirst()
            if case .lifeChanged? = order { tellsLife = false }
            return order
        }

        /// - Returns: those that were not obeyed.
        mutating func close() -> FIFO<Order> {
            areClosed = true
            defer { waiting.removeAll() }
            return waiting
        }
    }

    /// A command to a worker's thread.
    enum Order: Sendable {
        /// The life cycle has changed: look at it, and end the current run.
        case lifeChanged
        case attach(any WorkerAttachment)
        case call(@Sendable (ThreadRunLoop) -> Void)
    }

    private init(
        name: String, maxQueued: Int, whenFull: WhenFull, loop: ThreadRunLoop, poller: any Poller
    ) {
        self.name = name
        self.loop = loop
        queue = PerformQueue(
            thread: name, limit: maxQueued, whenFull: whenFull, loop: loop, poller: poller)
        control.whenSignalled { [self] _, _ in heed() }
        loop.owner = self
        loop.prepareRun(of: .default)
    }

    /// A core for a thread that is yet to start: all of it made here, so that the thread allocates
    /// nothing to come into being.
    static func make(
        name: String, maxQueued: Int, whenFull: WhenFull, poller: any Poller
    ) -> WorkerCore {
        let loop = ThreadRunLoop.makeUnclaimed(poller: poller)
        let core = WorkerCore(
            name: name, maxQueued: maxQueued, whenFull: whenFull, loop: loop, poller: poller)
        loop.leave()
        return core
    }

    /// The core of the worker whose thread calls; nil on other threads.
    package static var current: WorkerCore? { local.current }

    /// Runs tasks on the thread.
    ///
    /// - Thread: any thread.
    package var executor: WorkerExecutor {
        if let executor = madeExecutor.load() { return executor }
        return orders.withLock { orders in
            if let executor = madeExecutor.load() { return executor }
            let executor = WorkerExecutor(loop: loop, queue: queue)
            // The thread, which takes no orders any more, will not look for one.
            if orders.areClosed { executor.close() }
            return madeExecutor.storeIfNil(executor)
        }
    }

    /// The whole life of the thread.
    func main() {
        loop.claim()
        Self.local.set(self)
        while true {
            // Before the look at the life cycle: a change that comes after it stops the run.
            goOnWithRequests()
            wantsOuterStop = false
            let life = life.withLock { $0 }
            if !life.shouldKeepRunning { break }
            announceLife()
            _ = loop.run(mode: life.mode)
        }
        drain()
        // A caller that was told of an order's being taken can rely on it.
        for order in orders.withLock({ $0.close() }) { obey(order) }
        for attachment in attachments { attachment.workerEnded(self) }
        attachments.removeAll()
        // Work that came in at the same moment as the thread was done was taken, and runs as well.
        let leftCount =
            queue.close(performing: stopPolicy == .finishQueued)
            + modeRequests.close(thread: name) + loop.closeDelayedPerforms(thread: name)
        abandoned(leftCount)
        madeExecutor.load()?.close()
        ended.open()
    }

    package func runBegins(in mode: ThreadRunLoop.Mode, isFirst: Bool) {
        if isFirst { furnish(mode) }
        // A run nested in a request may be waiting for one of those behind it.
        if Self.performModes.contains(mode) { queue.announce() }
        if WorkerThread.taskModes.contains(mode) { madeExecutor.load()?.announceWaiting() }
    }

    package func postponesRequests(in mode: ThreadRunLoop.Mode) -> Bool {
        Self.performModes.contains(mode) && life.withLock { $0.beginsNothing }
    }

    package func abandoned(_ count: Int) { abandonedCount.add(count, ordering: .releasing) }

    /// Puts into a mode what a worker has there, when it is first run: most threads are never
    /// paused, serve no job and drain nothing.
    private func furnish(_ mode: ThreadRunLoop.Mode) {
        guard Self.modes.contains(mode) else { return }
        loop.add(signalled: control, to: mode)
        guard Self.performModes.contains(mode) else { return }
        queue.add(to: mode)
        for attachment in attachments { attachment.workerEnters(mode, self) }
    }

    /// The modes of a worker's life.
    private static let modes: [ThreadRunLoop.Mode] = [.default, .job, .paused, .draining]
    /// The modes in which it takes submitted work.
    static let performModes: [ThreadRunLoop.Mode] = [.default, .draining]

    /// Changes the life cycle and lets the thread know.
    ///
    /// - Returns: whether that changed anything.
    /// - Thread: any thread.
    @discardableResult
    func change(_ body: (inout LifeCycle) -> Bool) -> Bool {
        let changed = life.withLock { life in
            let changed = body(&life)
            if !life.shouldKeepRunning { queue.refuseMore() }
            return changed
        }
        guard changed else { return false }
        if queue.refusesMore { queue.refuseNewcomers() }
        queue.interrupt()
        tell(.lifeChanged)
        return true
    }

    /// How it was told to stop; nil as long as it was not.
    ///
    /// - Thread: any thread.
    var stopPolicy: StopPolicy? { life.withLock { $0.stop } }

    /// Gives the thread one more provider of work.
    ///
    /// - Returns: false when the thread has ended.
    /// - Thread: any thread; it is attached when the control port is handled.
    @discardableResult
    package func attach(_ attachment: any WorkerAttachment) -> Bool {
        tell(.attach(attachment))
    }

    /// Its part in a pool.
    ///
    /// - Thread: the worker's own thread.
    var poolMember: PoolMember? { attachments.lazy.compactMap { $0 as? PoolMember }.first }

    /// Calls `body` on the thread, also while it is paused or serves a job.
    ///
    /// - Returns: false when the thread has ended; else it is called, at the latest when it ends.
    /// - Thread: any thread.
    @discardableResult
    package func callFromControl(_ body: @escaping @Sendable (ThreadRunLoop) -> Void) -> Bool {
        tell(.call(body))
    }

    /// - Returns: false when the thread has ended.
    @discardableResult
    private func tell(_ order: Order) -> Bool {
        let isTaken = orders.withLock { $0.append(order) }
        if isTaken { control.signal() }
        return isTaken
    }

    /// Obeys what has been ordered so far; each order that comes later signals the port anew.
    private func heed() {
        for index in (0..<orders.withLock { $0.waiting.count }).reversed() {
            // None: a run nested in one before has obeyed those behind, for which it is announced.
            guard let order = orders.withLock({ $0.popFirst() }) else { return }
            if index > 0 { control.signal() }
            obey(order)
        }
    }

    /// Whether a loop over requests should let the run loop look around first.
    ///
    /// - Thread: any thread.
    package var isToYield: Bool { queue.isInterrupted }

    /// Whether the steps of tasks wait, as what was submitted does: not those of a job that is
    /// served.
    ///
    /// Told to stop it finishes them.
    ///
    /// - Thread: the worker's own thread.
    var postponesTasks: Bool {
        loop.currentMode != .job && life.withLock { $0.mode == .paused }
    }

    /// Serves the loop in mode `job` until `isDone` says so.
    ///
    /// The job's own sources, ports and timers are in that mode; so is the control port, so that a
    /// pause or a stop is heard and takes effect once the job is done.
    ///
    /// It is asked after each run in that mode. So what makes it true is called in mode `job`, on
    /// this thread, and stops the loop; another thread sends
    /// `loop.perform(inModes: [.job]) { isDone = true; loop.stop() }`: its own stop could come
    /// between the question and the run, and would be taken for one of the run around this.
    ///
    /// - Thread: the worker's own thread, from inside the job.
    /// - Blocks: until the job is done.
    package func serveJob(until isDone: () -> Bool) {
        loop.preconditionOnLoop()
        let wasServing = isServingJob
        isServingJob = true
        while !isDone() {
            _ = loop.run(mode: .job)
        }
        isServingJob = wasServing
        if wantsOuterStop && !isServingJob { loop.stopAllRuns() }
    }

    private func obey(_ order: Order) {
        switch order {
        case .lifeChanged:
            wantsOuterStop = true
            goOnWithRequests()
            // Before the running item is followed by the next: a member of a pool leaves that to
            // others now.
            announceLife()
            // The nested run of a job goes on; what it is nested in ends after it.
            if isServingJob { announcePostponed() } else { loop.stopAllRuns() }
        case .attach(let attachment):
            attachments.append(attachment)
            attachment.workerAttached(self)
            for mode in Self.performModes where loop.hasRun(mode) {
                attachment.workerEnters(mode, self)
            }
        case .call(let body):
            body(loop)
        }
    }

    /// Lets the queue perform in the run that begins next, if life lets it: that may be one nested
    /// in a request, which the outermost loop is not to come back from before.
    private func goOnWithRequests() {
        // Before the look at the life cycle: a change that comes after it interrupts anew.
        queue.resume()
        if life.withLock({ $0.beginsNothing }) { queue.interrupt() }
    }

    /// Announces what a pause has postponed, where no run begins after it: in one that is nested in
    /// a job.
    private func announcePostponed() {
        if !queue.isInterrupted { queue.announce() }
        madeExecutor.load()?.announceWaiting()
    }

    /// A line about waiting items; on the thread.
    func describeQueue() -> String {
        let dropped = queue.droppedCount
        return "\n  submitted, waiting: \(queue.depth)"
            + (dropped > 0 ? " · dropped: \(dropped)" : "")
    }

    /// The most passes of mode `default` after a stop, and then of what tasks have to do: something
    /// there may signal itself for ever, or take step after step.
    static let lastPassCountMax = 10

    /// Finishes what was queued before the stop, if that was asked for.
    private func drain() {
        // Orders, blocks, and what a buffer was fired for, came before the stop. What is just being
        // added to a buffer is left for another pass.
        for _ in 0..<Self.lastPassCountMax where stopPolicy == .finishQueued {
            pass(in: .default)
            if !loop.hasSignals(in: .default) { break }
        }
        while stopPolicy == .finishQueued {
            pass(in: .draining)
            if queue.isEmpty && attachments.allSatisfy({ !$0.hasWork(for: self) }) { return }
        }
    }

    private func pass(in mode: ThreadRunLoop.Mode) {
        queue.resume()
        announceLife()
        _ = loop.run(mode: mode, until: .distantPast)
    }

    /// Tells whatever has work for the thread that it is about to enter its next mode.
    private func announceLife() {
        for attachment in attachments { attachment.workerLifeChanged(self) }
    }
}

/// Something that gives a worker's thread work of its own, beside the perform queue.
package protocol WorkerAttachment: AnyObject, Sendable {
    /// The thread knows of it now. On the worker's thread.
    func workerAttached(_ core: WorkerCore)
    /// The thread runs in a mode in which it takes work, for the first time: put sources into it.
    /// On the worker's thread.
    func workerEnters(_ mode: ThreadRunLoop.Mode, _ core: WorkerCore)
    /// The thread, started, paused, resumed or told to stop, is about to enter its next mode:
    /// signal sources that have work. On the worker's thread; also when nothing has changed.
    func workerLifeChanged(_ core: WorkerCore)
    /// Whether something waits that this thread should finish before it ends. On its thread.
    func hasWork(for core: WorkerCore) -> Bool
    /// The thread takes nothing any more. On its thread.
    func workerEnded(_ core: WorkerCore)
}
