// Queries of delayed and buffered jobs, queue by queue and in parts; and the counting of a file in
// parts, so that no command waits until all of it was read.

package import Jobs
internal import Journals

extension SQLiteStore {
    /// The delayed jobs of a queue that are due next.
    ///
    /// - Parameters:
    ///   - key: only jobs behind this place.
    ///   - limit: the largest number of jobs.
    ///   - byteCount: the size of their payloads at which no further job is added.
    /// - Complexity: O(log jobs + result).
    package func delayed(
        _ queue: QueueName, after key: DueKey, limit: Int, byteCount: Int
    ) throws(StoreFault) -> JobBatch {
        // Two statements: one that compares both columns together would walk through all jobs that
        // are due in the same millisecond, each time.
        let ofMoment = try cached(
            """
            SELECT \(JobColumns.live) FROM jobs
            WHERE held > 0 AND held = 1 AND thread = ? AND priority = ? AND due_at = ? AND id > ?
            ORDER BY id LIMIT ?
            """)
        try ofMoment.bind(1, queue.thread)
        try ofMoment.bind(2, Int64(queue.priority.rawValue))
        try ofMoment.bind(3, key.dueAt)
        try ofMoment.bind(4, Int64(clamping: key.id.number))
        try ofMoment.bind(5, Int64(limit))
        var batch = JobBatch()
        try read(ofMoment, into: &batch, limit: limit, byteCount: byteCount)
        guard batch.isEnd else { return batch }
        let later = try cached(
            """
            SELECT \(JobColumns.live) FROM jobs
            WHERE held > 0 AND held = 1 AND thread = ? AND priority = ? AND due_at > ?
            ORDER BY due_at, id LIMIT ?
            """)
        try later.bind(1, queue.thread)
        try later.bind(2, Int64(queue.priority.rawValue))
        try later.bind(3, key.dueAt)
        try later.bind(4, Int64(limit))
        try read(later, into: &batch, limit: limit, byteCount: byteCount)
        return batch
    }

    /// Adds jobs until there are no more, or a limit is reached.
    func read(
        _ rows: Statement, into batch: inout JobBatch, limit: Int, byteCount: Int
    ) throws(StoreFault) {
        defer { rows.reset() }
        var bytes = batch.jobs.reduce(0) { $0 + $1.payload.count }
        while try rows.step() {
            let job = JobColumns.liveJob(rows)
            batch.jobs.append(job)
            bytes += job.payload.count
            if bytes >= byteCount || batch.jobs.count == limit {
                batch.isEnd = false
                break
            }
        }
    }

    /// The jobs that are between two attempts and block others of their order meanwhile.
    ///
    /// They are in the order in which they are due.
    package func blockers() throws(StoreFault) -> [Job] {
        let rows = try cached(
            """
            SELECT \(JobColumns.live) FROM jobs
            WHERE held = 1 AND retry_blocks = 1 AND attempt > forgiven ORDER BY due_at, id
            """)
        return try Self.liveJobs(rows)
    }

    /// Releases buffered jobs of a queue: they are due at `now`.
    ///
    /// - Parameters:
    ///   - first, last: the numbers between which they are, both excluded.
    ///   - limit: the largest number of jobs; the first ones are released.
    /// - Returns: those jobs, in the order of their numbers.
    package func fire(
        _ queue: QueueName, after first: JobID = JobID(0), before last: JobID = JobID(.max),
        limit: Int = .max, at now: Int64
    ) throws(StoreFault) -> [CountedJob] {
        let fired = try buffered(queue, after: first, before: last, limit: limit)
        guard let firstFired = fired.first, let lastFired = fired.last else { return [] }
        let statement = try cached(
            """
            UPDATE jobs SET held = 1, due_at = ?, released_before = ?
            WHERE held > 0 AND held = 2 AND thread = ? AND priority = ? AND due_at IS NULL
                AND id BETWEEN ? AND ?
            """)
        try statement.bind(1, now)
        try statement.bind(2, Int64(clamping: last.number))
        try statement.bind(3, queue.thread)
        try statement.bind(4, Int64(queue.priority.rawValue))
        try statement.bind(5, Int64(clamping: firstFired.id.number))
        try statement.bind(6, Int64(clamping: lastFired.id.number))
        try statement.run()
        try noteDue(at: now)
        return fired
    }

