// Jobs that a command has made due: fired jobs, and jobs that run again. Their date is that of the
// command, by the wall clock. When that clock is set back and the file is reopened, they are due
// all the same: no client has asked for that date.

package import Jobs

extension SQLiteStore {
    /// Records that jobs become due by a command; part of a transaction.
    ///
    /// So an opening need not search for one with a future date: there is none while the clock is
    /// ahead of the latest command.
    func noteDue(at now: Int64) throws(StoreFault) {
        try noteLatest("due_through", at: now)
    }

    /// Redates all jobs that were due and no longer are; part of a transaction.
    ///
    /// - Parameter now: the time of the clock that was set back.
    /// - Complexity: O(deferred jobs), if it was; else one lookup.
    package func keepDue(at now: Int64) throws(StoreFault) {
        guard try takeLatest("due_through", after: now) else { return }
        let jobs = try cached(
            """
            UPDATE jobs SET due_at = ?1
            WHERE held > 0 AND held = 1 AND released_before > 0 AND due_at > ?1
            """)
        try jobs.bind(1, now)
        try jobs.run()
    }

    // MARK: - The latest times of the clock

    /// Records the time of an action whose dates depend on the clock; part of a transaction.
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

    /// Whether the action's time is after `now`, because the clock was set back; then stores `now`.
    func takeLatest(_ setting: String, after now: Int64) throws(StoreFault) -> Bool {
        let statement = try cached("UPDATE settings SET value = ?2 WHERE name = ?1 AND value > ?2")
        try statement.bind(1, setting)
        try statement.bind(2, now)
        try statement.run()
        return database.changeCount > 0
    }
}
