// Refusals of a job store.

/// Why a store did not do what it was asked for.
package enum JobStoreError: Error, Hashable, CustomStringConvertible {
    /// The store is full: its limit of jobs or bytes is reached.
    case full(liveCount: Int, liveByteCount: Int)
    /// There never was such a job, or it has been dropped.
    case unknownJob(JobID)
    /// The job is in no state for the event.
    case illegalTransition(IllegalTransition)

    /// One line that says what was wrong and what to do.
    package var description: String {
        switch self {
        case .full(let count, let byteCount):
            "the store is full with \(count) jobs of \(byteCount) bytes: wait until some have ended"
        case .unknownJob(let id):
            "there is no job \(id), or it ended so long ago that it has been dropped"
        case .illegalTransition(let transition):
            transition.description
        }
    }
}
