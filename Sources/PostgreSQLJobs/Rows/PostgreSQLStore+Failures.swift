// Failed jobs, with their payloads: they can be run again, or dropped. And buffered jobs that are
// released. Each change is part of a transaction.

internal import Jobs
internal import Journals

extension PostgreSQLStore {
    /// A job and its payload, if that is kept; nil if there is no such job.
    func payload(of id: JobID) throws(StoreFault) -> FoundPayload? {
        guard let job = try job(id) else { return nil }
        guard job.state == .failed else {
            return FoundPayload(job: job, bytes: job.state.isEnded ? nil : job.payload)
        }
        var parameters = Parameters()
        parameters.add(id.number)
        let row = try rows(
            "SELECT payload FROM workerd.ended WHERE id = $1::bigint", parameters
        ).first
        return FoundPayload(job: job, bytes: row?.optionalBytes(0))
    }

    /// The failed jobs of a selector that can be run again, in the order of their ids.
    ///
    /// - Parameters:
    ///   - first, last: the numbers between which they are, both excluded.
    ///   - limit: the largest number of jobs.
    func failed(
        of selector: String, after first: JobID, before last: JobID, limit: Int
    ) throws(StoreFault) -> [JobID] {
        var parameters = Parameters()
        parameters.add(selector)
        parameters.add(first.number)
        parameters.add(last.number)
        parameters.add(limit)
        parameters.add(scope)
        return try rows(
            """
            SELECT id FROM workerd.ended
            WHERE outcome IN (2, 3) AND payload IS NOT NULL AND selector = $1::text
                AND id > $2::bigint AND id < $3::bigint AND \(Self.isInScope(5))
            ORDER BY id LIMIT $4::bigint
            """, parameters
        ).all.map(JobColumns.id)
    }

    /// Runs a failed job again: it is due at `now`, and its attempts are counted anew.
    ///
    /// - Parameter number: jobs from this one on came after the command.
    /// - Returns: the job, or nil if there is no failed job of this id with its payload.
    func runAgain(
        _ id: JobID, before number: JobID, at now: Int64
    ) throws(StoreFault) -> Job? {
        guard let entry = try failedEntry(id)?.entry else { return nil }
        try noteDelay(until: now)
        var parameters = Parameters()
        parameters.add(id.number)
        parameters.add(now)
        parameters.add(number.number)
        let job = try rows(
            """
            INSERT INTO workerd.jobs AS jobs (id, thread, selector, payload, priority, held,
                attempt, retries, timeout_ms, accepted_at, due_at, order_key, retry_blocks,
                forgiven, released_before, unique_until, carried)
            SELECT id, thread, selector, payload, priority, 1, attempt, retries, timeout_ms,
                accepted_at, $2::bigint, order_key, retry_blocks, attempt, $3::bigint,
                unique_until, carried
            FROM workerd.ended WHERE id = $1::bigint AND payload IS NOT NULL
            RETURNING \(JobColumns.live)
            """, parameters
        ).first.map(JobColumns.liveJob)
        guard let job else { return nil }
        try forgetFailed(entry)
        try forgetAsked(id)
        return job
    }

    /// Drops a failed job.
    ///
    /// - Returns: the job, or nil if there is no failed job of this id.
    func dropFailed(_ id: JobID) throws(StoreFault) -> DroppedJob? {
        guard let failed = try failedEntry(id) else { return nil }
        try forgetFailed(failed.entry)
        return failed.job
    }

    private func failedEntry(
        _ id: JobID
    ) throws(StoreFault) -> (entry: RetainedJobs.Entry, job: DroppedJob)? {
        var parameters = Parameters()
        parameters.add(id.number)
        parameters.add(scope)
        let row = try rows(
            """
            SELECT ended_at, (coalesce(length(result), 0) + coalesce(length(payload), 0))::bigint,
                thread, selector
            FROM workerd.ended
            WHERE id = $1::bigint AND outcome IN (2, 3) AND \(Self.isInScope(2))
            """, parameters
        ).first
        return row.map { row in
            (
                RetainedJobs.Entry(
                    id: id, endedAt: row.integer(0), byteCount: Int(row.integer(1))),
                DroppedJob(id: id, slot: row.text(2), selector: row.text(3))
            )
        }
    }

    private func forgetFailed(_ entry: RetainedJobs.Entry) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(entry.id.number)
        try change("DELETE FROM workerd.ended WHERE id = $1::bigint", parameters)
        kept.forgetFailed(entry)
    }

    // MARK: - Buffered jobs

    /// Releases buffered jobs of a queue: they are due at `now`.
    ///
    /// - Parameters:
    ///   - first, last: the numbers between which they are, both excluded.
    ///   - limit: the largest number of jobs; the first ones are released.
    /// - Returns: those jobs, in the order of their numbers.
    func fire(
        _ queue: QueueName, after first: JobID, before last: JobID, limit: Int, at now: Int64
    ) throws(StoreFault) -> [CountedJob] {
        try noteDelay(until: now)
        var parameters = Parameters()
        parameters.add(queue.thread)
        parameters.add(queue.priority.rawValue)
        parameters.add(first.number)
        parameters.add(last.number)
        parameters.add(limit)
        parameters.add(now)
        let fired = try rows(
            """
            UPDATE workerd.jobs AS jobs
            SET held = 1, due_at = $6::bigint, released_before = $4::bigint
            FROM (
                SELECT id FROM workerd.jobs
                WHERE held > 0 AND held = 2 AND thread = $1::text AND priority = $2::bigint
                    AND id > $3::bigint AND id < $4::bigint
                ORDER BY id LIMIT $5::bigint
            ) AS found
            WHERE jobs.id = found.id
            RETURNING jobs.id, length(jobs.payload), jobs.selector
            """, parameters)
        return fired.all.map { row in
            CountedJob(
                id: JobColumns.id(row), state: .buffered, selector: row.text(2),
                byteCount: Int(row.integer(1)))
        }.sorted { $0.id < $1.id }
    }
}
