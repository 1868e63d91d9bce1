// Queries of packed jobs: queue by queue in the order of their numbers, from either end; and all of
// them in the order of numbers, to be counted.

internal import Jobs

extension WaitingPacks {
    /// The number of packs that are read for each job that a count may read, at most.
    private static let packsCountedMax = 64

    /// The next jobs of a queue in the order of their numbers.
    ///
    /// - Parameters: as those of `SQLiteStore.inTurn`.
    func inTurn(
        _ queue: QueueName, after id: JobID, limit: Int, byteCount: Int
    ) throws(StoreFault) -> JobBatch {
        var batch = JobBatch()
        var bytes = 0
        try forEach(queue, after: id, isAscending: true) { row, index throws(DamagedRecord) in
            let job = try row.pack.job(index, of: queue)
            batch.jobs.append(job)
            bytes += job.payload.count
            batch.isEnd = bytes < byteCount && batch.jobs.count < limit
            return batch.isEnd
        }
        return batch
    }

    /// The first jobs of a queue in a span, without their payloads.
    func listInTurn(
        _ queue: QueueName, in span: JobSpan, limit: Int
    ) throws(StoreFault) -> [Job] {
        var jobs: [Job] = []
        guard limit > 0 else { return jobs }
        try forEach(
            queue, after: span.after, before: span.before, isAscending: span.isAscending
        ) { row, index throws(DamagedRecord) in
            jobs.append(try row.pack.job(index, of: queue, withBytes: false))
            return jobs.count < limit
        }
        return jobs
    }

    /// The first wanted jobs of a queue in a span, without their payloads.
    ///
    /// - Parameters:
    ///   - jobCountMax: the number of jobs that are read.
    ///   - searched: drawn in to the place up to which all were read.
    func listInTurn(
        _ queue: QueueName, in span: JobSpan, limit: Int, jobCountMax: Int,
        searched: inout JobID, where isWanted: (Job) -> Bool
    ) throws(StoreFault) -> [Job] {
        var jobs: [Job] = []
        guard limit > 0 else { return jobs }
        var (left, place) = (jobCountMax, span.end)
        defer { searched = span.first(searched, place) }
        try forEach(
            queue, after: span.after, before: span.before, isAscending: span.isAscending
        ) { row, index throws(DamagedRecord) in
            guard left > 0 else {
                place = span.place(shortOf: JobID(row.pack.ids[index]))
                return false
            }
            left -= 1
            let job = try row.pack.job(index, of: queue, withBytes: false)
            if isWanted(job) { jobs.append(job) }
            return jobs.count < limit
        }
        return jobs
    }

    /// Calls `body` for the jobs of a queue between two numbers until it returns false.
    private func forEach(
        _ queue: QueueName, after id: JobID, before end: JobID = .max, isAscending: Bool,
        _ body: (PackTable.Row, Int) throws(DamagedRecord) -> Bool
    ) throws(StoreFault) {
        try flush()
        let rows = try table.packs(
            """
            WHERE thread = ? AND priority = ? AND last_id > ? AND last_id < ? AND first_id < ?
            ORDER BY last_id \(isAscending ? "ASC" : "DESC")
            """)
        try rows.bind(1, queue.thread)
        try rows.bind(2, Int64(queue.priority.rawValue))
        try rows.bind(3, Int64(clamping: id.number))
        // The numbers of a pack are close together.
        let (last, isTooLarge) = end.number.addingReportingOverflow(Pack.spanMax)
        try rows.bind(4, Int64(clamping: isTooLarge ? .max : last))
        try rows.bind(5, Int64(clamping: end.number))
        defer { rows.reset() }
        while try rows.step() {
            let row = try table.row(rows)
            let indices = row.pack.keptIndices
            for index in isAscending ? indices : indices.reversed()
            where row.pack.ids[index] > id.number && row.pack.ids[index] < end.number {
                let goesOn = try table.whole { () throws(DamagedRecord) in try body(row, index) }
                guard goesOn else { return }
            }
        }
    }

    // MARK: - Taking stock

    /// The last number that can be counted by reading a limited number of packs.
    ///
    /// Nil if every number can.
    func countable(
        after number: UInt64, through last: UInt64, limit: Int
    ) throws(StoreFault) -> UInt64? {
        try flush()
        let rows = try table.packs(
            "WHERE last_id > ? AND last_id <= ? ORDER BY last_id LIMIT 1 OFFSET ?")
        try rows.bind(1, Int64(clamping: number))
        try rows.bind(2, Int64(clamping: last))
        try rows.bind(3, Int64(max(1, min(limit, Self.packsCountedMax)) - 1))
        defer { rows.reset() }
        return try rows.step() ? try table.row(rows).pack.last : nil
    }

    /// Calls `body` for the jobs in a range of numbers.
    func forEachLive(
        in range: ClosedRange<UInt64>, _ body: (QueueName, CountedJob) -> Void
    ) throws(StoreFault) {
        try flush()
        let rows = try table.packs(
            "WHERE last_id >= ?1 AND last_id < ?2 AND first_id <= ?3 ORDER BY last_id")
        try rows.bind(1, Int64(clamping: range.lowerBound))
        let (end, isTooLarge) = range.upperBound.addingReportingOverflow(Pack.spanMax)
        try rows.bind(2, Int64(clamping: isTooLarge ? .max : end))
        try rows.bind(3, Int64(clamping: range.upperBound))
        defer { rows.reset() }
        while try rows.step() {
            let row = try table.row(rows)
            guard let queue = row.queue else { continue }
            for index in row.pack.keptIndices where range.contains(row.pack.ids[index]) {
                let counted = try table.whole { () throws(DamagedRecord) in
                    try row.pack.counted(index)
                }
                body(queue, counted)
            }
        }
    }
}
