// Jobs between two attempts have the date of the next one, by the wall clock. When that clock was
// set back and the file is reopened, no job waits longer than a pause may last: with `BLOCK` it
// would block its thread for as many hours as the clock was wrong.

package import Jobs

extension SQLiteStore {
    /// Records that an attempt has failed and that the next one comes at a moment.
    package func retry(
        _ id: JobID, _ attempt: Attempt, dueAt: Int64, at now: Int64
    ) throws(StoreFault) {
        try forgetHolder(of: id)
        try start(id, attempt)
        try release(id, at: dueAt)
        // An opening searches for pauses that are too long only if the clock was set back.
        try noteLatest("retried_through", at: now)
    }

    /// Redates retries that would come later than a pause may last; part of a transaction.
    ///
    /// - Parameter now: the time of the clock that was set back.
    /// - Complexity: O(deferred jobs), if it was; else one lookup.
    package func shortenPauses(at now: Int64) throws(StoreFault) {
        guard try takeLatest("retried_through", after: now) else { return }
        let rows = try cached(
            """
            SELECT id, attempt - forgiven, due_at FROM jobs
            WHERE held > 0 AND held = 1 AND attempt > forgiven AND due_at > ?1
            """)
        try rows.bind(1, now)
        var dates: [(id: Int64, dueAt: Int64)] = []
        while try rows.step() {
            let longest = RetryPause.milliseconds(after: Int(rows.integer(1))).upperBound
            if rows.integer(2) > now + longest { dates.append((rows.integer(0), now + longest)) }
        }
        let statement = try cached("UPDATE jobs SET due_at = ?2 WHERE id = ?1")
        for (id, dueAt) in dates {
            try statement.bind(1, id)
            try statement.bind(2, dueAt)
            try statement.run()
        }
    }
}
