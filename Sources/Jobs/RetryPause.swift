// The pause between two attempts of a job.

/// The next attempt, as the end of one determines it.
package enum RetryWish: Hashable, Sendable {
    /// The job's retries decide, with the usual pause.
    case asPlanned
    /// No other attempt follows.
    case never
    /// Another attempt follows after this pause, if the job has one left.
    case after(milliseconds: Int64)
}

/// The pause after a failed attempt: doubled with each further one, up to a maximum.
package enum RetryPause {
    /// The first pause.
    private static let firstMilliseconds: Int64 = 1_000
    /// The longest pause.
    private static let longestMilliseconds: Int64 = 3_600_000

    /// The range of the pause after so many attempts: a quarter less or more than the plain value.
    ///
    /// Without that range, jobs that failed together would be tried again together.
    package static func milliseconds(after attempt: Int) -> ClosedRange<Int64> {
        let doublings = min(max(0, attempt - 1), 20)
        let pause = min(firstMilliseconds << Int64(doublings), longestMilliseconds)
        // Above the lower bound: the end that it is counted from is told in whole milliseconds.
        return pause * 3 / 4 + 1...pause * 5 / 4
    }
}
