// Swift's own Task.sleep, routed to the loop's timers. Swift 6.3 lets a task's preferred executor
// do the waiting if it is a scheduling executor. That protocol is experimental: this file is
// compiled for that version alone, nothing else relies on it, and `worker.clock` is what every
// version has.

#if compiler(>=6.3) && compiler(<6.4)
    @_spi(ExperimentalScheduling) public import _Concurrency
    internal import Kernel
    internal import RunLoops
    internal import Synchronization

    @_spi(ExperimentalScheduling)
    extension WorkerExecutor: SchedulingExecutor {
        /// Queues a task's next step for later; called by Swift's runtime for `Task.sleep`.
        public func enqueue<C: Clock>(
            _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
        ) {
            // The runtime's clocks, the only ones it passes on, count in this type.
            let delay = delay as? Duration ?? .zero
            let step = LaterStep(
                UnownedJob(job), executor: self, due: .now + min(delay, .longestWait))
            let timer = ThreadRunLoop.Timer(
                at: loop.now.advanced(by: delay), tolerance: tolerance as? Duration ?? .zero
            ) { _ in step.run() }
            for mode in modes { loop.add(timer, to: mode) }
        }

        /// Queues a task's next step for a date; called by Swift's runtime for `Task.sleep`.
        public func enqueue<C: Clock>(
            _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
        ) {
            enqueue(
                job, after: clock.now.duration(to: instant), tolerance: tolerance, clock: clock)
        }
    }

    /// A step that its timer holds alone.
    ///
    /// If that goes before its time, the thread having ended, the step is not lost: the rest of the
    /// time passes elsewhere.
    private final class LaterStep: Sendable {
        private let step: Mutex<UnownedJob?>
        private let executor: WorkerExecutor
        private let due: ContinuousClock.Instant

        init(_ step: UnownedJob, executor: WorkerExecutor, due: ContinuousClock.Instant) {
            self.step = Mutex(step)
            self.executor = executor
            self.due = due
        }

        deinit {
            guard let step = step.withLock({ $0.take() }) else { return }
            Task.detached { [executor, due] in
                try? await ContinuousClock().sleep(until: due)
                executor.add(step)
            }
        }

        func run() {
            if let step = step.withLock({ $0.take() }) { executor.add(step) }
        }
    }
#endif
