// How long a job waits between two attempts.

/// The pause between a failed attempt and the next one: doubled with each further one, up to a
/// longest.
package enum RetryPause {
    /// The first one.
    private static let firstMilliseconds: Int64 = 1_000
    /// What the doubling ends at.
    private static let longestMilliseconds: Int64 = 3_600_000

    /// How long it may be after so many attempts, give or take a quarter.
    ///
    /// Without that, jobs that failed together would be tried again together.
    package static func milliseconds(after attempt: Int) -> ClosedRange<Int64> {
        let doublings = min(max(0, attempt - 1), 20)
        let pause = min(firstMilliseconds << Int64(doublings), longestMilliseconds)
        // Above the lower bound: the end that it is counted from is told in whole milliseconds.
        return pause * 3 / 4 + 1...pause * 5 / 4
    }
}
