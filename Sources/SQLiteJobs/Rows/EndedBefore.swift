// The ended jobs that a file had when it was opened. They become known in parts, in the order of
// their numbers, while others end, and while some that had failed are run again.

internal import Jobs

/// The ended jobs of before the opening, as far as they are known.
struct EndedBefore {
    /// The largest number of one of them; 0 if there are none.
    let last: Int64
    /// The last number that was read.
    private(set) var through: Int64 = 0
    private(set) var areAllKnown = false
    private var ended: [RetainedJobs.Entry] = []
    private var failed: [RetainedJobs.Entry] = []
    /// The largest number of the last pack that was read.
    private(set) var throughPacks: UInt64 = 0
    private var packs: [EndedPacks.Earlier] = []
    /// Jobs that ended since, which are known already, whatever their number.
    private var endedSince: Set<JobID> = []

    init(last: Int64) { self.last = last }

    /// Whether a job that had ended has been counted among the kept ones.
    ///
    /// Then it is removed there when it is dropped.
    func knows(_ id: JobID) -> Bool {
        let number = Int64(clamping: id.number)
        return areAllKnown || number <= through || number > last || endedSince.contains(id)
    }

    /// Adds jobs that have ended since the opening.
    mutating func noteEnded(_ jobs: [RetainedJobs.Entry]) {
        for job in jobs { endedSince.insert(job.id) }
    }

    /// Adds the next row that was read.
    mutating func add(_ job: RetainedJobs.Entry, hasFailed: Bool) {
        through = Int64(clamping: job.id.number)
        guard !endedSince.contains(job.id) else { return }
        if hasFailed { failed.append(job) } else { ended.append(job) }
    }

    /// Adds the next pack that was read.
    mutating func add(_ pack: EndedPacks.Earlier) {
        throughPacks = pack.run.last
        // Jobs that ended since are in packs of their own.
        guard pack.entries.first.map({ endedSince.contains($0.id) }) != true else { return }
        packs.append(pack)
    }

    /// Removes the packs, once all are read, in the order in which they will be dropped.
    ///
    /// That is the order in which they were written.
    mutating func takePacks() -> [EndedPacks.Earlier] {
        defer { packs = [] }
        func place(_ pack: EndedPacks.Earlier) -> (Int64, UInt64) {
            (pack.entries.last?.endedAt ?? 0, pack.run.last)
        }
        return packs.sorted { place($0) < place($1) }
    }

    /// Removes the rows of jobs that did not fail, once all are read, in the order of dropping.
    mutating func takeEnded() -> [RetainedJobs.Entry] {
        areAllKnown = true
        endedSince = []
        defer { ended = [] }
        return Self.inOrder(ended)
    }

    /// Removes the failed jobs, in the order in which they will be dropped.
    mutating func takeFailed() -> [RetainedJobs.Entry] {
        defer { failed = [] }
        return Self.inOrder(failed)
    }

    private static func inOrder(_ jobs: [RetainedJobs.Entry]) -> [RetainedJobs.Entry] {
        jobs.sorted { ($0.endedAt, $0.id) < ($1.endedAt, $1.id) }
    }
}
