// Whether the file is still where it is looked for. SQLite goes on with one that was moved or removed, and
// what it writes there is lost with the process; nor does its lock keep another daemon from making a new one.

extension SQLiteStore {
    /// How long a look is good for, in milliseconds: so none is paid for by the job.
    private static let lookMilliseconds: Int64 = 1_000

    /// Looks whether the file is still at its path, if that was not done lately.
    ///
    /// - Throws: `.moved`.
    /// - Blocks: for the disk.
    func checkPresence(at now: Int64) throws(StoreFault) {
        if let seenAt, (0..<Self.lookMilliseconds).contains(now - seenAt) { return }
        seenAt = nil
        guard database.isAtItsPath else { throw database.movedFault }
        seenAt = now
    }

    /// Has the next transaction look whether the file is still at its path.
    package func doubtPresence() { seenAt = nil }
}
