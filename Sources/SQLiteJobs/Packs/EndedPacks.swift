// Jobs that have ended without having failed, in packs: those that ended in one transaction. They are
// dropped in the order in which they came, the packs one after the other. What has failed can be run
// again, and has a row of its own.

internal import Jobs
internal import Structures

/// The packed ended jobs of a store.
///
/// As `WaitingPacks`: what is changed is in the table after `flush`. After a transaction either `settle`
/// or `forget` says what has become of it.
///
/// - Thread: its connection's.
final class EndedPacks {
    /// What is noted of a pack.
    struct Run {
        let last: UInt64
        /// How many of its jobs have not been dropped.
        var count: Int
    }

    private let table: PackTable
    /// The pack of this transaction that takes the next job, and the record that it takes.
    ///
    /// A value, so that adding a job looks once whether somebody else uses it.
    private struct Open {
        var pack = Pack()
        var record = RecordWriter()

        /// Adds the record.
        ///
        /// - Returns: a pack that takes no more, if it was in the way.
        mutating func append(_ id: UInt64) -> Pack? { pack.append(id, &record) }
    }

    private var open = Open()
    /// Those of this transaction.
    private var built: [Run] = []
    /// All that are known, in the order in which they are dropped.
    private var runs = FIFO<Run>()
    /// What this transaction drops: so many packs, and so many jobs of the next one.
    private var dropped = (packs: 0, jobs: 0)

    /// The largest number at the opening; 0 without one.
    let lastBefore: UInt64

    init(in database: Database) throws(StoreFault) {
        table = try PackTable("ended_packs", hasQueue: false, in: database)
        lastBefore = try table.lastNumber()
    }

    // MARK: - Changing

    /// Adds a job that has ended.
    func append(_ job: Job) throws(StoreFault) {
        JobRecord.write(job, withQueue: true, to: &open.record)
        if let full = open.append(job.id.number) { try insert(full) }
    }

    /// Adds a job that has waited in a pack until it ended.
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

    /// Writes what was added.
    func flush() throws(StoreFault) {
        guard !open.pack.isEmpty else { return }
        try insert(open.pack)
        open.pack = Pack()
    }

    private func insert(_ pack: Pack) throws(StoreFault) {
        try table.insert(PackTable.Row(pack: pack, queue: nil))
        built.append(Run(last: pack.last, count: pack.keptCount))
    }

    /// Drops so many of those that came first.
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

    /// The transaction is so.
    func settle() {
        for _ in 0..<dropped.packs { _ = runs.popFirst() }
        if dropped.jobs > 0, var run = runs.popFirst() {
            run.count -= dropped.jobs
            runs.prepend(run)
        }
        for run in built { runs.append(run) }
        begin()
    }

    /// The transaction has failed.
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

    /// The newest jobs before a number, without their results.
    ///
    /// - Parameters:
    ///   - packCountMax: how many packs are looked at.
    ///   - searched: set to the smallest number that was looked at, if not all were.
    func newest(
        thread: String?, state: JobState?, before end: JobID, limit: Int, packCountMax: Int,
        searched: inout JobID
    ) throws(StoreFault) -> [Job] {
        try flush()
        // Failed ones have rows of their own: they may run again.
        guard limit > 0, state?.isEnded != false, state != .failed else { return [] }
        var packCount = 0
        var jobs: [Job] = []
        let rows = try table.packs(
            "WHERE last_id < ?1 AND first_id < ?2 ORDER BY last_id DESC")
        let (last, isTooLarge) = end.number.addingReportingOverflow(Pack.spanMax)
        try rows.bind(1, Int64(clamping: isTooLarge ? .max : last))
        try rows.bind(2, Int64(clamping: end.number))
        defer { rows.reset() }
        while try rows.step() {
            let row = try table.row(rows)
            // Packs overlap: no job of this one or the next is among the newest.
            if jobs.count >= limit, row.pack.last < jobs[limit - 1].id.number { break }
            packCount += 1
            // Packs overlap: those around the end are all looked at, else the next search would be this one
            // again. There are fewer than Pack.spanMax of them.
            if packCount > packCountMax, row.pack.last + 1 < end.number {
                searched = max(searched, JobID(row.pack.last + 1))
                break
            }
            for index in row.pack.keptIndices {
                let job = try table.whole { () throws(DamagedRecord) in
                    try row.pack.job(index, of: nil, withBytes: false)
                }
                guard thread == nil || job.thread == thread, state == nil || job.state == state,
                    job.id < end
                else { continue }
                jobs.append(job)
            }
            jobs.sort { $1.id < $0.id }
            if jobs.count > limit { jobs.removeLast(jobs.count - limit) }
        }
        return jobs
    }

    // MARK: - What was there at the opening

    /// A pack of before.
    struct Earlier {
        let run: Run
        let entries: [RetainedJobs.Entry]
    }

    /// The packs that follow a number, of those of before.
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

    /// Takes note of packs of before, in the order in which they are dropped.
    func prepend(_ earlier: [Run]) {
        for run in earlier.reversed() { runs.prepend(run) }
    }
}