    /// The buffered jobs of a queue, in the order of their numbers.
    ///
    /// - Parameters:
    ///   - first, last: the numbers between which they are, both excluded.
    ///   - limit: the largest number of jobs; the first ones are returned.
    package func buffered(
        _ queue: QueueName, after first: JobID = JobID(0), before last: JobID = JobID(.max),
        limit: Int = .max
    ) throws(StoreFault) -> [CountedJob] {
        let rows = try cached(
            """
            SELECT id, length(payload), selector FROM jobs
            WHERE held > 0 AND held = 2 AND thread = ? AND priority = ? AND due_at IS NULL
                AND id > ? AND id < ?
            ORDER BY id LIMIT ?
            """)
        try rows.bind(1, queue.thread)
        try rows.bind(2, Int64(queue.priority.rawValue))
        try rows.bind(3, Int64(clamping: first.number))
        try rows.bind(4, Int64(clamping: last.number))
        try rows.bind(5, Int64(limit))
        defer { rows.reset() }
        return try Self.counted(rows, .buffered)
    }

    /// The buffered jobs of a queue behind a number, in the order of their numbers.
    ///
    /// - Parameters: as those of `delayed`.
    package func buffered(
        _ queue: QueueName, after id: JobID, limit: Int, byteCount: Int
    ) throws(StoreFault) -> JobBatch {
        let rows = try cached(
            """
            SELECT \(JobColumns.live) FROM jobs
            WHERE held > 0 AND held = 2 AND thread = ? AND priority = ? AND due_at IS NULL
                AND id > ? AND id < ?
            ORDER BY id LIMIT ?
            """)
        try rows.bind(1, queue.thread)
        try rows.bind(2, Int64(queue.priority.rawValue))
        try rows.bind(3, Int64(clamping: id.number))
        // Without an upper bound SQLite would not use the index to its end, and sort the rest.
        try rows.bind(4, Int64.max)
        try rows.bind(5, Int64(limit))
        var batch = JobBatch()
        try read(rows, into: &batch, limit: limit, byteCount: byteCount)
        return batch
    }

    /// All rows of a statement of ids, sizes and selectors.
    static func counted(_ rows: Statement, _ state: JobState) throws(StoreFault) -> [CountedJob] {
        var found: [CountedJob] = []
        while try rows.step() {
            found.append(
                CountedJob(
                    id: JobID(UInt64(rows.integer(0))), state: state, selector: rows.text(2),
                    byteCount: Int(rows.integer(1))))
        }
        return found
    }

    /// The first delayed or buffered jobs of a queue in a span, without their payloads.
    ///
    /// - Complexity: O(limit).
    package func listDeferred(
        _ queue: QueueName, state: JobState, in span: JobSpan = JobSpan(), limit: Int
    ) throws(StoreFault) -> [Job] {
        let places =
            state == .buffered ? "held > 0 AND held = 2 AND due_at IS NULL" : "held = 1"
        let rows = try cached(
            """
            SELECT \(JobColumns.live(payload: "x''")) FROM jobs
            WHERE \(places) AND thread = ? AND priority = ? AND id > ? AND id < ?
            ORDER BY id \(Self.sql(span)) LIMIT ?
            """)
        try rows.bind(1, queue.thread)
        try rows.bind(2, Int64(queue.priority.rawValue))
        // Without a lower bound SQLite would not use jobs_held to its end, and sort what it finds.
        try rows.bind(3, Int64(clamping: span.after.number))
        try rows.bind(4, Int64(clamping: span.before.number))
        try rows.bind(5, Int64(limit))
        return try Self.liveJobs(rows)
    }

    // MARK: - Taking stock

