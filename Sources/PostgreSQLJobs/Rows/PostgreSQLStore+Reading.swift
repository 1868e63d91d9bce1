// Queries of jobs, queue by queue and in parts. Each sees the changes before it.

internal import Jobs
internal import Journals

extension PostgreSQLStore {
    /// The rows of one table that a call reads whose filter few jobs pass.
    private static let searchedCountMax = 1_024

    /// Returns a job, or `nil` if there never was one or it has been dropped.
    ///
    /// A job that has begun and not ended is `waiting`, with the attempts that were recorded.
    func job(_ id: JobID) throws(StoreFault) -> Job? {
        var parameters = Parameters()
        parameters.add(id.number)
        let live = try rows(
            "SELECT \(JobColumns.live) FROM workerd.jobs WHERE id = $1::bigint", parameters)
        if let row = live.first { return JobColumns.liveJob(row) }
        return try rows(
            "SELECT \(JobColumns.ended) FROM workerd.ended WHERE id = $1::bigint", parameters
        ).first.map(JobColumns.endedJob)
    }

    /// The thread of a job, whichever daemon has it; nil if there is no such job.
    func thread(of id: JobID) throws(StoreFault) -> String? {
        var parameters = Parameters()
        parameters.add(id.number)
        return try rows(
            """
            SELECT thread FROM workerd.jobs WHERE id = $1::bigint
            UNION ALL SELECT thread FROM workerd.ended WHERE id = $1::bigint
            """, parameters
        ).first?.text(0)
    }

    /// Counts the jobs of threads and pools that have not ended.
    ///
    /// It counts the jobs of all daemons, and submitted jobs that no daemon has accepted yet.
    ///
    /// - Complexity: O(those jobs): the indexes of threads have them, and those of a pool's members
    ///   between `pool/` and `pool0`. All rows of submitted jobs are read once.
    func jobCounts(of threads: [String]) throws(StoreFault) -> [String: Int] {
        var parameters = Parameters()
        parameters.add(.texts(threads))
        let isOfThread = "(thread = name OR thread > name || '/' AND thread < name || '0')"
        let found = try rows(
            """
            SELECT name, (SELECT count(*) FROM workerd.jobs WHERE held = 0 AND \(isOfThread))
                + (SELECT count(*) FROM workerd.jobs WHERE held > 0 AND \(isOfThread))
                + coalesce(submitted.count, 0)
            FROM unnest($1::text[]) AS name LEFT JOIN (SELECT split_part(thread, '/', 1) AS name,
                count(*) FROM workerd.submitted GROUP BY 1) AS submitted USING (name)
            """, parameters)
        return Dictionary(uniqueKeysWithValues: found.all.map { ($0.text(0), Int($0.integer(1))) })
    }

    // MARK: - Loads

    /// The next jobs of a queue in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: only jobs behind this one.
    ///   - limit: the largest number of jobs.
    ///   - byteCount: the size of their payloads at which no further job is added.
    func inTurn(
        _ queue: QueueName, after id: JobID, limit: Int, byteCount: Int
    ) throws(StoreFault) -> JobBatch {
        heads.load(queue.thread)
        var parameters = Self.parameters(of: queue)
        parameters.add(max(Int64(clamping: id.number), heads.head(of: queue.thread).number - 1))
        let place = Self.isBehind("$1::text", "$2::bigint::smallint", ">", "$3::bigint")
        return try batch(place, "priority, id", parameters, limit, byteCount)
    }

    /// The condition that a job in turn is behind a number of a queue.
    ///
    /// The priority and the number are compared as a row. For a comparison of the number alone, the
    /// server may read the index of the numbers. That index has the jobs of all threads. While a
    /// transaction of another program is open, it also keeps the entries of ended jobs.
    static func isBehind(
        _ thread: String, _ priority: String, _ comparison: String, _ number: String
    ) -> String {
        """
        held = 0 AND thread = \(thread) AND priority <= \(priority)
            AND (priority, id) \(comparison) (\(priority), \(number))
        """
    }

    /// The delayed jobs of a queue that are due next.
    func delayed(
        _ queue: QueueName, after key: DueKey, limit: Int, byteCount: Int
    ) throws(StoreFault) -> JobBatch {
        heads.load(queue.thread)
        let head = DueKey(dueAt: heads.head(of: queue.thread).due, id: JobID(0))
        let key = max(key, head)
        var parameters = Self.parameters(of: queue)
        parameters.add(key.dueAt)
        parameters.add(key.id.number)
        return try batch(
            """
            held = 1 AND thread = $1::text AND priority = $2::bigint
                AND (due_at, id) > ($3::bigint, $4::bigint)
            """, "due_at, id", parameters, limit, byteCount)
    }

