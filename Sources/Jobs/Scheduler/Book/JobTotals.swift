// The totals that INFO shows: all jobs since the start, by how they ended.

/// How many jobs there ever were, whether they are still kept or not.
package struct JobTotals: Hashable, Sendable {
    /// All of them.
    package var accepted: UInt64 = 0

    /// Jobs that ended with a result.
    package var done: UInt64 = 0

    /// Jobs that failed for good.
    package var failed: UInt64 = 0

    /// Jobs that a client cancelled.
    package var cancelled: UInt64 = 0

    /// Jobs that expired before they began.
    package var expired: UInt64 = 0

    /// Starts at zero.
    package init() {}

    /// Counts a job that has ended in `state`.
    package mutating func countEnd(in state: JobState) {
        switch state {
        case .done: done += 1
        case .failed: failed += 1
        case .cancelled: cancelled += 1
        case .expired: expired += 1
        case .delayed, .buffered, .waiting, .running: break
        }
    }
}
