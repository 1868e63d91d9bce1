// Packs of ended jobs that have not failed: the jobs of a pack have ended in one transaction. Jobs
// are dropped in order of arrival, pack by pack. A failed job can be run again, and has a row
// of its own.

internal import Jobs
internal import Structures

/// The packed ended jobs of a store.
///
/// As with `WaitingPacks`, changes are in the table after `flush`. After a transaction call
/// `settle` if it has succeeded, `forget` if it has failed.
///
/// - Thread: its connection's.
final class EndedPacks {
    /// The summary of one pack.
    struct Run {
        let last: UInt64
        /// The number of its jobs that have not been dropped.
        var count: Int
    }

    private let table: PackTable
    /// The pack of this transaction that takes the next job, and the record that it takes.
    ///
    /// A value, so that adding a job checks its uniqueness once.
    private struct Open {
        var pack = Pack()
        var record = RecordWriter()

        /// Adds the record.
        ///
        /// - Returns: the full pack that it replaces, if there was one.
        mutating func append(_ id: UInt64) -> Pack? { pack.append(id, &record) }
    }

    private var open = Open()
    /// The packs of this transaction.
    private var built: [Run] = []
    /// All known packs, in the order in which they are dropped.
    private var runs = FIFO<Run>()
    /// The drops of this transaction: a number of packs, and of jobs in the next one.
    private var dropped = (packs: 0, jobs: 0)

    /// The largest number at the opening; 0 without one.
    let lastBefore: UInt64

    init(in database: Database) throws(StoreFault) {
        table = try PackTable("ended_packs", hasQueue: false, in: database)
        lastBefore = try table.lastNumber()
    }

    // MARK: - Changing

    /// Adds an ended job.
    func append(_ job: Job) throws(StoreFault) {
        JobRecord.write(job, withQueue: true, to: &open.record)
        if let full = open.append(job.id.number) { try insert(full) }
    }

    /// Adds a job that was in a waiting pack until it ended.
    ///
    /// - Parameters: as those of `JobRecord.writeEnd`.
    func append(
        _ id: UInt64, of waiting: consuming RecordReader, in queue: [UInt8], _ attempt: Attempt?,
        _ outcome: Outcome, at now: Int64
    ) throws(StoreFault) {
        let full = try table.whole { () throws(DamagedRecord) in
            try JobRecord.writeEnd(
                of: &waiting, in: queue, attempt, outcome, at: now, to: &open.record)
            return open.append(id)
        }
        if let full { try insert(full) }
    }

    /// Writes the added jobs.
    func flush() throws(StoreFault) {
        guard !open.pack.isEmpty else { return }
        try insert(open.pack)
        open.pack = Pack()
    }

    private func insert(_ pack: Pack) throws(StoreFault) {
        try table.insert(PackTable.Row(pack: pack, queue: nil))
        built.append(Run(last: pack.last, count: pack.keptCount))
    }

    /// Drops the given number of jobs, the first ones.
    ///
    /// Once in a transaction.
    func dropFirst(_ count: Int) throws(StoreFault) {
        var left = count
        for run in runs {
            guard left > 0 else { break }
            if left >= run.count {
                try table.delete(last: run.last)
                left -= run.count
                dropped.packs += 1
            } else {
                if var row = try table.row(last: run.last) {
                    row.pack.dropFirst(left)
                    try table.update(row.pack)
                }
                dropped.jobs = left
                left = 0
            }
        }
    }

    /// Keeps the changes: the transaction has succeeded.
    func settle() {
        for _ in 0..<dropped.packs { _ = runs.popFirst() }
        if dropped.jobs > 0, var run = runs.popFirst() {
            run.count -= dropped.jobs
            runs.prepend(run)
        }
        for run in built { runs.append(run) }
        begin()
    }

    /// Drops the changes: the transaction has failed.
    func forget() { begin() }

    private func begin() {
        if !open.pack.isEmpty { open.pack = Pack() }
        built.removeAll(keepingCapacity: true)
        dropped = (0, 0)
    }

