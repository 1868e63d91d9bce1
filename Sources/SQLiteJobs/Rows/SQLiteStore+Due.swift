// Jobs that a command has made due: those that were fired, and those that run again. They have the date of
// that command, by the clock on the wall. When that clock is set back and the file opened anew, they
// are due all the same: nobody has asked for that date.

package import Jobs

extension SQLiteStore {
    /// Takes note that jobs become due by a command; part of a transaction.
    ///
    /// So that each opening need not look for one whose date has yet to come: there is none as long as
    /// the clock is ahead of the latest command.
    func noteDue(at now: Int64) throws(StoreFault) {
        try noteLatest("due_through", at: now)
    }

    /// Dates all jobs anew that were due and are not any more; part of a transaction.
    ///
    /// - Parameter now: what the clock says that was set back.
    /// - Complexity: O(jobs that are held), if that was so; else it is one look.
    package func keepDue(at now: Int64) throws(StoreFault) {
        guard try takeLatest("due_through", after: now) else { return }
        let jobs = try cached(
            "UPDATE jobs SET due_at = ?1 WHERE held > 0 AND held = 1 AND is_due = 1 AND due_at > ?1"
        )
        try jobs.bind(1, now)
        try jobs.run()
    }

    // MARK: - What the clock has shown

    /// Takes note of when something was done whose dates depend on the clock; part of a transaction.
    func noteLatest(_ setting: String, at now: Int64) throws(StoreFault) {
        let statement = try cached(
            """
            INSERT INTO settings (name, value) VALUES (?1, ?2)
            ON CONFLICT (name) DO UPDATE SET value = max(settings.value, ?2)
            """)
        try statement.bind(1, setting)
        try statement.bind(2, now)
        try statement.run()
    }

    /// Whether it was done later than now, so that the clock has been set back; then now is the latest.
    func takeLatest(_ setting: String, after now: Int64) throws(StoreFault) -> Bool {
        let statement = try cached("UPDATE settings SET value = ?2 WHERE name = ?1 AND value > ?2")
        try statement.bind(1, setting)
        try statement.bind(2, now)
        try statement.run()
        return database.changeCount > 0
    }
}
