// The seam between the scheduler and the keeper of its jobs. A store takes commands and answers
// them; it has no access to worker threads, clients or queues in memory.
//
// A command that asks for something is answered, also if it fails. A command that records an event
// (`StoreCommand.isRecord`) is not: the store retries until it is kept, and logs when it is behind.

/// Where a store keeps jobs.
package enum StoreKind: String, Sendable {
    /// Nowhere: jobs end with the daemon.
    case memory
    case file
    case database
}

/// Keeps jobs beyond the life of the daemon.
///
/// - Thread: any thread. The commands of one thread keep their order.
package protocol JobStore: AnyObject, Sendable {
    /// The store's name for operators, such as the path of its file.
    var name: String { get }

    /// Where it keeps jobs.
    var kind: StoreKind { get }

    /// Whether jobs may begin: no other daemon can have the store by now.
    ///
    /// Wait-free.
    var isTrusted: Bool { get }

    /// The number of this daemon's seat if several share the threads; nil if it has all threads.
    var sharedSeat: Int64? { get }

    /// Whether an attempt of a job may begin: as `isTrusted`, a crash would not make the store
    /// forget it, and another daemon would count the attempts before it.
    ///
    /// Does not block.
    func mayBegin(_ id: UInt64, attempt: Int) -> Bool

    /// Enqueues a command for the next `fire`.
    ///
    /// Does not block.
    func add(_ command: consuming StoreCommand)

    /// Has the store execute the enqueued commands, as one transaction if it can.
    ///
    /// Does not block.
    func fire()

    /// Enqueues a command that can wait for others a few milliseconds.
    ///
    /// Does not block.
    func record(_ command: consuming StoreCommand)

    /// Marks that an attempt begins: on return, a crash of the process does not undo it.
    ///
    /// Called on the worker's thread before each handler. Wait-free.
    func noteStart(_ id: UInt64, _ attempt: Attempt)

    /// Marks a small result, so that the job does not run again after a crash; ignores a large one.
    ///
    /// Called on the worker's thread when the handler has returned. Wait-free.
    ///
    /// - Returns: whether each daemon that may take the jobs over finds the mark.
    @discardableResult
    func noteDone(_ id: UInt64, attempt: Int, result: [UInt8]) -> Bool

    /// Marks which worker in another process holds an attempt, or that none does any more.
    ///
    /// On return, a crash of the process does not undo it. Called before the attempt begins, again
    /// when that worker has another connection or process, and when the attempt is over without a
    /// result. Wait-free.
    func noteHolder(_ id: UInt64, attempt: Int, _ holder: JobHolder?)

    /// Prepares a backup of all that is kept.
    ///
    /// - Parameters:
    ///   - name: what it is called in the directory of backups.
    ///   - directory: the configured directory; nil for the store's own.
    ///   - replaces: whether an existing backup of this name is replaced.
    /// - Throws: why there can't be a backup of this name.
    func backup(
        _ name: String, in directory: String?, replaces: Bool
    ) throws(BackupError) -> any StoreBackup

    /// Finds out which daemons share the store.
    ///
    /// Does not block.
    ///
    /// - Parameter answer: gets them, on any thread; nil if only this daemon can have the store.
    func askForNodes(_ answer: @escaping @Sendable (Result<StoreNodes?, StoreFault>) -> Void)

    /// Shows other daemons another card of this one from now on, also over connections to come.
    ///
    /// Does not block.
    func show(_ card: NodeCard)

    /// Finds out which thread has a job, if daemons share the threads.
    ///
    /// Does not block.
    ///
    /// - Parameter answer: gets it, on any thread; nil if there is no such job.
    func askForThread(
        of id: JobID, _ answer: @escaping @Sendable (Result<String?, StoreFault>) -> Void)

    /// Counts the jobs of threads and pools that have not ended, if daemons share the threads.
    ///
    /// Does not block.
    ///
    /// - Parameter answer: gets the counts by the names, on any thread.
    func askForJobCounts(
        of threads: [String],
        _ answer: @escaping @Sendable (Result<[String: Int], StoreFault>) -> Void)

    /// Finds stored schedules by their names, also the schedules of other daemons.
    ///
    /// Does not block. A store whose threads are not shared finds none.
    ///
    /// - Parameter answer: called on any thread with the schedules that the store has.
    func askForSchedules(
        named names: [String],
        _ answer: @escaping @Sendable (Result<[String: StoredSchedule], StoreFault>) -> Void)

    /// Writes all outstanding commands and closes the store.
    ///
    /// - Parameter nextNumber: the number of the next job.
    /// - Blocks: for the disk.
    func close(nextNumber: UInt64)
}

extension JobStore {
    /// A file, unless the store says otherwise.
    package var kind: StoreKind { .file }

    /// Whether it keeps anything; if not, it gets no jobs.
    package var isKeeping: Bool { kind != .memory }

    /// True: no other daemon can have the store, unless it says otherwise.
    package var isTrusted: Bool { true }

    /// Nil: this daemon has all threads.
    package var sharedSeat: Int64? { nil }

    /// As `isTrusted`, unless the store says otherwise.
    package func mayBegin(_ id: UInt64, attempt: Int) -> Bool { isTrusted }

    /// Nil: no other daemon can have the store, unless it says otherwise.
    package func askForNodes(
        _ answer: @escaping @Sendable (Result<StoreNodes?, StoreFault>) -> Void
    ) {
        answer(.success(nil))
    }

    /// Nothing: no other daemon can have the store, unless it says otherwise.
    package func show(_ card: NodeCard) {}

    /// Nil: this daemon has all threads, unless the store says otherwise.
    package func askForThread(
        of id: JobID, _ answer: @escaping @Sendable (Result<String?, StoreFault>) -> Void
    ) {
        answer(.success(nil))
    }

    /// None: this daemon has all threads, unless the store says otherwise.
    package func askForJobCounts(
        of threads: [String],
        _ answer: @escaping @Sendable (Result<[String: Int], StoreFault>) -> Void
    ) {
        answer(.success([:]))
    }

    /// None: this daemon has all threads, unless the store says otherwise.
    package func askForSchedules(
        named names: [String],
        _ answer: @escaping @Sendable (Result<[String: StoredSchedule], StoreFault>) -> Void
    ) {
        answer(.success([:]))
    }
}

/// A backup that can be made, once.
///
/// - Thread: any thread.
package protocol StoreBackup: Sendable {
    /// The backup's path.
    var path: String { get }

    /// Has the backup end soon, with no file left.
    func giveUp()

    /// Makes the backup.
    ///
    /// - Returns: its size in bytes, when it is on the disk under its name.
    /// - Throws: why there is none; no file is left.
    /// - Thread: one of the caller's own, which serves nothing else.
    /// - Blocks: for the disk, and for turns of the store.
    func make() throws(BackupError) -> Int
}
