// The marks by which a store recognises its attempt log, in the settings.

package import Jobs
package import Journals

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
