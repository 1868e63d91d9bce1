// What has been counted of all jobs there ever were, for those who look at a daemon from outside.

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

    /// Those that had not begun in time.
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