    /// The buffered jobs of a queue behind a number, in the order of their numbers.
    func buffered(
        _ queue: QueueName, after id: JobID, limit: Int, byteCount: Int
    ) throws(StoreFault) -> JobBatch {
        var parameters = Self.parameters(of: queue)
        parameters.add(id.number)
        return try batch(
            """
            held > 0 AND thread = $1::text AND priority = $2::bigint
                AND held <= 2 AND (held, id) > (2::smallint, $3::bigint)
            """, "held, id", parameters, limit, byteCount)
    }

    private static func parameters(of queue: QueueName) -> Parameters {
        var parameters = Parameters()
        parameters.add(queue.thread)
        parameters.add(queue.priority.rawValue)
        return parameters
    }

    /// Reads jobs until there are no more, or a limit is reached.
    ///
    /// The payloads of a part are added up by the server: it sends none beyond the limit.
    private func batch(
        _ place: String, _ order: String, _ parameters: Parameters, _ limit: Int, _ byteCount: Int
    ) throws(StoreFault) -> JobBatch {
        var parameters = parameters
        let next = parameters.values.count + 1
        parameters.add(limit)
        parameters.add(byteCount)
        let found = try rows(
            """
            SELECT \(JobColumns.live) FROM (
                SELECT *, coalesce(sum(length(payload)) OVER (ORDER BY \(order)
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
                FROM (
                    SELECT * FROM workerd.jobs WHERE \(place)
                    ORDER BY \(order) LIMIT $\(next)::bigint
                ) AS next_jobs
            ) AS added_up
            WHERE bytes_before < $\(next + 1)::bigint ORDER BY \(order)
            """, parameters)
        var batch = JobBatch(jobs: found.all.map(JobColumns.liveJob))
        let bytes = batch.jobs.reduce(0) { $0 + $1.payload.count }
        batch.isEnd = bytes < byteCount && batch.jobs.count < limit
        return batch
    }

    /// The jobs that are between two attempts and block others of their order meanwhile, in the
    /// order in which they are due.
    func blockers() throws(StoreFault) -> [Job] {
        var parameters = Parameters()
        parameters.add(scope)
        return try rows(
            """
            SELECT \(JobColumns.live) FROM workerd.jobs
            WHERE held = 1 AND retry_blocks AND attempt > forgiven AND \(Self.isInScope(1))
            ORDER BY due_at, id
            """, parameters
        ).all.map(JobColumns.liveJob)
    }

    // MARK: - Listings

    /// The first jobs of a queue in a span, without their payloads.
    func listInTurn(
        _ queue: QueueName, in span: JobSpan, limit: Int
    ) throws(StoreFault) -> [Job] {
        var span = span
        span.after = max(span.after, JobID(UInt64(max(1, heads.head(of: queue.thread).number) - 1)))
        return try list("held = 0", queue, in: span, limit: limit)
    }

    /// The first delayed or buffered jobs of a queue in a span, without their payloads.
    func listDeferred(
        _ queue: QueueName, state: JobState, in span: JobSpan, limit: Int
    ) throws(StoreFault) -> [Job] {
        let code = state == .buffered ? "held = 2" : "held = 1"
        return try list("held > 0 AND \(code)", queue, in: span, limit: limit)
    }

    private func list(
        _ held: String, _ queue: QueueName, in span: JobSpan, limit: Int
    ) throws(StoreFault) -> [Job] {
        var parameters = Self.parameters(of: queue)
        parameters.add(span.after.number)
        parameters.add(span.before.number)
        parameters.add(limit)
        return try rows(
            """
            SELECT \(JobColumns.live(payload: "''::bytea")) FROM workerd.jobs
            WHERE \(held) AND thread = $1::text AND priority = $2::bigint
                AND id > $3::bigint AND id < $4::bigint
            ORDER BY id \(Self.sql(span)) LIMIT $5::bigint
            """, parameters
        ).all.map(JobColumns.liveJob)
    }

    private static func sql(_ span: JobSpan) -> String { span.isAscending ? "ASC" : "DESC" }

    /// The first wanted jobs of a queue in a span, without their payloads.
    ///
    /// - Parameter searched: drawn in to the place up to which all were read.
    func listInTurn(
        _ queue: QueueName, in span: JobSpan, limit: Int, searched: inout JobID,
        where isWanted: (Job) -> Bool
    ) throws(StoreFault) -> [Job] {
        let read = try listInTurn(queue, in: span, limit: Self.searchedCountMax)
        if read.count == Self.searchedCountMax, let last = read.last {
            searched = span.first(searched, last.id)
        }
        let wanted = read.filter { isWanted($0) && !span.precedes(searched, $0.id) }
        return Array(wanted.prefix(limit))
    }

