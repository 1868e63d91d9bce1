// Detects that the file or its log was moved or removed. SQLite goes on with such a file, and its
// later writes are lost with the process; nor does its lock keep another daemon from making a new
// file.

internal import Jobs

extension SQLiteStore {
    /// The time after which a check is repeated, in milliseconds: not every job pays for one.
    private static let lookMilliseconds: Int64 = 1_000

    /// Checks that the files are still at their paths, unless that was done lately.
    ///
    /// - Throws: `.moved`.
    /// - Blocks: for the disk.
    func checkPresence(at now: Int64) throws(StoreFault) {
        if let seenAt, (0..<Self.lookMilliseconds).contains(now - seenAt) { return }
        seenAt = nil
        if let fault = database.movedFault { throw fault }
        seenAt = now
    }

    /// Makes the next transaction check that the files are still at their paths.
    package func doubtPresence() { seenAt = nil }
}
