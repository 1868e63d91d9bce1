// Queries of the store, and the columns of jobs and outcomes.

package import Jobs

extension SQLiteStore {
    /// The next jobs of a queue in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: only jobs behind this one.
    ///   - limit: the largest number of jobs.
    ///   - byteCount: the size of their payloads at which no further job is added.
    /// - Complexity: O(log jobs + result).
    package func inTurn(
        _ queue: QueueName, after id: JobID, limit: Int, byteCount: Int
    ) throws(StoreFault) -> JobBatch {
        let rows = try cached(
            """
            SELECT \(Self.liveColumns) FROM jobs
            WHERE held = 0 AND thread = ? AND priority = ? AND id > ? ORDER BY id LIMIT ?
            """)
        try rows.bind(1, queue.thread)
        try rows.bind(2, Int64(queue.priority.rawValue))
        try rows.bind(3, Int64(clamping: id.number))
        try rows.bind(4, Int64(limit))
        var batch = JobBatch()
        try read(rows, into: &batch, limit: limit, byteCount: byteCount)
        let packed = try waitingPacks.inTurn(queue, after: id, limit: limit, byteCount: byteCount)
        return Self.inOrder(batch, packed, limit: limit, byteCount: byteCount)
    }

    /// Merges two parts of a queue in the order of their ids, as far as both are known.
    private static func inOrder(
        _ rows: JobBatch, _ packed: JobBatch, limit: Int, byteCount: Int
    ) -> JobBatch {
        guard !rows.jobs.isEmpty || !rows.isEnd else { return packed }
        guard !packed.jobs.isEmpty || !packed.isEnd else { return rows }
        var jobs = (rows.jobs + packed.jobs).sorted { $0.id < $1.id }
        for part in [rows, packed] where !part.isEnd {
            // Behind its last job there may be more, before those of the other.
            let known = part.jobs.last?.id ?? JobID(0)
            jobs.removeLast(jobs.reversed().prefix { known < $0.id }.count)
        }
        var batch = JobBatch()
        var bytes = 0
        for job in jobs where batch.jobs.count < limit && bytes < byteCount {
            batch.jobs.append(job)
            bytes += job.payload.count
        }
        batch.isEnd = rows.isEnd && packed.isEnd && batch.jobs.count == jobs.count
        return batch
    }

    /// Returns a job, or `nil` if there never was one or it has been dropped.
    ///
    /// A job that has begun and not ended is `waiting`, with the attempts that were recorded.
    package func job(_ id: JobID) throws(StoreFault) -> Job? {
        if let job = try liveJob(id) { return job }
        let ended = try cached("SELECT \(Self.endedColumns) FROM ended WHERE id = ?")
        try ended.bind(1, Int64(clamping: id.number))
        defer { ended.reset() }
        if try ended.step() { return Self.endedJob(ended) }
        if let job = try waitingPacks.job(id.number) { return job }
        return try endedPacks.job(id.number)
    }

    /// The first jobs of a queue in a span, without their payloads.
    package func listInTurn(
        _ queue: QueueName, in span: JobSpan = JobSpan(), limit: Int
    ) throws(StoreFault) -> [Job] {
        let rows = try cached(
            """
            SELECT \(Self.liveColumns(payload: "x''")) FROM jobs
            WHERE held = 0 AND thread = ? AND priority = ? AND id > ? AND id < ?
            ORDER BY id \(Self.sql(span)) LIMIT ?
            """)
        try rows.bind(1, queue.thread)
        try rows.bind(2, Int64(queue.priority.rawValue))
        try rows.bind(3, Int64(clamping: span.after.number))
        try rows.bind(4, Int64(clamping: span.before.number))
        try rows.bind(5, Int64(limit))
        var jobs = try Self.liveJobs(rows)
        jobs += try waitingPacks.listInTurn(queue, in: span, limit: limit)
        return span.sorted(jobs, limit: limit)
    }

    /// The direction of a span.
    static func sql(_ span: JobSpan) -> String { span.isAscending ? "ASC" : "DESC" }

    // MARK: - Columns

    static let liveColumns = liveColumns(payload: "payload")
    private static let endedColumns = endedColumns(result: "result")

