// Copies the store on the journal's thread, part by part, as a backup asks for the parts.

package import Jobs
internal import Journals
internal import Kernel
internal import RunLoops
internal import WorkerThreads

extension SQLiteJournal {
    package func backup(
        _ name: String, in directory: String?, replaces: Bool
    ) throws(BackupError) -> any StoreBackup {
        let place = BackupPlace(directory, besides: path)
        return SQLiteBackup(of: self, to: try place.path(of: name), in: place, replaces: replaces)
    }

    /// Begins to copy the store.
    ///
    /// - Parameter path: an empty file.
    /// - Returns: the copy, and its expected size.
    /// - Throws: `StoreFault`; `SubmitError` when the journal is closed.
    /// - Thread: any.
    /// - Blocks: until the journal's thread has begun.
    func beginCopy(to path: String) throws -> (copy: Confined<StoreCopy>, byteCount: Int) {
        let (writer, loop) = (journal.writer, thread.runLoop)
        return try thread.submitAndWait {
            guard let store = writer.value.store as? SQLiteStore else {
                throw SubmitError.stopped(thread: "journal")
            }
            let copy = try store.beginCopy(to: path, mark: SystemRandom.number())
            return (Confined(copy, to: loop), copy.byteCount)
        }
    }

    /// Copies the next part; commands that wait for the journal have their turn before.
    ///
    /// - Returns: whether the copy is complete.
    /// - Throws: `StoreFault`.
    /// - Thread: any.
    /// - Blocks: until the journal's thread has done it.
    func copyPart(of copy: Confined<StoreCopy>, pageCount: Int) throws -> Bool {
        try thread.submitAndWait { try copy.value.next(pageCount: pageCount) }
    }

    /// Closes the copy's file.
    ///
    /// - Thread: any; before the journal is closed.
    /// - Blocks: until the journal's thread has done it.
    func endCopy(_ copy: Confined<StoreCopy>) {
        try? thread.submitAndWait { copy.value.close() }
    }
}
