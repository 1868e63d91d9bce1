// The answers of one transaction, collected while it is written and sent when it is on the disk or
// has failed.

internal import Jobs

/// The answers to the scheduler, and the data that they need from the transaction.
struct JournalAnswers {
    let fault: StoreFault?
    var cancelled: [UInt64: [QueueName: [CountedJob]]] = [:]
    var cancelledParts: [UInt64: BulkCancelAnswer] = [:]
    var fired: [UInt64: BufferRelease] = [:]
    var claimed: [UInt64: Result<ClaimedJobs, StoreFault>] = [:]
    var settled: [UInt64: FailedJobsAnswer] = [:]
    /// The jobs that were not accepted, each with the job that has its name.
    var existing: [JobID: NamedJob] = [:]
    /// The jobs that were not accepted although others of the transaction were.
    var refused: [JobID: StoreFault] = [:]
    /// The faults of commands that found no schedule to forget, by their tickets.
    var undropped: [UInt64: StoreFault] = [:]
    /// The delayed jobs that each command which asks for some has read at its place.
    ///
    /// A later command of the same transaction may let failed jobs run again, which the scheduler
    /// does not know until that command's answer: read later, these jobs would come twice.
    private var delayed: [Result<JobBatch, StoreFault>] = []
    /// The jobs that each load has read at its place: a load sees only the changes before it.
    private var loaded: [Result<JobBatch, StoreFault>] = []
    /// The questions of clients, which are answered behind all others.
    var questions: [StoreCommand] = []
    private var told: [StoreAnswer] = []
    /// The number of acceptances, or refusals, since the last answer of another kind.
    private var acceptedCount = 0

    /// - Parameter fault: the fault of the transaction; nil if it has succeeded.
    init(fault: StoreFault? = nil) { self.fault = fault }

    /// All answers, in order.
    var all: [StoreAnswer] {
        guard acceptedCount > 0 else { return told }
        return told + [.accepted(count: acceptedCount, fault)]
    }

    mutating func keepDelayed(_ batch: Result<JobBatch, StoreFault>) {
        delayed.append(batch)
    }

    /// The jobs that the next of these commands has read; nil if no transaction has succeeded.
    mutating func takeDelayed() -> Result<JobBatch, StoreFault>? {
        delayed.isEmpty ? nil : delayed.removeFirst()
    }

    /// - Parameter batch: the jobs that were read at the place of the command.
    mutating func keepLoaded(_ batch: Result<JobBatch, StoreFault>) {
        loaded.append(batch)
    }

    /// The jobs that the next load has read; nil if no transaction has succeeded.
    mutating func takeLoaded() -> Result<JobBatch, StoreFault>? {
        loaded.isEmpty ? nil : loaded.removeFirst()
    }

    /// Answers the next new job, whose number this is: it is on the disk, or refused if there is a
    /// fault.
    mutating func appendAccepted(_ id: JobID) {
        guard fault == nil, !refused.isEmpty, let refusal = refused[id] else {
            acceptedCount += 1
            return
        }
        append(.accepted(count: 1, refusal))
    }

    mutating func append(_ answer: StoreAnswer) {
        if acceptedCount > 0 { told.append(.accepted(count: acceptedCount, fault)) }
        acceptedCount = 0
        told.append(answer)
    }
}