    static func liveColumns(payload: String) -> String {
        "id, thread, selector, priority, retries, timeout_ms, accepted_at, due_at, attempt, "
            + "started_at, worker, held, \(payload), order_key, retry_blocks, forgiven, carried, "
            + "expires_at, released_before"
    }

    static func endedColumns(result: String) -> String {
        "id, thread, selector, priority, retries, timeout_ms, accepted_at, due_at, attempt, "
            + "started_at, worker, ended_at, outcome, \(result), "
            + "order_key, retry_blocks, forgiven, carried"
    }

    enum OutcomeCode {
        static let done: Int64 = 1
        static let failed: Int64 = 2
        static let timedOut: Int64 = 3
        static let cancelled: Int64 = 4
        static let expired: Int64 = 5
    }

    /// The code of the column `held` for a job that has not ended.
    static func heldCode(of state: JobState) -> Int64 {
        switch state {
        case .delayed: 1
        case .buffered: 2
        case .waiting, .running, .done, .failed, .cancelled, .expired: 0
        }
    }

    /// An outcome as two columns.
    static func encode(_ outcome: Outcome) -> (code: Int64, result: [UInt8]?) {
        switch outcome {
        case .done(let result): (OutcomeCode.done, result)
        case .failed(let reason): (OutcomeCode.failed, Array(reason.utf8))
        case .timedOut: (OutcomeCode.timedOut, nil)
        case .cancelled: (OutcomeCode.cancelled, nil)
        case .expired: (OutcomeCode.expired, nil)
        }
    }

    /// An outcome of two columns.
    static func decode(_ code: Int64, _ result: [UInt8]) -> Outcome {
        switch code {
        case OutcomeCode.done: .done(result)
        case OutcomeCode.failed: .failed(reason: String(decoding: result, as: UTF8.self))
        case OutcomeCode.timedOut: .timedOut
        case OutcomeCode.expired: .expired
        default: .cancelled
        }
    }

    /// The request in the columns from 13 or 14 on, which both tables have at their end.
    private static func request(
        _ row: Statement, payload: [UInt8], orderFrom column: Int32
    ) -> JobRequest {
        var options = JobOptions(
            timeoutMilliseconds: row.optionalInteger(5), retryCountMax: Int(row.integer(4)),
            retryBlocks: row.integer(column + 1) != 0, key: row.optionalBytes(column))
        options.carried = row.optionalBytes(column + 3)
        return JobRequest(
            thread: row.text(1), selector: row.text(2), payload: payload,
            priority: Priority(rawValue: Int(row.integer(3))) ?? .normal, options: options)
    }

    private static func progress(_ row: Statement, orderFrom column: Int32) -> Job.Progress {
        var progress = Job.Progress()
        progress.dueAt = row.optionalInteger(7)
        progress.attempt = Int(row.integer(8))
        progress.startedAt = row.optionalInteger(9)
        progress.workerName = row.optionalText(10)
        progress.forgivenCount = Int(row.integer(column + 2))
        return progress
    }

    static func liveJob(_ row: Statement) -> Job {
        var request = request(row, payload: row.bytes(12), orderFrom: 13)
        if let expiresAt = row.optionalInteger(17) {
            var options = request.options.value
            options.expireMilliseconds = expiresAt - row.integer(6)
            request.options = SharedJobOptions(options)
        }
        var progress = progress(row, orderFrom: 13)
        let releasedBefore = row.integer(18)
        if releasedBefore > 0 { progress.releasedBefore = JobID(UInt64(releasedBefore)) }
        return Job(
            id: JobID(UInt64(row.integer(0))), request: request, acceptedAt: row.integer(6),
            state: state(held: row.integer(11)), progress: progress)
    }

    /// All jobs of a statement.
    static func liveJobs(_ rows: Statement) throws(StoreFault) -> [Job] {
        var jobs: [Job] = []
        while try rows.step() { jobs.append(liveJob(rows)) }
        return jobs
    }

    static func endedJob(_ row: Statement) -> Job {
        let outcome = decode(row.integer(12), row.bytes(13))
        var progress = progress(row, orderFrom: 14)
        progress.endedAt = row.integer(11)
        progress.outcome = outcome
        return Job(
            id: JobID(UInt64(row.integer(0))), request: request(row, payload: [], orderFrom: 14),
            acceptedAt: row.integer(6), state: outcome.state, progress: progress)
    }
}
