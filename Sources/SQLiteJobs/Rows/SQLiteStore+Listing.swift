// Listings that filter jobs. One call reads a limited number of rows and packs, and returns how far
// it came: a filter that few jobs pass takes many short calls.

package import Jobs

extension SQLiteStore {
    /// The limits of one call.
    package struct SearchLimits: Sendable {
        /// Rows of one table, and jobs of packs.
        package var rowCountMax = 1_024
        /// Packs of ended jobs.
        package var packCountMax = 32

        package init() {}

        /// No limits.
        package static let none = {
            var limits = SearchLimits()
            (limits.rowCountMax, limits.packCountMax) = (.max, .max)
            return limits
        }()
    }

    /// The newest wanted jobs of a queue up to one, without their payloads.
    ///
    /// - Parameters:
    ///   - last: the largest number that is read.
    ///   - limit: the largest number of jobs.
    ///   - searched: raised to the smallest number down to which all were read.
    ///   - isWanted: gets each job, without its payload.
    package func newestInTurn(
        _ queue: QueueName, through last: JobID, limit: Int,
        within limits: SearchLimits = SearchLimits(), searched: inout JobID,
        where isWanted: (Job) -> Bool
    ) throws(StoreFault) -> [Job] {
        let rows = try cached(
            """
            SELECT \(Self.liveColumns(payload: "x''")) FROM jobs
            WHERE held = 0 AND thread = ? AND priority = ? AND id <= ? ORDER BY id DESC
            """)
        try rows.bind(1, queue.thread)
        try rows.bind(2, Int64(queue.priority.rawValue))
        try rows.bind(3, Int64(clamping: last.number))
        defer { rows.reset() }
        var jobs: [Job] = []
        var left = limits.rowCountMax
        while jobs.count < limit, try rows.step() {
            let job = Self.liveJob(rows)
            guard left > 0 else {
                searched = max(searched, JobID(job.id.number + 1))
                break
            }
            left -= 1
            if isWanted(job) { jobs.append(job) }
        }
        jobs += try waitingPacks.newestInTurn(
            queue, through: last, limit: limit, jobCountMax: limits.rowCountMax,
            searched: &searched, where: isWanted)
        return Self.newest(jobs.filter { searched <= $0.id }, limit)
    }

    /// The newest ended jobs before a number, without their results.
    ///
    /// - Returns: the jobs, and the smallest number down to which all were read: 0 if there are no
    ///   more.
    package func newestEnded(
        thread: String?, state: JobState?, before end: JobID = .max, limit: Int,
        hasReasons: Bool = false, within limits: SearchLimits = SearchLimits()
    ) throws(StoreFault) -> (jobs: [Job], searched: JobID) {
        let count = JobListing.reasonByteCountMax
        let result =
            hasReasons
            ? "CASE WHEN outcome = \(OutcomeCode.failed) THEN substr(result, 1, \(count)) END"
            : "NULL"
        let rows = try cached(
            "SELECT \(Self.endedColumns(result: result)) FROM ended WHERE id < ? ORDER BY id DESC")
        try rows.bind(1, Int64(clamping: end.number))
        defer { rows.reset() }
        var jobs: [Job] = []
        var searched = JobID(0)
        var left = limits.rowCountMax
        while jobs.count < limit, try rows.step() {
            let job = Self.endedJob(rows)
            guard left > 0 else {
                searched = JobID(job.id.number + 1)
                break
            }
            left -= 1
            guard thread == nil || job.thread == thread, state == nil || job.state == state else {
                continue
            }
            jobs.append(job)
        }
        jobs += try endedPacks.newest(
            thread: thread, state: state, before: end, limit: limit,
            packCountMax: limits.packCountMax, searched: &searched)
        return (Self.newest(jobs.filter { searched <= $0.id }, limit), searched)
    }
}
