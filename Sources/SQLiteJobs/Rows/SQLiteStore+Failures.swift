// Failed jobs, with their payloads: they can be run again, or dropped. Each function is part of a
// transaction.

package import Jobs

extension SQLiteStore {
    /// A job and its payload, if that is kept; nil if there is no such job.
    ///
    /// - Complexity: as `job(_:)`.
    package func payload(of id: JobID) throws(StoreFault) -> FoundPayload? {
        guard let job = try job(id) else { return nil }
        guard job.state == .failed else {
            return FoundPayload(job: job, bytes: job.state.isEnded ? nil : job.payload)
        }
        let row = try cached("SELECT payload FROM ended WHERE id = ?")
        try row.bind(1, Int64(clamping: id.number))
        defer { row.reset() }
        return FoundPayload(job: job, bytes: try row.step() ? row.optionalBytes(0) : nil)
    }

    /// The failed jobs of a selector that can be run again, in the order of their ids.
    ///
    /// - Parameters:
    ///   - first, last: the numbers between which they are, both excluded.
    ///   - limit: the largest number of jobs.
    package func failed(
        of selector: String, after first: JobID = JobID(0), before last: JobID = JobID(.max),
        limit: Int
    ) throws(StoreFault) -> [JobID] {
        let rows = try cached(
            """
            SELECT id FROM ended
            WHERE outcome IN (2, 3) AND payload IS NOT NULL AND selector = ? AND id > ? AND id < ?
            ORDER BY id LIMIT ?
            """)
        try rows.bind(1, selector)
        try rows.bind(2, Int64(clamping: first.number))
        try rows.bind(3, Int64(clamping: last.number))
        try rows.bind(4, Int64(limit))
        defer { rows.reset() }
        var ids: [JobID] = []
        while try rows.step() { ids.append(JobID(UInt64(rows.integer(0)))) }
        return ids
    }

    /// Runs a failed job again: it is due at `now`, and its attempts are counted anew.
    ///
    /// - Parameter number: jobs from this one on came after the command.
    /// - Returns: the job, or nil if there is no failed job of this id with its payload.
    package func runAgain(
        _ id: JobID, before number: JobID = .max, at now: Int64
    ) throws(StoreFault) -> Job? {
        guard let entry = try failedEntry(id)?.entry else { return nil }
        let copy = try cached(
            """
            INSERT INTO jobs (id, thread, selector, payload, priority, held, attempt, retries,
                timeout_ms, accepted_at, due_at, order_key, retry_blocks, forgiven,
                released_before, carried)
            SELECT id, thread, selector, payload, priority, 1, attempt, retries,
                timeout_ms, accepted_at, ?1, order_key, retry_blocks, attempt, ?3,
                carried
            FROM ended WHERE id = ?2 AND payload IS NOT NULL
            """)
        try copy.bind(1, now)
        try copy.bind(2, Int64(clamping: id.number))
        try copy.bind(3, Int64(clamping: number.number))
        try copy.run()
        guard database.changeCount == 1 else { return nil }
        try noteDue(at: now)
        try forgetFailed(entry)
        try forgetAsked(id)
        return try job(id)
    }

    /// Drops a failed job.
    ///
    /// - Returns: the job, or nil if there is no failed job of this id.
    package func dropFailed(_ id: JobID) throws(StoreFault) -> DroppedJob? {
        guard let failed = try failedEntry(id) else { return nil }
        try forgetFailed(failed.entry)
        return failed.job
    }

    /// The entry of a failed job; nil if there is none of this id.
    func failedEntry(
        _ id: JobID
    ) throws(StoreFault) -> (entry: RetainedJobs.Entry, job: DroppedJob)? {
        let row = try cached(
            """
            SELECT ended_at, coalesce(length(result), 0) + coalesce(length(payload), 0), thread,
                selector
            FROM ended WHERE id = ? AND outcome IN (2, 3)
            """)
        try row.bind(1, Int64(clamping: id.number))
        defer { row.reset() }
        guard try row.step() else { return nil }
        return (
            RetainedJobs.Entry(
                id: id, endedAt: row.integer(0), byteCount: Int(row.integer(1))),
            DroppedJob(id: id, slot: row.text(2), selector: row.text(3))
        )
    }
}
