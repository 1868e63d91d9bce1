// Queries of the store.

package import Jobs
internal import Journals

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
            SELECT \(JobColumns.live) FROM jobs
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
        let ended = try cached("SELECT \(JobColumns.ended) FROM ended WHERE id = ?")
        try ended.bind(1, Int64(clamping: id.number))
        defer { ended.reset() }
        if try ended.step() { return JobColumns.endedJob(ended) }
        if let job = try waitingPacks.job(id.number) { return job }
        return try endedPacks.job(id.number)
    }

    /// The first jobs of a queue in a span, without their payloads.
    package func listInTurn(
        _ queue: QueueName, in span: JobSpan = JobSpan(), limit: Int
    ) throws(StoreFault) -> [Job] {
        let rows = try cached(
            """
            SELECT \(JobColumns.live(payload: "x''")) FROM jobs
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

    /// All jobs of a statement.
    static func liveJobs(_ rows: Statement) throws(StoreFault) -> [Job] {
        var jobs: [Job] = []
        while try rows.step() { jobs.append(JobColumns.liveJob(rows)) }
        return jobs
    }
}
