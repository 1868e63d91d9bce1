// Watching a worker: the switch for what costs something, and the watchdog's leash.

public import Kernel
internal import RunLoops

extension WorkerThread {
    /// Whether the thread's callouts and sleeps are timed, and where what it runs was submitted
    /// from is noted.
    ///
    /// Off at first, and then it costs nothing. What was submitted before is not noted.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public var isMeasured: Bool {
        get { runLoop.isMeasured }
        set { runLoop.isMeasured = newValue }
    }

    /// Has a watchdog report callouts of this thread that run for too long; measures it, too.
    ///
    /// To find out where the thread hangs it is sent a signal. System calls go on after it, but for
    /// those that never do (signal(7): `sleep`, `poll` and other waits with a time limit): they
    /// return early, with EINTR, as after any other signal. Code that waits so has to look whether
    /// what it waited for is there.
    ///
    /// Replaces what was asked for before.
    ///
    /// ```swift
    /// try ledger.watch(limit: .seconds(2)) { report in print(report) }
    /// ```
    ///
    /// - Parameters:
    ///   - limit: a callout that runs for so long without calling another and without a sleep of
    ///     the loop is reported.
    ///   - watchdog: who watches; nil for the one that all share.
    ///   - report: called on the watchdog's thread, once while a callout hangs and once when it is
    ///     over.
    /// - Throws: EAGAIN when the system has no room for the watchdog's thread.
    /// - Thread: any thread.
    /// - Blocks: never.
    public func watch(
        limit: Duration = .seconds(1), by watchdog: Watchdog? = nil,
        report: @escaping @Sendable (Watchdog.Report) -> Void = Watchdog.writeToStandardError
    ) throws(SystemError) {
        let watchdog = if let watchdog { watchdog } else { try Watchdog.shared() }
        watchdog.watch(runLoop, named: name, limit: limit, report: report)
    }

    /// Watches and measures the thread no longer.
    ///
    /// - Thread: any thread. A report that has begun is not waited for.
    /// - Blocks: never.
    public func unwatch() {
        Watchdog.unwatch(runLoop)
    }
}

extension WorkerThread {
    /// Where the thread is, the innermost function first.
    ///
    /// The thread is sent a signal, as by a watchdog: see `watch`.
    ///
    /// - Returns: empty when it did not answer: one that was never measured blocks the signals that
    ///   its starter blocked.
    /// - Thread: any but this one.
    /// - Blocks: until it has answered, at most a second; and for the disk.
    package func backtrace() -> [String] {
        let watch = runLoop.madeWatch
        return Symbols.describe(watch.addresses(during: watch.read().number))
    }
}
