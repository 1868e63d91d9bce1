// The ended jobs that a file had when it was opened: they become known in parts, in the order of their
// numbers, while others end, and while some that had failed are run again.

/// What is known of the ended jobs of before.
struct EndedBefore {
    /// The largest number of one of them; 0 if there are none.
    let last: Int64
    /// The last number that was looked at.
    private(set) var through: Int64 = 0
    private(set) var areAllKnown = false
    private var ended: [RetainedJobs.Entry] = []
    private var failed: [RetainedJobs.Entry] = []
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

    /// All have been looked at: those that did not fail, in the order in which they will be dropped.
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
