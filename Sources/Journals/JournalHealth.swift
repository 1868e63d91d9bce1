// The messages that the journal can't write, and that it can again: one of each, however often it
// is tried.

internal import Jobs
internal import Wording

/// Whether the journal can write.
///
/// Confined to the journal's thread.
struct JournalHealth {
    private let log: StoreLog
    /// The time of the first failure; nil while writing succeeds.
    private var failingSince: Int64?
    private var failureCount = 0
    /// Whether the move of the log into the database fails, which was logged.
    private var isMovingFailing = false

    init(_ log: StoreLog) { self.log = log }

    /// Whether the latest transaction has failed.
    var isFailing: Bool { failingSince != nil }

    /// Records that a transaction has failed.
    mutating func noteFailure(_ fault: StoreFault, at now: Int64) {
        failureCount += 1
        guard failingSince == nil else { return }
        failingSince = now
        log.error(
            "the journal can't write, durable jobs are refused until it can: \(fault)")
    }

    /// Records that a transaction has succeeded.
    mutating func noteSuccess(at now: Int64) {
        guard let since = failingSince else { return }
        log.notice(
            "the journal writes again after \(now - since) ms and "
                + counted(failureCount, "failure"))
        failingSince = nil
        failureCount = 0
    }

    /// Records the result of the log's move into the database.
    ///
    /// Nothing is refused and nothing lost while only this fails: the log grows.
    mutating func noteMoving(_ fault: StoreFault?) {
        guard (fault != nil) != isMovingFailing else { return }
        isMovingFailing = fault != nil
        if let fault {
            log.error("the journal can't be moved from its log into the database: \(fault)")
        } else {
            log.notice("the journal is moved from its log into the database again")
        }
    }
}
