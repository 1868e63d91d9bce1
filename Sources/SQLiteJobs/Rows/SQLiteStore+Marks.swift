// The mark that tells the store's own attempt log from that of another store: a random number that
// both have. Each opening draws a new one, so that the log of an older or a newer copy of the store
// has another.

package import Jobs

/// The marks by which a store recognises its attempt log; 0 is that of files without one.
package struct AttemptMarks: Equatable, Sendable {
    /// The mark of the file whose attempts the store has yet to learn.
    package var present: UInt64 = 0
    /// The mark of the file whose attempts it has learnt already; nil if there is none.
    package var learnt: UInt64?

    /// The marks of a store.
    package init(present: UInt64 = 0, learnt: UInt64? = nil) {
        self.present = present
        self.learnt = learnt
    }

    static let presentSetting = "attempts_mark"
    static let learntSetting = "attempts_learnt"
}

extension SQLiteStore {
    /// The marks by which the store recognises its attempt log.
    ///
    /// - Blocks: for the disk.
    package func attemptMarks() throws(StoreFault) -> AttemptMarks {
        AttemptMarks(
            present: try setting(AttemptMarks.presentSetting) ?? 0,
            learnt: try setting(AttemptMarks.learntSetting))
    }

    /// Changes the marks; part of a transaction.
    package func setAttemptMarks(_ marks: AttemptMarks) throws(StoreFault) {
        for (name, value) in [
            (AttemptMarks.presentSetting, marks.present),
            (AttemptMarks.learntSetting, marks.learnt),
        ] {
            let statement =
                value == nil
                ? try cached("DELETE FROM settings WHERE name = ?1")
                : try cached("INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)")
            try statement.bind(1, name)
            if let value { try statement.bind(2, Int64(bitPattern: value)) }
            try statement.run()
        }
    }

    private func setting(_ name: String) throws(StoreFault) -> UInt64? {
        let statement = try cached("SELECT value FROM settings WHERE name = ?1")
        try statement.bind(1, name)
        defer { statement.reset() }
        return try statement.step() ? UInt64(bitPattern: statement.integer(0)) : nil
    }
}
