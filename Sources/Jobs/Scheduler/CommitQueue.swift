// Jobs that are on their way to the store. Answers come in the order of the commands.

internal import Structures

/// The jobs whose commits are awaited, in the order of their commands.
///
/// Invariant: `byteCount` is the sum over the jobs in it.
package struct CommitQueue {
    /// A job whose commit is awaited.
    struct Commit {
        let id: JobID
        /// Nil if it is parked.
        let job: JobEntry?
        let queue: JobQueue
        let details: JobDetails
        /// Waiting, delayed or buffered.
        let state: JobState
        let dueAt: Int64?
        let byteCount: Int
        let reply: ReplyToken
    }

    /// The bytes of payload that may await their commit before clients are throttled: each is in
    /// memory until then.
    private static let byteCountMax = 32 << 20

    private var commits = FIFO<Commit>()
    private var byteCount = 0
    /// Jobs of schedules that are told to the store together, after they were accepted.
    private var runs: [MadeRun] = []
    /// Whether clients are throttled because too many bytes await their commit.
    package private(set) var isFull = false

    mutating func append(_ commit: Commit) {
        commits.append(commit)
        byteCount += commit.byteCount
        if byteCount >= Self.byteCountMax { isFull = true }
    }

    /// The next job that is kept, or could not be.
    mutating func popFirst() -> Commit? {
        guard let commit = commits.popFirst() else { return nil }
        byteCount -= commit.byteCount
        if isFull, byteCount <= Self.byteCountMax / 2 { isFull = false }
        return commit
    }

    /// Whether a job may await its commit: numbers go up as commands do.
    package func mayContain(_ id: JobID) -> Bool { commits.first.map { $0.id <= id } ?? false }

    /// The jobs for whose ends clients wait from their commits on.
    var waitedFor: Set<JobID> {
        Set(commits.filter { $0.reply.patience != nil }.map(\.id))
    }

    /// One more job of a schedule is to be told to the store.
    mutating func add(_ run: MadeRun) { runs.append(run) }

    /// Takes out the jobs of schedules.
    mutating func takeRuns() -> [MadeRun] {
        defer { runs.removeAll() }
        return runs
    }

    mutating func removeAll() {
        commits = FIFO()
        runs = []
    }
}
