// Where a worker is right now, for a search why it does not come back.

internal import Kernel
internal import RunLoops

extension WorkerThread {
    /// Where the thread is, the innermost function first.
    ///
    /// The thread is sent a signal, as by a watchdog: see `watch`.
    ///
    /// - Returns: empty when it did not answer: one that was never measured holds back the signals
    ///   that its starter held back.
    /// - Thread: any but this one.
    /// - Blocks: until it has answered, at most a second; and for the disk.
    package func backtrace() -> [String] {
        let watch = runLoop.madeWatch
        return Symbols.describe(watch.addresses(during: watch.read().number))
    }
}
