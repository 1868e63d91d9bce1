// Listings that filter jobs. One call reads a limited number of rows and packs, and returns how far
// it came: a filter that few jobs pass takes many short calls.

package import Jobs
internal import Journals

extension SQLiteStore {
    /// The limits of one call.
    package struct SearchLimits: Sendable {
        /// Rows of one table, and jobs of packs.
        package var rowCountMax = 1_024
        /// Packs of ended jobs.
        package var packCountMax = 32

        package init() {}
    }

    /// The first wanted jobs of a queue in a span, without their payloads.
    ///
    /// - Parameters:
    ///   - limit: the largest number of jobs.
    ///   - searched: drawn in to the place up to which all were read.
    ///   - isWanted: gets each job, without its payload.
    package func listInTurn(
        _ queue: QueueName, in span: JobSpan, limit: Int,
        within limits: SearchLimits = SearchLimits(), searched: inout JobID,
        where isWanted: (Job) -> Bool
    ) throws(StoreFault) -> [Job] {
        let rows = try cached(
            """
            SELECT \(JobColumns.live(payload: "x''")) FROM jobs
            WHERE held = 0 AND thread = ? AND priority = ? AND id > ? AND id < ?
            ORDER BY id \(Self.sql(span))
            """)
        try rows.bind(1, queue.thread)
        try rows.bind(2, Int64(queue.priority.rawValue))
        try rows.bind(3, Int64(clamping: span.after.number))
        try rows.bind(4, Int64(clamping: span.before.number))
        defer { rows.reset() }
        var jobs: [Job] = []
        var left = limits.rowCountMax
        while jobs.count < limit, try rows.step() {
            let job = JobColumns.liveJob(rows)
            guard left > 0 else {
                searched = span.first(searched, span.place(shortOf: job.id))
                break
            }
            left -= 1
            if isWanted(job) { jobs.append(job) }
        }
        jobs += try waitingPacks.listInTurn(
            queue, in: span, limit: limit, jobCountMax: limits.rowCountMax,
            searched: &searched, where: isWanted)
        return span.sorted(jobs.filter { !span.precedes(searched, $0.id) }, limit: limit)
    }

    /// The first ended jobs in a span, without their results.
    ///
    /// - Returns: the jobs, and the place up to which all were read: the span's end if there are
    ///   no more.
    package func listEnded(
        thread: String?, state: JobState?, in span: JobSpan = JobSpan(), limit: Int,
        hasReasons: Bool = false, within limits: SearchLimits = SearchLimits()
    ) throws(StoreFault) -> (jobs: [Job], searched: JobID) {
        let count = JobListing.reasonByteCountMax
        let result =
            hasReasons
            ? "CASE WHEN outcome = \(JobColumns.OutcomeCode.failed) "
                + "THEN substr(result, 1, \(count)) END"
            : "NULL"
        let rows = try cached(
            """
            SELECT \(JobColumns.ended(result: result)) FROM ended WHERE id > ? AND id < ?
            ORDER BY id \(Self.sql(span))
            """)
        try rows.bind(1, Int64(clamping: span.after.number))
        try rows.bind(2, Int64(clamping: span.before.number))
        defer { rows.reset() }
        var jobs: [Job] = []
        var searched = span.end
        var left = limits.rowCountMax
        while jobs.count < limit, try rows.step() {
            let job = JobColumns.endedJob(rows)
            guard left > 0 else {
                searched = span.place(shortOf: job.id)
                break
            }
            left -= 1
            guard thread == nil || job.thread == thread, state == nil || job.state == state else {
                continue
            }
            jobs.append(job)
        }
        jobs += try endedPacks.list(
            thread: thread, state: state, in: span, limit: limit,
            packCountMax: limits.packCountMax, searched: &searched)
        jobs.removeAll { span.precedes(searched, $0.id) }
        return (span.sorted(jobs, limit: limit), searched)
    }
}
