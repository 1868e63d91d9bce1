// Swift's tasks on a worker thread: the thread as a serial executor and as a task executor.

internal import Kernel
internal import RunLoops
internal import Structures
internal import Synchronization

/// Runs actors and tasks on one thread: a worker's, or any other that runs its loop.
///
/// On a worker also while the thread serves a job in mode `job`: an asynchronous job's own tasks
/// run there. Tasks that are not done when the thread ends go on, one step at a time, on the
/// threads that Swift's tasks share: they must be able to finish, if only to see that they are
/// cancelled.
public final class WorkerExecutor: SerialExecutor, TaskExecutor, @unchecked Sendable {
    // SAFETY: all of it is safe from any thread; steps are taken out of `inbox` on the loop's only.

    /// Steps that the thread does not run any more.
    private struct Late {
        var steps = FIFO<UnownedJob>()
        /// Whether its loop is the thread's still: then they wait, or an actor would be there and
        /// here.
        var haveToWait = true
        /// The executor, for as long as they are run: a step may let go of all else that
        /// keeps it.
        var runner: WorkerExecutor?

        /// - Returns: whether the caller is to run them.
        mutating func beginRunning(for executor: WorkerExecutor) -> Bool {
            guard !haveToWait, runner == nil, !steps.isEmpty else { return false }
            runner = executor
            return true
        }
    }

    private let inbox = Inbox<UnownedJob>()
    private let source: ThreadRunLoop.Source
    let loop: ThreadRunLoop
    /// The worker's, which hears of a change of life first; nil on a thread that is none.
    private let queue: PerformQueue?
    /// Where tasks run, and where their sleep can end.
    let modes: [ThreadRunLoop.Mode]
    /// Steps that came after the thread's end.
    private let late = Mutex(Late())
    /// The number of the thread on which one of those runs right now; 0 for none.
    ///
    /// Publishes nothing: that thread alone finds its own number here.
    private let lateThread = Atomic<Int32>(0)
    /// How many threads are queueing a step right now.
    ///
    /// No reference keeps the executor for them: once a step is queued it may run, and let go of
    /// the last that does. So the thread, which keeps it as well, does not end before they are
    /// done.
    private let addingCount = Atomic<Int>(0)

    init(loop: ThreadRunLoop, queue: PerformQueue) {
        self.loop = loop
        self.queue = queue
        modes = WorkerThread.taskModes
        let back = BackReference<WorkerExecutor>()
        source = ThreadRunLoop.Source(order: -1) { back.target?.runArrived() }
        back.target = self
        for mode in modes { loop.add(source, to: mode) }
    }

    /// An executor for a thread that is no worker: it runs tasks whenever the thread runs its loop
    /// in one of the common modes.
    ///
    /// The loop keeps the executor until the loop ends, so make one for each loop. It is a source:
    /// a run in a common mode does not end for lack of others. For a worker's thread use
    /// `WorkerThread.executor`.
    ///
    /// - Parameter loop: the thread's run loop; `.main` for the main thread's.
    /// - Thread: any thread.
    /// - Blocks: never.
    public init(loop: ThreadRunLoop) {
        self.loop = loop
        queue = nil
        modes = [.common]
        let keeper = ExecutorKeeper()
        source = ThreadRunLoop.Source(order: -1) { keeper.executor?.runArrived() }
        keeper.executor = self
        guard !loop.add(signalled: source, to: .common) else { return }
        // The loop has ended: nothing else will close it.
        keeper.executor = nil
        close()
    }

