// Further conditions of a listing, beside thread and state.

/// Conditions on listed jobs; all that are given must be met.
package struct JobFilter: Sendable, Equatable {
    /// Only jobs of this selector.
    package var selector: String?
    /// Only jobs with this key.
    package var key: [UInt8]?
    /// Only jobs that were accepted at this moment or before, in Unix milliseconds.
    package var acceptedUntil: Int64?
    /// Only jobs that were accepted after this moment.
    package var acceptedAfter: Int64?
    /// Only jobs that have failed for a reason like this one.
    package var failure: FailurePattern?

    /// Only jobs of these threads and selectors.
    package var scope = JobScope.all

    package init() {}

    /// Whether every job passes.
    package var isEmpty: Bool { self == JobFilter() }

    package func passes(_ job: Job) -> Bool {
        if let selector, job.selector != selector { return false }
        if let key, job.key != key { return false }
        if let acceptedUntil, job.acceptedAt > acceptedUntil { return false }
        if let acceptedAfter, job.acceptedAt <= acceptedAfter { return false }
        if let failure, job.outcome?.failureReason.map(FailurePattern.init) != failure {
            return false
        }
        if !scope.isAll, !scope.has(job) { return false }
        return true
    }
}
