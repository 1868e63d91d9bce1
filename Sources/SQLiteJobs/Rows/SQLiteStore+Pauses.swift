// Jobs between two attempts have the date of the next one, by the clock on the wall. When that clock was set
// back and the file is opened anew, none waits longer than such a pause may be: with `BLOCK` it would hold
// up its thread for as many hours as the clock was wrong.

package import Jobs

extension SQLiteStore {
    /// Records that an attempt has failed and that the next one comes at a moment.
    package func retry(
        _ id: JobID, _ attempt: Attempt, dueAt: Int64, at now: Int64
    ) throws(StoreFault) {
        try start(id, attempt)
        try release(id, at: dueAt)
        // So that an opening looks for pauses that are too long only if the clock was set back.
        try noteLatest("retried_through", at: now)
    }

    /// Dates the next attempts anew that would come later than a pause may last; part of a transaction.
    ///
    /// - Parameter now: what the clock says that was set back.
    /// - Complexity: O(jobs that are held), if that was so; else it is one look.
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