    /// Queues a task's next step; called by Swift's runtime.
    ///
    /// - Thread: any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        add(UnownedJob(job))
    }

    /// Queues a task's next step.
    ///
    /// - Thread: any thread.
    func add(_ step: UnownedJob) {
        addingCount.add(1, ordering: .sequentiallyConsistent)
        let result = inbox.push(step)
        if result == .first { announce() }
        // The last that it touches, but for a step that is still the caller's.
        addingCount.subtract(1, ordering: .releasing)
        if result == .closed { addLate(step) }
    }

    /// Traps unless the caller runs on the thread, or after its end in a step that goes on
    /// elsewhere; what `assumeIsolated` asks.
    public func checkIsolated() {
        require(isIsolating, "not on the actor's worker thread")
    }

    /// Whether the caller runs on the thread, or after its end in a step that goes on elsewhere;
    /// what Swift asks before it traps.
    public func isIsolatingCurrentContext() -> Bool? { isIsolating }

    private var isIsolating: Bool {
        if loop.isOnThread { return true }
        let number = lateThread.load(ordering: .relaxed)
        return number != 0 && number == SystemThread.ID.current.number
    }

    /// Runs waiting steps, and takes nothing any more; on the worker's thread, or before others
    /// have it.
    ///
    /// A later step waits until the loop has ended: its items are told of that on the thread,
    /// and what they call may be the actors'.
    func close() {
        // From the inbox as long as it is open: one of them may run the loop until one behind it
        // has run.
        for _ in 0..<WorkerCore.lastPassCountMax where !inbox.isEmpty { runArrived() }
        source.invalidate()
        var left: [UnownedJob] = []
        inbox.close(into: &left, waiting: SystemThread.yield)
        while addingCount.load(ordering: .acquiring) != 0 { SystemThread.yield() }
        for step in left { run(step) }
        if !loop.endObservers.add(self, { [self] in goOnLate() }) { goOnLate() }
    }

    /// Runs the steps that are there now; those that arrive from now on run in the next pass.
    private func runArrived() {
        let end = inbox.end
        while !inbox.isTaken(upTo: end) {
            // They are announced again when the thread's next run begins.
            if queue?.isInterrupted == true, WorkerCore.current?.postponesTasks == true { return }
            guard let step = inbox.popFirst() else {
                SystemThread.yield()
                break
            }
            // A run nested in this step goes on with those behind it.
            if !inbox.rest() { source.signal() }
            if loop.isMeasured {
                loop.callingMeasured(.task, nil) { run(step) }
            } else {
                run(step)
            }
        }
        source.takeBackSignal()
        if !inbox.rest() { announce() }
    }

    /// Announces waiting steps, when a run in one of the modes begins; on the worker's thread.
    func announceWaiting() {
        if !inbox.isResting { source.signal() }
    }

    /// Lets the thread run waiting steps.
    private func announce() {
        source.signal()
        loop.wakeUp()
    }

    /// The loop has ended: lets those steps go on that came meanwhile.
    private func goOnLate() { changeLate { $0.haveToWait = false } }

    /// Lets a step that came after the thread's end run, once its loop has ended as well.
    private func addLate(_ step: UnownedJob) { changeLate { $0.steps.append(step) } }

    /// Changes the late steps, and lets them run unless a thread does that already.
    ///
    /// Elsewhere: the thread that ends is to run nothing any more, and who begins or resumes a task
    /// may hold a lock that the task takes.
    private func changeLate(_ change: (inout sending Late) -> Void) {
        let isRunner = late.withLock { late in
            change(&late)
            return late.beginRunning(for: self)
        }
        if isRunner { Task.detached { [self] in await runLate() } }
    }

    /// Runs steps one after another; on one thread at a time, so that actors stay isolated.
    private func runLate() async {
        while let step = nextLate() {
            lateThread.store(SystemThread.ID.current.number, ordering: .relaxed)
            run(step)
            lateThread.store(0, ordering: .relaxed)
            // A task may wait step by step for another one, which needs a thread of the same few.
            await Task.yield()
        }
    }

    private func nextLate() -> UnownedJob? {
        let (step, runner) = late.withLock { late -> (UnownedJob?, WorkerExecutor?) in
            let step = late.steps.popFirst()
            return (step, step == nil ? late.runner.take() : nil)
        }
        // Let go of without the lock, and last: it may have been all that kept this.
        withExtendedLifetime(runner) {}
        return step
    }

    private func run(_ step: UnownedJob) {
        unsafe step.runSynchronously(
            isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    }
}

/// The object that only the source of a plain loop's executor holds: it goes when the loop ends,
/// and closes the executor.
private final class ExecutorKeeper: @unchecked Sendable {
    // SAFETY: set while the source is in no loop; looked at on the loop's thread, and by the last
    // that lets go.
    var executor: WorkerExecutor?

    deinit { executor?.close() }
}

extension WorkerThread {
    /// The thread as an executor: for actors (`unownedExecutor`) and `Task(executorPreference:)`.
    ///
    /// - Thread: any thread.
    public var executor: WorkerExecutor { core.executor }
}
