// A moment of a schedule whose former jobs have not ended. Pure.

/// The rule for a moment that comes while a job of the same schedule has not ended.
package enum OverlappingRuns: String, CaseIterable, Sendable {
    /// At most one job waits; others may run.
    case one
    /// No job is made while one has not ended.
    case skip
    /// Each moment makes a job.
    case queue

    /// The rule of a schedule for which none is given.
    package static func standard(with missed: MissedRuns) -> OverlappingRuns {
        // A job for each missed moment: all but the first would find one that waits.
        missed == .all ? .queue : .one
    }

    /// Refuses a rule that contradicts the one for missed runs.
    package func check(with missed: MissedRuns) throws(ScheduleFault) {
        guard missed == .all, self != .queue else { return }
        throw ScheduleFault("all makes a job for each moment, and \(rawValue) leaves some out")
    }

    /// Whether a job that has not ended keeps the next moment from making one.
    package func isHeldUp(byJobIn state: JobState) -> Bool {
        switch self {
        case .one: !state.isEnded && state != .running
        case .skip: !state.isEnded
        case .queue: false
        }
    }
}
