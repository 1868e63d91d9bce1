// One attempt of a job, as stores keep it.

/// The record of an attempt, written when it begins, and again when the job ends.
package struct Attempt: Hashable, Sendable {
    /// The attempt's number, from 1 on; 0 for a job that ends without an attempt.
    package var number: Int

    /// The worker thread that runs the attempt.
    package var workerName: String?

    /// When the attempt began.
    package var startedAt: Int64?

    /// Describes an attempt.
    package init(number: Int, workerName: String? = nil, startedAt: Int64? = nil) {
        self.number = number
        self.workerName = workerName
        self.startedAt = startedAt
    }
}
