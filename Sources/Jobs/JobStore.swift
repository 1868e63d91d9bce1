// The seam between the daemon and wherever its jobs are kept.
//
// One event is one change of one row, so that a store with a file or a server behind it can do each
// in a single statement. Nothing here waits for other jobs or threads: whose turn it is, is decided
// elsewhere.

/// Keeps jobs and hands out their ids.
///
/// - Thread: one, its owner's.
package protocol JobStore {
    /// Keeps a new job.
    ///
    /// - Parameter now: Unix milliseconds, as everywhere here.
    /// - Returns: its id, larger than any before; the first is 1.
    /// - Throws: `.full` if the store keeps no more, `.unavailable`.
    mutating func accept(
        _ request: consuming JobRequest, at now: Int64
    ) throws(JobStoreError) -> JobID

    /// Lets `event` happen to a job.
    ///
    /// A job that ends may be dropped at once if the limits of the store say so: its outcome is in
    /// the caller's hands.
    ///
    /// - Returns: the state that the job is in now.
    /// - Throws: `.unknownJob`, `.illegalTransition` (nothing has changed then), `.unavailable`.
    @discardableResult
    mutating func apply(
        _ event: JobEvent, to id: JobID, at now: Int64
    ) throws(JobStoreError) -> JobState

    /// Returns a job, or `nil` if there never was one or it has been dropped.
    func job(_ id: JobID) throws(JobStoreError) -> Job?

    /// Lists jobs in the order of their ids.
    ///
    /// - Parameters:
    ///   - thread: only those for this thread; `nil` for all.
    ///   - state: only those in this state; `nil` for all.
    ///   - limit: no more than these, nor than `Limits.listCountMax`.
    func list(
        thread: String?, state: JobState?, limit: Int, order: JobOrder
    ) throws(JobStoreError) -> [Job]

    /// The number of jobs kept, of one thread or all, in one state or any.
    func count(thread: String?, state: JobState?) throws(JobStoreError) -> Int

    /// What the store has seen since it was made.
    var totals: JobTotals { get }

    /// Drops ended jobs that are older than the limits of the store allow.
    ///
    /// The other operations do so as well: this is for a store that nobody has called for a while.
    mutating func expire(at now: Int64) throws(JobStoreError)
}

/// Which end of a listing comes first.
package enum JobOrder: Sendable {
    case oldestFirst
    case newestFirst
}

/// How many jobs there ever were, whether they are still kept or not.
package struct JobTotals: Hashable, Sendable {
    /// All of them.
    package var accepted: UInt64 = 0

    /// Those that ended with a result.
    package var done: UInt64 = 0

    /// Those that ended without one.
    package var failed: UInt64 = 0

    /// Those that somebody took back or stopped.
    package var cancelled: UInt64 = 0

    /// Starts at zero.
    package init() {}

    /// Counts a job that has ended in `state`.
    package mutating func countEnd(in state: JobState) {
        switch state {
        case .done: done += 1
        case .failed: failed += 1
        case .cancelled: cancelled += 1
        case .delayed, .buffered, .waiting, .running: break
        }
    }
}

/// Why a store did not do what it was asked for.
package enum JobStoreError: Error, Hashable, CustomStringConvertible {
    /// It keeps as many jobs, or bytes of them, as it may.
    case full(liveCount: Int, liveByteCount: Int)
    /// There never was such a job, or it has been dropped.
    case unknownJob(JobID)
    /// The job is in no state for the event.
    case illegalTransition(IllegalTransition)
    /// What the store keeps its jobs in does not answer.
    case unavailable(reason: String)

    /// One line that says what was wrong and what to do.
    package var description: String {
        switch self {
        case .full(let count, let byteCount):
            "the store is full with \(count) jobs of \(byteCount) bytes: wait until some have ended"
        case .unknownJob(let id):
            "there is no job \(id), or it ended so long ago that it has been dropped"
        case .illegalTransition(let transition):
            transition.description
        case .unavailable(let reason):
            "the store does not answer (\(reason)): try again"
        }
    }
}
