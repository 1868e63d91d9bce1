// The ended jobs that a file had when it was opened: they become known in parts, in the order of their
// numbers, while others end, and while some that had failed are run again.

internal import Jobs

/// What is known of the ended jobs of before.
struct EndedBefore {
    /// The largest number of one of them; 0 if there are none.
    let last: Int64
    /// The last number that was looked at.
    private(set) var through: Int64 = 0
    private(set) var areAllKnown = false
    private var ended: [RetainedJobs.Entry] = []
    private var failed: [RetainedJobs.Entry] = []
    /// The largest number of the last pack that was looked at.
    private(set) var throughPacks: UInt64 = 0
    private var packs: [EndedPacks.Earlier] = []
    /// These are known already, whatever their number.
    private var endedSince: Set<JobID> = []

    init(last: Int64) { self.last = last }

    /// Whether a job that had ended has been counted among the kept ones, so that it is taken out there
    /// when it goes.
    func knows(_ id: JobID) -> Bool {
        let number = Int64(clamping: id.number)
        return areAllKnown || number <= through || number > last || endedSince.contains(id)
    }

    /// Jobs have ended since the opening.
    mutating func noteEnded(_ jobs: [RetainedJobs.Entry]) {
        for job in jobs { endedSince.insert(job.id) }
    }

    /// The next job was looked at.
    mutating func add(_ job: RetainedJobs.Entry, hasFailed: Bool) {
        through = Int64(clamping: job.id.number)
        guard !endedSince.contains(job.id) else { return }
        if hasFailed { failed.append(job) } else { ended.append(job) }
    }

    /// The next pack was looked at.
    mutating func add(_ pack: EndedPacks.Earlier) {
        throughPacks = pack.run.last
        // What ended since is in packs of its own.
        guard pack.entries.first.map({ endedSince.contains($0.id) }) != true else { return }
        packs.append(pack)
    }

    /// All have been looked at: the packs, in the order in which they will be dropped, which is that in
    /// which they were written.
    mutating func takePacks() -> [EndedPacks.Earlier] {
        defer { packs = [] }
        func place(_ pack: EndedPacks.Earlier) -> (Int64, UInt64) {
            (pack.entries.last?.endedAt ?? 0, pack.run.last)
        }
        return packs.sorted { place($0) < place($1) }
    }

    /// All have been looked at: those that did not fail
    /// and have rows of their own, in the order in which they will be dropped.
    mutating func takeEnded() -> [RetainedJobs.Entry] {
        areAllKnown = true
        endedSince = []
        defer { ended = [] }
        return Self.inOrder(ended)
    }

    /// Those that have failed, in the order in which they will be dropped.
    mutating func takeFailed() -> [RetainedJobs.Entry] {
        defer { failed = [] }
        return Self.inOrder(failed)
    }

    private static func inOrder(_ jobs: [RetainedJobs.Entry]) -> [RetainedJobs.Entry] {
        jobs.sorted { ($0.endedAt, $0.id) < ($1.endedAt, $1.id) }
    }
}
