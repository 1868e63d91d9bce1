// What one transaction of the journal has to say, collected while it is written and sent when it is on
// the disk or has failed.

internal import Jobs

/// What goes back to the desk, and what it needs from the transaction.
struct JournalAnswers {
    var fault: StoreFault?
    var cancelled: [UInt64: [QueueName: [SQLiteStore.Counted]]] = [:]
    var fired: [UInt64: JournalFiring] = [:]
    var settled: [UInt64: FailedJobsAnswer] = [:]
    /// The jobs that were not accepted, and who has their name.
    var existing: [JobID: JobID] = [:]
    private(set) var all: [JournalAnswer] = []

    mutating func append(_ answer: JournalAnswer) {
        if case .accepted(1, let fault) = answer,
            case .accepted(let count, _) = all.last
        {
            all[all.count - 1] = .accepted(count: count + 1, fault)
        } else {
            all.append(answer)
        }
    }
}
