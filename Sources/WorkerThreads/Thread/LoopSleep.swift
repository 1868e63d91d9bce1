// Tasks that wait for a time by a run loop's clock: a timer of the loop ends their sleep. Swift's
// own Task.sleep takes part through the clock that is here, `Task.sleep(for:clock:)`.

public import Kernel
public import RunLoops
internal import Synchronization

/// The loop's thread ended before the time had come for which a task waited in it.
public struct LoopEnded: Error, Equatable, Sendable, CustomStringConvertible {
    init() {}

    /// The fault.
    public var description: String { "the run loop ended before the time had come" }
}

extension ThreadRunLoop {
    /// Suspends the task until a date by this loop's clock; a timer of the loop resumes it.
    ///
    /// - Parameters:
    ///   - deadline: when to go on; a past one does in the loop's next pass.
    ///   - tolerance: how much later it may be, so that neighbours share a wake-up.
    ///   - modes: in which modes of the loop the time can come; one at least.
    /// - Throws: `CancellationError` as soon as the task is cancelled; `LoopEnded`.
    /// - Thread: any task; it goes on where it ran before.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func sleep(
        until deadline: Instant, tolerance: Duration? = nil, modes: [Mode] = [.common]
    ) async throws {
        require(!modes.isEmpty, "a sleep ends in a mode of the loop: name one at least")
        let waiter = Waiter<Void>()
        let sleeping = SleepingTimer()
        try await waiter.wait {
            let alarm = Alarm(waiter)
            let timer = Timer(at: deadline, tolerance: tolerance ?? .zero) { _ in alarm.ring() }
            sleeping.set(timer)
            for mode in modes { add(timer, to: mode) }
            // Cancelled meanwhile by a thread that could not yet see the timer.
            if Task.isCancelled { timer.invalidate() }
        } cancelled: {
            sleeping.invalidate()
        }
    }

    /// Suspends the task until a date of the continuous clock; a timer of the loop resumes it.
    ///
    /// The date is turned into one of the loop's clock at once: if that clock is moved by hand, the
    /// sleep ends when it has been moved so far.
    ///
    /// - Parameters:
    ///   - deadline: when to go on; a past one does in the loop's next pass.
    ///   - tolerance: how much later it may be, so that neighbours share a wake-up.
    ///   - modes: in which modes of the loop the time can come; one at least.
    /// - Throws: `CancellationError` as soon as the task is cancelled; `LoopEnded`.
    /// - Thread: any task; it goes on where it ran before.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func sleep(
        until deadline: ContinuousClock.Instant, tolerance: Duration? = nil,
        modes: [Mode] = [.common]
    ) async throws {
        try await sleep(until: instant(deadline), tolerance: tolerance, modes: modes)
    }

    /// Suspends the task for a while by this loop's clock; a timer of the loop resumes it.
    ///
    /// - Parameters:
    ///   - duration: from now.
    ///   - tolerance: how much longer it may be, so that neighbours share a wake-up.
    ///   - modes: in which modes of the loop the time can come.
    /// - Throws: `CancellationError` as soon as the task is cancelled; `LoopEnded`.
    /// - Thread: any task; it goes on where it ran before.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func sleep(
        for duration: Duration, tolerance: Duration? = nil, modes: [Mode] = [.common]
    ) async throws {
        try await sleep(until: now.advanced(by: duration), tolerance: tolerance, modes: modes)
    }

    /// This loop's time and timers as a clock for tasks.
    ///
    /// ```swift
    /// try await Task.sleep(for: .milliseconds(5), clock: worker.clock)
    /// ```
    public struct TimerClock: Clock {
        let loop: ThreadRunLoop
        let modes: [Mode]

        /// The time by which the loop's timers go.
        public var now: Instant { loop.now }

        /// A nanosecond: how exactly dates are kept.
        ///
        /// The kernel may round it.
        public var minimumResolution: Duration { .nanoseconds(1) }

        /// Suspends the task until a date; see `ThreadRunLoop.sleep(until:tolerance:modes:)`.
        public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
            try await loop.sleep(until: deadline, tolerance: tolerance, modes: modes)
        }
    }

    /// This loop's time and its timers in some modes, as a clock for tasks.
    ///
    /// - Thread: any thread.
    public func clock(modes: [Mode] = [.common]) -> TimerClock {
        TimerClock(loop: self, modes: modes)
    }
}

/// The object that only a sleep's timer holds: it goes with the timer, and says so if it has not
/// rung.
private final class Alarm: Sendable {
    private let waiter: Waiter<Void>

    init(_ waiter: Waiter<Void>) { self.waiter = waiter }

    deinit { waiter.settle(.failure(LoopEnded())) }

    func ring() { waiter.settle(.success(())) }
}

/// Where a cancelled sleep finds its timer.
///
/// It does not keep it: a timer that a loop lets go of, or never took, must go, with its alarm.
private final class SleepingTimer: Sendable {
    private struct Reference {
        weak var timer: ThreadRunLoop.Timer?
    }

    private let reference = Mutex(Reference())

    func set(_ timer: ThreadRunLoop.Timer) { reference.withLock { $0.timer = timer } }

    func invalidate() { reference.withLock { $0.timer }?.invalidate() }
}

extension WorkerThread {
    /// The modes in which tasks run on a worker, and so those in which their sleep can end.
    static let taskModes: [ThreadRunLoop.Mode] = [.default, .job, .draining]

    /// The thread's time and timers as a clock for tasks, also while it serves a job.
    ///
    /// While the thread is paused a sleep does not end. When the thread ends it throws `LoopEnded`.
    ///
    /// - Thread: any thread.
    public var clock: ThreadRunLoop.TimerClock { runLoop.clock(modes: Self.taskModes) }

    /// Suspends the task until a date by the clock of the thread's loop; a timer of it resumes it.
    ///
    /// - Parameters:
    ///   - deadline: when to go on.
    ///   - tolerance: how much later it may be, so that neighbours share a wake-up.
    /// - Throws: `CancellationError` as soon as the task is cancelled; `LoopEnded`.
    /// - Thread: any task; it goes on where it ran before.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func sleep(
        until deadline: Instant, tolerance: Duration? = nil
    ) async throws {
        try await runLoop.sleep(until: deadline, tolerance: tolerance, modes: Self.taskModes)
    }

    /// Suspends the task until a date of the continuous clock; a timer of the thread's loop resumes
    /// it.
    ///
    /// - Parameters:
    ///   - deadline: when to go on.
    ///   - tolerance: how much later it may be, so that neighbours share a wake-up.
    /// - Throws: `CancellationError` as soon as the task is cancelled; `LoopEnded`.
    /// - Thread: any task; it goes on where it ran before.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func sleep(
        until deadline: ContinuousClock.Instant, tolerance: Duration? = nil
    ) async throws {
        try await runLoop.sleep(until: deadline, tolerance: tolerance, modes: Self.taskModes)
    }

    /// Suspends the task for a while by the clock of the thread's loop; a timer of it resumes it.
    ///
    /// - Parameters:
    ///   - duration: from now.
    ///   - tolerance: how much longer it may be, so that neighbours share a wake-up.
    /// - Throws: `CancellationError` as soon as the task is cancelled; `LoopEnded`.
    /// - Thread: any task; it goes on where it ran before.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func sleep(
        for duration: Duration, tolerance: Duration? = nil
    ) async throws {
        try await runLoop.sleep(for: duration, tolerance: tolerance, modes: Self.taskModes)
    }
}