    /// The first ended jobs in a span, without their results.
    ///
    /// - Returns: the jobs, and the place up to which all were read: the span's end if there are
    ///   no more.
    func listEnded(
        thread: String?, state: JobState?, in span: JobSpan, limit: Int, hasReasons: Bool
    ) throws(StoreFault) -> (jobs: [Job], searched: JobID) {
        var parameters = Parameters()
        parameters.add(span.after.number)
        parameters.add(span.before.number)
        parameters.add(Self.searchedCountMax)
        parameters.add(scope)
        let count = JobListing.reasonByteCountMax
        let result =
            hasReasons
            ? "CASE WHEN outcome = 2 THEN substr(result, 1, \(count)) END" : "NULL::bytea"
        let read = try rows(
            """
            SELECT \(JobColumns.ended(result: result)) FROM workerd.ended
            WHERE id > $1::bigint AND id < $2::bigint AND \(Self.isInScope(4))
            ORDER BY id \(Self.sql(span)) LIMIT $3::bigint
            """, parameters
        ).all.map(JobColumns.endedJob)
        let isAll = read.count < Self.searchedCountMax
        let wanted = read.filter { job in
            (thread == nil || job.thread == thread) && (state == nil || job.state == state)
        }
        let searched = isAll ? span.end : read.last?.id ?? span.end
        return (Array(wanted.prefix(limit)), searched)
    }

    // MARK: - Taking stock

    /// The span of numbers in which a step looks for live jobs first.
    private static let liveSpanMin: UInt64 = 100_000
    /// The time after which a step reads no further span.
    private static let stepTime = Duration.milliseconds(10)

    /// The queues that have a job.
    ///
    /// - Complexity: O(queues * log jobs): it jumps from one to the next in the index.
    func queues() throws(StoreFault) -> Set<QueueName> {
        var found: Set<QueueName> = []
        for held in ["held = 0", "held > 0"] {
            var (thread, priority) = ("", Int64.max)
            while true {
                var parameters = Parameters()
                parameters.add(thread)
                parameters.add(min(priority, 100))
                let row = try rows(
                    """
                    SELECT thread, priority FROM workerd.jobs
                    WHERE \(held) AND (thread, priority) > ($1::text, $2::bigint::smallint)
                    ORDER BY thread, priority LIMIT 1
                    """, parameters
                ).first
                guard let row else { break }
                (thread, priority) = (row.text(0), row.integer(1))
                guard let value = Priority(rawValue: Int(priority)) else { continue }
                found.insert(QueueName(thread: thread, priority: value))
            }
        }
        return found
    }

    /// The largest number of a job that has not ended; 0 without one.
    func lastLiveNumber() throws(StoreFault) -> UInt64 {
        guard share == nil else { return 0 }
        let row = try rows("SELECT coalesce(max(id), 0) FROM workerd.jobs").first
        return UInt64(clamping: row?.integer(0) ?? 0)
    }

    /// Calls `body` for the next live jobs in the order of their numbers.
    ///
    /// The time of a step is limited by the spans of numbers that it reads: if a long transaction
    /// is open, the index may have millions of entries of ended jobs between two live ones. Where
    /// there are few, as after a leap of the numbers, the spans grow, and a step reads several.
    ///
    /// - Returns: the number up to which all were read; nil if there are no more.
    func forEachLive(
        after number: UInt64, through last: UInt64, limit: Int,
        _ body: (QueueName, CountedJob) -> Void
    ) throws(StoreFault) -> UInt64? {
        guard number < last else { return nil }
        let start = ContinuousClock.now
        var (end, span, left) = (number, Self.liveSpanMin, max(1, limit))
        repeat {
            let spanEnd = end + min(span, last - end)
            let found = try countLive(after: end, through: spanEnd, limit: left, body)
            end = found.count < left ? spanEnd : found.last
            left -= found.count
            span *= 2
        } while end < last && left > 0 && ContinuousClock.now - start < Self.stepTime
        return end == last ? nil : end
    }

    /// Calls `body` for the first live jobs in a span of numbers.
    ///
    /// - Returns: how many these are, and the number of the last one.
    private func countLive(
        after number: UInt64, through last: UInt64, limit: Int,
        _ body: (QueueName, CountedJob) -> Void
    ) throws(StoreFault) -> (count: Int, last: UInt64) {
        var parameters = Parameters()
        parameters.add(number)
        parameters.add(last)
        parameters.add(limit)
        let found = try rows(
            """
            SELECT id, held, priority, length(payload), thread, selector FROM workerd.jobs
            WHERE id > $1::bigint AND id <= $2::bigint ORDER BY id LIMIT $3::bigint
            """, parameters)
        var end = number
        for row in found.all {
            let id = JobColumns.id(row)
            end = id.number
            guard let priority = Priority(rawValue: Int(row.integer(2))) else { continue }
            body(
                QueueName(thread: row.text(4), priority: priority),
                CountedJob(
                    id: id, state: JobColumns.state(held: row.integer(1)), selector: row.text(5),
                    byteCount: Int(row.integer(3))))
        }
        return (found.count, end)
    }
}
