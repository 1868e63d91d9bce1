// The store in a file, as the daemon sees it: a journal on a thread of its own, whose tables are in
// an SQLite database.

package import Jobs
package import Journals
package import Kernel
package import WorkerThreads

/// Keeps jobs in an SQLite file, written on a thread of its own.
///
/// - Thread: any thread.
package final class SQLiteJournal: JournalStore {
    /// The path of the file.
    let path: String
    package let journal: JournalThread

    /// Opens a file of jobs on a thread of its own.
    ///
    /// - Parameter selectors: the selectors that have a handler.
    /// - Returns: the journal, and the state of the file.
    /// - Throws: `StoreFault`, or the error of a failed thread start.
    /// - Blocks: for the disk.
    package static func open(
        _ path: String, limits: StoreLimits, serving selectors: Set<String>,
        window: WindowLimits = WindowLimits(), clocks: Clocks = .system, log: StoreLog
    ) throws -> (SQLiteJournal, StoreRecovery) {
        if try File.kind(of: path) == nil, try File.kind(of: path + "-wal") == nil {
            // SQLite would make it readable for everyone; only the owner may read jobs.
            do throws(SystemError) {
                try File.write([], to: path, mode: File.ownerOnly)
            } catch {
                throw StoreFault(.notWritable, path: path, detail: error.reason)
            }
        }
        let wall = clocks.wall
        let (journal, recovery) = try JournalThread.open(clocks: clocks, log: log) {
            let store = try SQLiteStore(
                path: path, limits: limits, readsEnded: false, movesLog: false)
            let recovering = try Recovering(store, attemptsPath: path + "-attempts", log)
            store.keepDamagedLog(log)
            let (counter, recovery) = try recovering.learn(
                serving: selectors, window, at: wall.unixMilliseconds())
            // Only now are its entries in the store; and no job has begun.
            let attempts = try recovering.makeAttempts()
            try store.beginMovingLog()
            if store.logDamage != nil { try store.beginNewLog() }
            return JournalThread.Opened(store, counter, recovery, attempts)
        }
        return (SQLiteJournal(path, journal), recovery)
    }

    private init(_ path: String, _ journal: JournalThread) {
        self.path = path
        self.journal = journal
    }

    package var thread: WorkerThread { journal.thread }
    package var name: String { path }

    package func close(nextNumber: UInt64) { journal.close(nextNumber: nextNumber) }
}
