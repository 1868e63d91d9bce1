// A worker thread whose time a test moves, and a way to wait until it has done what there was to
// do.

internal import Glibc
public import Kernel
internal import RunLoops
public import WorkerThreads

extension WorkerThread {
    /// Starts a thread whose loop goes by a clock that is moved by hand.
    ///
    /// All else is as in production: a real thread, the real kernel. Only its timers, performs
    /// after a delay and time limits wait for the clock to be moved.
    ///
    /// ```swift
    /// let clock = ManualClock()
    /// let worker = try WorkerThread(name: "reminders", clock: clock)
    /// let trace = Trace()
    /// let midnight = worker.runLoop.now.advanced(by: .seconds(8 * 3_600))
    /// worker.runLoop.add(ThreadRunLoop.Timer(at: midnight) { _ in trace.note("midnight") })
    ///
    /// clock.advance(by: .seconds(8 * 3_600))
    /// try worker.settle()
    /// #expect(trace.all == ["midnight"])
    /// ```
    ///
    /// - Parameters:
    ///   - name: shown by `ps`, debuggers and in this library's errors.
    ///   - maxQueued: how many submitted items may wait; more are refused with `SubmitError.full`.
    ///   - whenFull: what happens to a submitted item when so many wait.
    ///   - stackByteCount: size of its stack; nil for the system's default.
    ///   - clock: the time by which it goes.
    /// - Throws: EAGAIN when the system has no room for another thread.
    /// - Thread: any thread.
    /// - Blocks: never; the thread begins by itself.
    public convenience init(
        name: String, maxQueued: Int = .max, whenFull: WhenFull = .refuse,
        stackByteCount: Int? = nil, clock: ManualClock
    ) throws(SystemError) {
        try self.init(
            name: name, maxQueued: maxQueued, whenFull: whenFull, stackByteCount: stackByteCount,
            poller: SystemPoller(clock: clock))
    }

    /// Waits until the thread has done everything that there was to do, and sleeps, or has ended.
    ///
    /// What the caller submitted, sent or signalled before has then run, and so has every timer
    /// that is due by the thread's clock. What other threads submit meanwhile may have or may not.
    /// Items that wait (while it is paused, or for another mode) go on waiting.
    ///
    /// Bytes are not waited for: the thread sleeps until the kernel has told it of a descriptor
    /// that it watches. Wait for what its port's handler does with them, or let a script make it
    /// ready (``ScriptedPoller/setReady(_:_:)``).
    ///
    /// - Parameter limit: how long to wait, in real time.
    /// - Throws: ``NotSettled`` when it was still busy by then.
    /// - Thread: any thread but this one.
    /// - Blocks: until it is so.
    public func settle(within limit: Duration = .seconds(60)) throws(NotSettled) {
        require(!isCurrent, "thread \(name) can't wait for itself to settle")
        let clock = SystemClock()
        let deadline = clock.now().advanced(by: limit)
        // A wake-up ends `isWaiting` at once, in the thread that sends it, and it is so again only
        // after the loop has looked at everything: there is no gap in between to be seen.
        while !isSettled {
            guard clock.now() < deadline else { throw NotSettled(thread: name, limit: limit) }
            _ = sched_yield()
        }
    }

    /// Whether it sleeps, or has ended.
    var isSettled: Bool { runLoop.isWaiting || hasEnded }
}

/// A worker thread was still busy when the time to wait for it was over.
public struct NotSettled: Error, Equatable, CustomStringConvertible {
    /// The thread's name.
    public let thread: String
    /// How long it was waited for.
    public let limit: Duration

    /// An error, to compare others with.
    public init(thread: String, limit: Duration) {
        self.thread = thread
        self.limit = limit
    }

    /// The fault, and its cure.
    public var description: String {
        "thread \(thread) was still busy after \(limit): something on it runs for longer, or wakes "
            + "it again and again"
    }
}

extension Watchdog {
    /// Starts a watchdog that goes by a clock that is moved by hand.
    ///
    /// Give the threads that it watches the same clock.
    ///
    /// - Throws: EAGAIN when the system has no room for its thread.
    /// - Thread: any thread.
    /// - Blocks: never; its thread begins by itself.
    public convenience init(clock: ManualClock) throws(SystemError) {
        try self.init(poller: SystemPoller(clock: clock))
    }

    /// Waits until the watchdog has reported what there was to report, and sleeps.
    ///
    /// - Parameter limit: how long to wait, in real time.
    /// - Throws: ``NotSettled`` when it was still busy by then.
    /// - Thread: any thread but the watchdog's own.
    /// - Blocks: until it is so.
    public func settle(within limit: Duration = .seconds(60)) throws(NotSettled) {
        try worker.settle(within: limit)
    }
}