    // MARK: - Finding

    /// The job of a number, if it is in a pack.
    func job(_ id: UInt64) throws(StoreFault) -> Job? {
        try flush()
        guard let row = try table.row(with: id), let index = row.pack.index(of: id) else {
            return nil
        }
        return try table.whole { () throws(DamagedRecord) in try row.pack.job(index, of: nil) }
    }

    /// The first jobs in a span, without their results.
    ///
    /// - Parameters:
    ///   - packCountMax: the number of packs that are read.
    ///   - searched: drawn in to the place up to which all were read.
    func list(
        thread: String?, state: JobState?, in span: JobSpan, limit: Int, packCountMax: Int,
        searched: inout JobID
    ) throws(StoreFault) -> [Job] {
        try flush()
        // Failed jobs have rows of their own, because they may run again.
        guard limit > 0, state?.isEnded != false, state != .failed else { return [] }
        var packCount = 0
        var jobs: [Job] = []
        let rows = try table.packs(
            """
            WHERE last_id > ?1 AND last_id < ?2 AND first_id < ?3
            ORDER BY last_id \(span.isAscending ? "ASC" : "DESC")
            """)
        try rows.bind(1, Int64(clamping: span.after.number))
        let (last, isTooLarge) = span.before.number.addingReportingOverflow(Pack.spanMax)
        try rows.bind(2, Int64(clamping: isTooLarge ? .max : last))
        try rows.bind(3, Int64(clamping: span.before.number))
        defer { rows.reset() }
        while try rows.step() {
            let row = try table.row(rows)
            // Packs overlap: jobs up to here are in none of this one and the next.
            let place = Self.place(before: row, in: span)
            if jobs.count >= limit, !span.precedes(place, jobs[limit - 1].id) { break }
            packCount += 1
            // Packs around the beginning are all read, or the next search would be this one again.
            // There are fewer than Pack.spanMax of them.
            if packCount > packCountMax, span.contains(place) {
                searched = span.first(searched, place)
                break
            }
            for index in row.pack.keptIndices {
                let job = try table.whole { () throws(DamagedRecord) in
                    try row.pack.job(index, of: nil, withBytes: false)
                }
                guard thread == nil || job.thread == thread, state == nil || job.state == state,
                    span.contains(job.id)
                else { continue }
                jobs.append(job)
            }
            jobs = span.sorted(jobs, limit: limit)
        }
        return jobs
    }

    /// The place up to which no job is in a pack or in one behind it, in the order of `last_id`.
    private static func place(before row: PackTable.Row, in span: JobSpan) -> JobID {
        let last = row.pack.last
        guard span.isAscending else { return JobID(last + 1) }
        return JobID(last > Pack.spanMax ? last - Pack.spanMax : 0)
    }

    // MARK: - Packs of before the opening

    /// A pack of before the opening.
    struct Earlier {
        let run: Run
        let entries: [RetainedJobs.Entry]
    }

    /// The packs of before the opening that follow a number.
    func earlier(after last: UInt64, limit: Int) throws(StoreFault) -> [Earlier] {
        let rows = try table.packs(
            "WHERE last_id > ? AND last_id <= ? ORDER BY last_id LIMIT ?")
        try rows.bind(1, Int64(clamping: last))
        try rows.bind(2, Int64(clamping: lastBefore))
        try rows.bind(3, Int64(limit))
        defer { rows.reset() }
        var packs: [Earlier] = []
        while try rows.step() {
            let row = try table.row(rows)
            let entries = try table.whole { () throws(DamagedRecord) in
                try row.pack.keptIndices.map { index throws(DamagedRecord) in
                    try row.pack.ended(index)
                }
            }
            packs.append(
                Earlier(run: Run(last: row.pack.last, count: entries.count), entries: entries))
        }
        return packs
    }

    /// Adds packs of before the opening, in the order in which they are dropped.
    func prepend(_ earlier: [Run]) {
        for run in earlier.reversed() { runs.prepend(run) }
    }
}
