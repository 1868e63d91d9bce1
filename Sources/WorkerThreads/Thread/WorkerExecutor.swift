// Swift's tasks on a worker thread: the thread as a serial executor and as a task executor.

internal import RunLoops

/// Runs actors and tasks on one worker thread.
///
/// Also while the thread serves a job in mode `job`: an asynchronous job's own tasks run there.
public final class WorkerExecutor: SerialExecutor, TaskExecutor {
    private let jobs: CommandBuffer<UnownedJob>
    private let loop: ThreadRunLoop

    init(loop: ThreadRunLoop) {
        self.loop = loop
        let box = Box()
        jobs = CommandBuffer(order: -1) { jobs in
            guard let executor = box.executor else { return }
            for job in jobs { executor.run(job) }
        }
        box.executor = self
        for mode: ThreadRunLoop.Mode in [.default, .job, .draining] {
            jobs.add(to: loop, mode: mode)
        }
    }

    /// Queues a task's next step; called by Swift's runtime.
    ///
    /// - Thread: any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if jobs.add(job) { return jobs.fire() }
        // The thread has ended. A task must be able to finish, if only to see that it is cancelled.
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }

    /// Traps unless the caller runs on the thread; what `assumeIsolated` asks.
    public func checkIsolated() {
        precondition(loop.isOnThread, "not on the actor's worker thread")
    }

    /// Runs what waits, and takes nothing any more; on the worker's thread.
    func close() {
        for job in jobs.invalidate() { run(job) }
    }

    private func run(_ job: UnownedJob) {
        unsafe job.runSynchronously(
            isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    }

    private final class Box: @unchecked Sendable {
        // SAFETY: set once in the executor's initializer, before anything can be enqueued.
        weak var executor: WorkerExecutor?
    }
}

extension WorkerThread {
    /// The thread as an executor: for actors (`unownedExecutor`) and `Task(executorPreference:)`.
    ///
    /// - Thread: any thread.
    public var executor: WorkerExecutor { core.executor }
}
