// What one transaction of the journal has to say, collected while it is written and sent when it is on
// the disk or has failed.

internal import Jobs

/// What goes back to the desk, and what it needs from the transaction.
struct JournalAnswers {
    let fault: StoreFault?
    var cancelled: [UInt64: [QueueName: [CountedJob]]] = [:]
    var cancelledParts: [UInt64: BulkCancelAnswer] = [:]
    var fired: [UInt64: BufferRelease] = [:]
    var claimed: [UInt64: Result<[Job], StoreFault>] = [:]
    var settled: [UInt64: FailedJobsAnswer] = [:]
    /// The jobs that were not accepted, and who has their name.
    var existing: [JobID: JobID] = [:]
    /// What was read of delayed jobs at the place of each command that asks for some.
    ///
    /// A command behind it in the same transaction may let failed ones run again, which the desk does not
    /// know until that one's answer: read later, these would come twice.
    private var delayed: [Result<JobBatch, StoreFault>] = []
    /// What each load of jobs in turn has read at its place: a load sees the changes before it only.
    private var loaded: [Result<JobBatch, StoreFault>] = []
    private var told: [StoreAnswer] = []
    /// How many were accepted, or not, since the last answer of another kind.
    private var acceptedCount = 0

    /// - Parameter fault: why the transaction has failed; nil if it has not.
    init(fault: StoreFault? = nil) { self.fault = fault }

    /// All of them.
    var all: [StoreAnswer] {
        guard acceptedCount > 0 else { return told }
        return told + [.accepted(count: acceptedCount, fault)]
    }

    mutating func keepDelayed(_ batch: Result<JobBatch, StoreFault>) {
        delayed.append(batch)
    }

    /// What the next of these commands has read; nil if there was no transaction, or it has failed.
    mutating func takeDelayed() -> Result<JobBatch, StoreFault>? {
        delayed.isEmpty ? nil : delayed.removeFirst()
    }

    /// - Parameter batch: what was read at the place of the command.
    mutating func keepLoaded(_ batch: Result<JobBatch, StoreFault>) {
        loaded.append(batch)
    }

    /// What the next load of jobs in turn has read; nil if there was no transaction, or it has failed.
    mutating func takeLoaded() -> Result<JobBatch, StoreFault>? {
        loaded.isEmpty ? nil : loaded.removeFirst()
    }

    /// The next job that was to be accepted is on the disk, or isn't if there is a fault.
    mutating func appendAccepted() { acceptedCount += 1 }

    mutating func append(_ answer: StoreAnswer) {
        if acceptedCount > 0 { told.append(.accepted(count: acceptedCount, fault)) }
        acceptedCount = 0
        told.append(answer)
    }
}
