// Jobs that were submitted in the store itself, such as by SQL in a transaction of a user's own.
// The store hands them to the daemon a part at a time; each is then accepted as a client's job is,
// and leaves its place in the transaction that accepts it.

/// A job that was submitted in the store, and is not accepted yet.
package final class SubmittedJob: Sendable {
    /// Its place in the store.
    package let place: Int64
    /// The name by which its submitter knows it.
    package let ticket: String
    package let request: JobRequest
    /// How much later it is due; nil if it is due at once.
    package let delayMilliseconds: Int64?

    package init(
        place: Int64, ticket: String, request: JobRequest, delayMilliseconds: Int64? = nil
    ) {
        self.place = place
        self.ticket = ticket
        self.request = request
        self.delayMilliseconds = delayMilliseconds
    }
}

/// The fate of submitted jobs that were not accepted; all others of their part were.
package struct SubmittedAnswer: Sendable {
    /// A job that can't be accepted: it stays at its place with the reason.
    package struct Refusal: Sendable {
        package let place: Int64
        package let reason: String

        package init(place: Int64, reason: String) {
            self.place = place
            self.reason = reason
        }
    }

    /// Places of jobs whose unique name leads to an earlier one: they are removed.
    package var known: [Int64] = []
    package var refusals: [Refusal] = []
    /// How many are accepted.
    package var acceptedCount = 0
    /// Threads that have no room: their jobs are tried again later.
    package var busyThreads: Set<String> = []
    /// Whether there is no room for any job for a while.
    package var isBusy = false

    package init() {}
}
