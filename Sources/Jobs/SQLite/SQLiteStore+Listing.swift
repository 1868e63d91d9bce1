// Listings of some of the jobs of a queue, which have to be looked for among the others.

extension SQLiteStore {
    /// The newest jobs of a queue up to one that are wanted, without their payloads.
    ///
    /// - Parameters:
    ///   - last: the largest number that is looked at.
    ///   - limit: at most so many.
    ///   - isWanted: told each, without its payload.
    /// - Complexity: O(those that are looked at until there are enough).
    package func newestInTurn(
        _ queue: QueueName, through last: JobID, limit: Int, where isWanted: (Job) -> Bool
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
        while jobs.count < limit, try rows.step() {
            let job = Self.liveJob(rows)
            if isWanted(job) { jobs.append(job) }
        }
        jobs += try waitingPacks.newestInTurn(queue, through: last, limit: limit, where: isWanted)
        return Self.newest(jobs, limit)
    }
}
