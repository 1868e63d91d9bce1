// The tables of a store, as its journal writes and reads them. Each store that keeps jobs in tables
// conforms. The journal puts commands together into transactions, and answers them.

package import Jobs

/// The tables of a store.
///
/// The functions of the first part change the tables and are called within `transaction`; those of
/// the second part only read, within a transaction or outside of one.
///
/// - Thread: the journal's.
/// - Blocks: for the disk or the database server.
package protocol JournalTables: AnyObject {
    /// The number of the next job: larger than that of any job that ever was in the tables.
    var nextNumber: UInt64 { get }

    /// Why the latest changes could not be moved to their final place; nil if they were.
    var checkpointFault: StoreFault? { get }

    /// The jobs of whose attempts the holder is recorded.
    var holds: Set<JobID> { get }

    /// Makes several changes at once: all of them are kept when this returns, or none is.
    ///
    /// - Parameters:
    ///   - now: Unix milliseconds; ended jobs that are too old by then are dropped.
    ///   - isSynced: whether the changes must outlive the machine; else the process.
    ///   - body: calls the functions of this protocol.
    /// - Throws: the error of `body`, or the reason of a failed write; then nothing has changed. A
    ///   fault that `allowsAnotherTry` asks the caller to call again with the same body. After one
    ///   of the kind `undecided`, `decide` tells whether there are the changes.
    func transaction(
        at now: Int64, isSynced: Bool, _ body: () throws(StoreFault) -> Void
    ) throws(StoreFault)

    /// Jobs that were submitted in the store itself; nil if none can be.
    var submittedJobs: (any SubmittedTable)? { get }

    /// Whether transactions may be undecided.
    var mayBeUndecided: Bool { get }

    /// Decides whether the transaction that was `undecided` was committed.
    ///
    /// - Returns: whether it was.
    /// - Throws: `undecided` if that can't be known yet; any other fault says that it was not.
    /// - Blocks: for a few hundred milliseconds at most.
    func decide() throws(StoreFault) -> Bool

    /// Drops jobs that were accepted by such a transaction, and refused to their clients meanwhile;
    /// submitted ones are at their places again. Part of a transaction.
    func drop(accepted jobs: [NewJob]) throws(StoreFault)

    /// The limits of ended jobs.
    var limits: StoreLimits { get }
    /// Keeps ended jobs within other limits from now on.
    func limit(_ limits: StoreLimits)

    /// Reads more ended jobs of before the opening, which can be dropped once all are known.
    ///
    /// - Returns: whether there are more.
    func readEnded(atMost limit: Int) throws(StoreFault) -> Bool

    /// Whether no ended job has to be read before others are dropped.
    ///
    /// A store that gives a thread away begins to read anew.
    var areEndsRead: Bool { get }

    /// Has the next transaction check that the store is still at its place.
    func doubtPresence()

    /// The time after the latest transaction at which the store wants another one; nil for never.
    var heartbeat: Duration? { get }

    /// Makes an empty transaction, if there was none for the time of the heartbeat.
    func beat(at now: Int64) throws(StoreFault)

    /// Closes the store.
    ///
    /// - Parameter isWritten: whether all commands were written.
    func end(isWritten: Bool)

    /// Whether other schedulers have threads of the same tables.
    var isShared: Bool { get }

    /// The first number of a range that new jobs have numbers of from now on; told once.
    func takeNewNumbers() -> UInt64?

    /// Whether the jobs of a thread are this scheduler's.
    func owns(_ thread: String) -> Bool

    // MARK: - Changes

    /// Takes over the jobs of a thread's queues in shared tables.
    ///
    /// - Throws: `foreignThread` if another scheduler owns the thread; nothing has changed then.
    func take(_ queues: [QueueName], at now: Int64) throws(StoreFault) -> TakenJobs
    /// Records in shared tables that threads pass to another seat.
    func move(_ moves: [ThreadMove]) throws(StoreFault)
    func touch() throws(StoreFault)
    func flush() throws(StoreFault)
    func accept(_ job: Job) throws(StoreFault)
    func accept(_ job: Job, of run: ScheduleRun) throws(StoreFault)
    func note(_ run: ScheduleRun) throws(StoreFault)
    func giveName(
        _ claim: NameClaim, to id: JobID, at now: Int64
    ) throws(StoreFault) -> NamedJob?
    func start(_ id: JobID, _ attempt: Attempt) throws(StoreFault)
    func begun(_ id: JobID, attempts: Int) throws(StoreFault)
    func end(
        _ id: JobID, _ attempt: Attempt?, _ outcome: Outcome, at now: Int64
    ) throws(StoreFault)
    func putBack(
        _ id: JobID, attempt: Int, forgivenCount: Int, mayExpire: Bool
    ) throws(StoreFault)
    func retry(_ id: JobID, _ attempt: Attempt, dueAt: Int64, at now: Int64) throws(StoreFault)
    func keep(_ holder: JobHolder?, of id: JobID, _ attempt: Int) throws(StoreFault)
    /// Reads the threads of schedules, and locks the schedules until the end of the transaction.
    func threads(ofSchedules names: Set<String>) throws(StoreFault) -> [String: String]
    func keep(_ record: ScheduleRecord) throws(StoreFault)
    func dropSchedule(_ name: String) throws(StoreFault)
    func keep(_ change: PauseChange) throws(StoreFault)
    func askToEnd(_ id: JobID) throws(StoreFault)
    func reserve(below number: UInt64) throws(StoreFault)
    func runAgain(_ id: JobID, before number: JobID, at now: Int64) throws(StoreFault) -> Job?
    func dropFailed(_ id: JobID) throws(StoreFault) -> DroppedJob?
    func fire(
        _ queue: QueueName, after first: JobID, before last: JobID, limit: Int, at now: Int64
    ) throws(StoreFault) -> [CountedJob]
    func keepDue(at now: Int64) throws(StoreFault)
    func shortenPauses(at now: Int64) throws(StoreFault)
    func endAsked(at now: Int64) throws(StoreFault) -> Int
    func takeHeld(at now: Int64) throws(StoreFault) -> [HeldJob]
    /// Counts an attempt of jobs that may have begun without this daemon's knowledge.
    func countUnknownBeginnings(at now: Int64) throws(StoreFault)
    /// Forgets when attempts have begun that are over, once they are counted.
    func forgetBeginnings() throws(StoreFault)
    func setAttemptMarks(_ marks: AttemptMarks) throws(StoreFault)

    // MARK: - Questions

    func job(_ id: JobID) throws(StoreFault) -> Job?
    func job(of claim: NameClaim, at now: Int64) throws(StoreFault) -> NamedJob?
    func payload(of id: JobID) throws(StoreFault) -> FoundPayload?
    func inTurn(
        _ queue: QueueName, after id: JobID, limit: Int, byteCount: Int
    ) throws(StoreFault) -> JobBatch
    func delayed(
        _ queue: QueueName, after key: DueKey, limit: Int, byteCount: Int
    ) throws(StoreFault) -> JobBatch
    func buffered(
        _ queue: QueueName, after id: JobID, limit: Int, byteCount: Int
    ) throws(StoreFault) -> JobBatch
    func blockers() throws(StoreFault) -> [Job]
    func expiring(
        at moment: Int64, after place: DueKey, limit: Int
    ) throws(StoreFault) -> ExpiringJobs
    func failed(
        of selector: String, after first: JobID, before last: JobID, limit: Int
    ) throws(StoreFault) -> [JobID]
    func nextExpiry() throws(StoreFault) -> Int64?
    func listInTurn(_ queue: QueueName, in span: JobSpan, limit: Int) throws(StoreFault) -> [Job]
    func listInTurn(
        _ queue: QueueName, in span: JobSpan, limit: Int, searched: inout JobID,
        where isWanted: (Job) -> Bool
    ) throws(StoreFault) -> [Job]
    func listDeferred(
        _ queue: QueueName, state: JobState, in span: JobSpan, limit: Int
    ) throws(StoreFault) -> [Job]
    func listEnded(
        thread: String?, state: JobState?, in span: JobSpan, limit: Int, hasReasons: Bool
    ) throws(StoreFault) -> (jobs: [Job], searched: JobID)
    func lastLiveNumber() throws(StoreFault) -> UInt64
    func forEachLive(
        after number: UInt64, through last: UInt64, limit: Int,
        _ body: (QueueName, CountedJob) -> Void
    ) throws(StoreFault) -> UInt64?
    func queues() throws(StoreFault) -> Set<QueueName>
    func schedules() throws(StoreFault) -> [ScheduleRecord]
    func pausedThreads() throws(StoreFault) -> Set<String>
    func attemptMarks() throws(StoreFault) -> AttemptMarks
}

