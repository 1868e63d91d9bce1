// The seam between the scheduler and what keeps its jobs. A store takes commands and answers them;
// it knows no thread that serves, no client and no queue in memory.
//
// A command that asks for something is answered, also if it fails. A command that says what has
// happened (`StoreCommand.isRecord`) is not: the store tries again until it is kept, and logs when
// it is behind.

/// Keeps jobs beyond the life of the daemon.
///
/// - Thread: any thread. The commands of one thread keep their order.
package protocol JobStore: AnyObject, Sendable {
    /// What operators know it by, such as the path of its file.
    var name: String { get }

    /// Whether it keeps anything: without, jobs are not told to it.
    var isKeeping: Bool { get }

    /// Adds a command, which is done with the next firing.
    ///
    /// Does not block.
    func add(_ command: consuming StoreCommand)

    /// Has the store do what was added, as one transaction if it can.
    ///
    /// Does not block.
    func fire()

    /// Adds a command that can wait for others a few milliseconds.
    ///
    /// Does not block.
    func record(_ command: consuming StoreCommand)

    /// Marks that an attempt begins: on return, a crash of the process does not undo it.
    ///
    /// Called on the worker's thread before each handler. Wait-free.
    func noteStart(_ id: UInt64, _ attempt: Attempt)

    /// Marks a small result, so that a crash does not make the job run again; a large one is
    /// ignored.
    ///
    /// Called on the worker's thread when the handler has returned. Wait-free.
    func noteDone(_ id: UInt64, attempt: Int, result: [UInt8])

    /// Prepares a backup of all that is kept.
    ///
    /// - Parameters:
    ///   - name: what it is called in the directory of backups.
    ///   - directory: the one that is configured; nil for the store's own.
    ///   - replaces: whether a backup of this name gives way.
    /// - Throws: why there can't be one of this name.
    func backup(
        _ name: String, in directory: String?, replaces: Bool
    ) throws(BackupError) -> any StoreBackup

    /// Writes what is left and lets go of everything.
    ///
    /// - Parameter nextNumber: what the next job will be numbered.
    /// - Blocks: for the disk.
    func close(nextNumber: UInt64)
}

extension JobStore {
    /// A store keeps jobs, unless it says otherwise.
    package var isKeeping: Bool { true }
}

/// A backup that can be made, once.
///
/// - Thread: any thread.
package protocol StoreBackup: Sendable {
    /// Where it will be.
    var path: String { get }

    /// Lets it end soon, with nothing left of it.
    func giveUp()

    /// Makes the backup.
    ///
    /// - Returns: its size in bytes, when it is on the disk under its name.
    /// - Throws: why there is none; nothing is left of it.
    /// - Thread: one of the caller's own, which serves nothing else.
    /// - Blocks: for the disk, and for turns of the store.
    func make() throws(BackupError) -> Int
}