    /// The queues that have a job.
    ///
    /// - Complexity: O(queues * log jobs): it jumps from one to the next in the index.
    package func queues() throws(StoreFault) -> Set<QueueName> {
        var found: Set<QueueName> = []
        for table in ["jobs WHERE held = 0 AND", "jobs WHERE held > 0 AND", "packs WHERE"] {
            // Two statements: one that compares both columns together would not jump in the index.
            let ofThread = try cached(
                """
                SELECT thread, priority FROM \(table) thread = ? AND priority > ?
                ORDER BY priority LIMIT 1
                """)
            let ofNext = try cached(
                """
                SELECT thread, priority FROM \(table) thread > ?
                ORDER BY thread, priority LIMIT 1
                """)
            var last: (thread: String, priority: Int64) = ("", .max)
            func note(_ row: Statement) {
                last = (row.text(0), row.integer(1))
                guard let priority = Priority(rawValue: Int(last.priority)) else { return }
                found.insert(QueueName(thread: last.thread, priority: priority))
            }
            while true {
                defer {
                    ofThread.reset()
                    ofNext.reset()
                }
                try ofThread.bind(1, last.thread)
                try ofThread.bind(2, last.priority)
                if try ofThread.step() {
                    note(ofThread)
                    continue
                }
                try ofNext.bind(1, last.thread)
                guard try ofNext.step() else { break }
                note(ofNext)
            }
        }
        return found
    }

    /// The largest number of a job that has not ended; 0 without one.
    package func lastLiveNumber() throws(StoreFault) -> UInt64 {
        let row = try database.integer("SELECT coalesce(max(id), 0) FROM jobs")
        return max(UInt64(row ?? 0), try waitingPacks.table.lastNumber())
    }

    /// Calls `body` for the next live jobs in the order of their numbers, or for packed ones
    /// together.
    ///
    /// - Parameters:
    ///   - limit: about the number of jobs.
    ///   - body: gets each job and its queue.
    /// - Returns: the last number that was read; nil if there are no more.
    package func forEachLive(
        after number: UInt64, through last: UInt64, limit: Int,
        _ body: (QueueName, CountedJob) -> Void
    ) throws(StoreFault) -> UInt64? {
        guard number < last else { return nil }
        let ends = [
            try countableRows(after: number, through: last, limit: limit),
            try waitingPacks.countable(after: number, through: last, limit: limit),
        ].compactMap { $0 }
        let end = ends.min() ?? last
        let rows = try cached(
            """
            SELECT id, held, priority, length(payload), thread, selector FROM jobs
            WHERE id > ? AND id <= ? ORDER BY id
            """)
        try rows.bind(1, Int64(clamping: number))
        try rows.bind(2, Int64(clamping: end))
        defer { rows.reset() }
        while try rows.step() {
            guard let priority = Priority(rawValue: Int(rows.integer(2))) else { continue }
            body(
                QueueName(thread: rows.text(4), priority: priority),
                CountedJob(
                    id: JobID(UInt64(rows.integer(0))),
                    state: JobColumns.state(held: rows.integer(1)),
                    selector: rows.text(5), byteCount: Int(rows.integer(3))))
        }
        try waitingPacks.forEachLive(in: number + 1...end, body)
        return ends.isEmpty ? nil : end
    }

    /// The number of the row `limit` rows behind one; nil if there are fewer.
    private func countableRows(
        after number: UInt64, through last: UInt64, limit: Int
    ) throws(StoreFault) -> UInt64? {
        let row = try cached(
            "SELECT id FROM jobs WHERE id > ? AND id <= ? ORDER BY id LIMIT 1 OFFSET ?")
        try row.bind(1, Int64(clamping: number))
        try row.bind(2, Int64(clamping: last))
        try row.bind(3, Int64(max(1, limit) - 1))
        defer { row.reset() }
        return try row.step() ? UInt64(row.integer(0)) : nil
    }

    /// The state that a code of the column `held` means.
    static func state(held: Int64) -> JobState {
        switch held {
        case 1: .delayed
        case 2: .buffered
        default: .waiting
        }
    }
}