extension JournalTables {
    /// Never: a store with one user needs no sign of life.
    package var heartbeat: Duration? { nil }

    package func beat(at now: Int64) throws(StoreFault) {}

    /// None: only this daemon has the file.
    package var submittedJobs: (any SubmittedTable)? { nil }

    /// False: a file is written or not when a transaction returns.
    package var mayBeUndecided: Bool { false }

    /// False: no transaction is undecided.
    package func decide() throws(StoreFault) -> Bool { false }

    package func drop(accepted jobs: [NewJob]) throws(StoreFault) {
        preconditionFailure("every transaction is decided")
    }

    /// False: one scheduler has all threads.
    package var isShared: Bool { false }

    package func takeNewNumbers() -> UInt64? { nil }

    package func owns(_ thread: String) -> Bool { true }

    package func take(_ queues: [QueueName], at now: Int64) throws(StoreFault) -> TakenJobs {
        preconditionFailure("the tables are not shared")
    }

    package func move(_ moves: [ThreadMove]) throws(StoreFault) {
        preconditionFailure("the tables are not shared")
    }

    /// None: all beginnings are in the attempt log beside the store.
    package func countUnknownBeginnings(at now: Int64) throws(StoreFault) {}

    /// Nothing: no other daemon counts attempts by these moments.
    package func forgetBeginnings() throws(StoreFault) {}
}
