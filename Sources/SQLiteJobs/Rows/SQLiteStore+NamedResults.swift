// Ended jobs to which unique names lead. Each has a row of its own, since they are dropped in the
// order in which their names end. Their number and size are in the settings: counting them at each
// opening would take as long as there are many.

internal import Jobs
internal import Journals

/// The number and the size of the ended jobs that are kept because of their names.
struct NamedRows: Equatable {
    var count = 0
    var byteCount = 0
}

extension SQLiteStore {
    func readNamed() throws(StoreFault) -> NamedRows {
        NamedRows(
            count: Int(try setting("named_count")), byteCount: Int(try setting("named_bytes")))
    }

    private func setting(_ name: String) throws(StoreFault) -> Int64 {
        let row = try cached("SELECT value FROM settings WHERE name = ?")
        try row.bind(1, name)
        defer { row.reset() }
        return try row.step() ? row.integer(0) : 0
    }

    func write(_ named: NamedRows) throws(StoreFault) {
        let statement = try cached("UPDATE settings SET value = ? WHERE name = ?")
        for (name, value) in [("named_count", named.count), ("named_bytes", named.byteCount)] {
            try statement.bind(1, Int64(value))
            try statement.bind(2, name)
            try statement.run()
        }
    }

    /// Stores an ended job as long as its name is in force.
    func insertNamed(
        _ job: Job, until: Int64, _ named: inout NamedRows
    ) throws(StoreFault) {
        guard let outcome = job.outcome else { return }
        let (code, result) = JobColumns.encode(outcome)
        let statement = try cached(
            """
            INSERT INTO ended (id, thread, selector, priority, attempt, retries, timeout_ms,
                accepted_at, due_at, started_at, worker, ended_at, outcome,
                order_key, retry_blocks, forgiven, carried, kept_until, kept_bytes, result)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        try statement.bind(1, Int64(clamping: job.id.number))
        try statement.bind(2, job.thread)
        try statement.bind(3, job.selector)
        try statement.bind(4, Int64(job.priority.rawValue))
        try statement.bind(5, Int64(job.attempt))
        try statement.bind(6, Int64(job.retryCountMax))
        try statement.bind(7, job.timeoutMilliseconds)
        try statement.bind(8, job.acceptedAt)
        try statement.bind(9, job.dueAt)
        try statement.bind(10, job.startedAt)
        try statement.bind(11, job.workerName)
        try statement.bind(12, job.endedAt)
        try statement.bind(13, code)
        try statement.bind(14, job.key)
        try statement.bind(15, job.retryBlocks ? 1 : 0)
        try statement.bind(16, Int64(job.forgivenCount))
        try statement.bind(17, job.details.options.carried)
        try statement.bind(18, until)
        try statement.bind(19, Int64(outcome.byteCount))
        try statement.run(20, result)
        named.count += 1
        named.byteCount += outcome.byteCount
    }

    /// Drops the jobs whose names have ended, and those over the limit of bytes.
    func dropNamed(at now: Int64, _ named: inout NamedRows) throws(StoreFault) {
        guard named.count > 0 else { return }
        let rows = try cached(
            """
            SELECT id, kept_until, kept_bytes FROM ended WHERE kept_until IS NOT NULL
            ORDER BY kept_until, id LIMIT ?
            """)
        try rows.bind(1, Int64(NamedResults.dropCountMax))
        var dropped: [Int64] = []
        while try rows.step() {
            let isWithin = NamedResults.isWithin(
                limits.retainedByteCountMax, byteCount: named.byteCount, count: named.count)
            guard rows.integer(1) <= now || !isWithin else { break }
            dropped.append(rows.integer(0))
            named.count -= 1
            named.byteCount -= Int(rows.integer(2))
        }
        rows.reset()
        let delete = try cached("DELETE FROM ended WHERE id = ?")
        for id in dropped {
            try delete.bind(1, id)
            try delete.run()
        }
    }
}
