// Whether the file and its log are still where they are looked for. SQLite goes on with one that was moved or
// removed, and what it writes there is lost with the process; nor does its lock keep another daemon from making
// a new one.

internal import Jobs

extension SQLiteStore {
    /// How long a look is good for, in milliseconds: so none is paid for by the job.
    private static let lookMilliseconds: Int64 = 1_000

    /// Looks whether the files are still at their paths, if that was not done lately.
    ///
    /// - Throws: `.moved`.
    /// - Blocks: for the disk.
    func checkPresence(at now: Int64) throws(StoreFault) {
        if let seenAt, (0..<Self.lookMilliseconds).contains(now - seenAt) { return }
        seenAt = nil
        if let fault = database.movedFault { throw fault }
        seenAt = now
    }

    /// Has the next transaction look whether the files are still at their paths.
    package func doubtPresence() { seenAt = nil }
}
