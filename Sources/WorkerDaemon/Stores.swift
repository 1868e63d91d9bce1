// Which store keeps the jobs of a configuration. This is the one place of the daemon that knows a
// store by its own name; all others know the seam, `JobStore`.

internal import Jobs
internal import Kernel
internal import SQLiteJobs
internal import WorkerThreads

/// A store that was opened.
struct OpenedStore {
    let store: any JobStore
    /// Its contents at the opening.
    let recovery: StoreRecovery
    /// The thread on which it works, for tests that drive a daemon step by step; nil for none.
    let thread: WorkerThread?

    /// Opens a file of jobs.
    ///
    /// - Parameters:
    ///   - selectors: the selectors with a handler or program here.
    ///   - window: how much of each queue is in memory at a time.
    /// - Throws: `StoreFault`, or why there is no thread.
    /// - Blocks: for the disk.
    static func file(
        _ path: String, _ limits: Configuration.Limits, serving selectors: Set<String>,
        window: WindowLimits = WindowLimits(), clocks: Clocks = .system, log: Log
    ) throws -> OpenedStore {
        let storeLog = StoreLog { level, text in
            switch level {
            case .notice: log.notice(text)
            case .warning: log.warning(text)
            case .error: log.error(text)
            }
        }
        let (journal, recovery) = try SQLiteJournal.open(
            path, limits: StoreLimits(limits), serving: selectors, window: window, clocks: clocks,
            log: storeLog)
        return OpenedStore(store: journal, recovery: recovery, thread: journal.thread)
    }
}
