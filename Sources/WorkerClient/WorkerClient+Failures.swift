// The blocking client's commands about failed jobs, and about many jobs at once.

extension WorkerClient {
    /// Lets a job that has failed run again.
    ///
    /// - Throws: `.daemon` with NOJOB, ERR if it has not failed, NOTHREAD, NOSELECTOR, BUSY.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func retry(_ id: UInt64) throws(WorkerClientError) {
        _ = try run(.failed("RETRY", id))
    }

    /// Lets all jobs of a selector run again that have failed.
    ///
    /// - Returns: how many.
    /// - Throws: `.daemon` with NOSELECTOR or BUSY.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func retryAll(ofSelector selector: String) throws(WorkerClientError) -> Int {
        try run(.failed("RETRY", allOf: selector))
    }

    /// Forgets a job that has failed.
    ///
    /// - Throws: `.daemon` with NOJOB, ERR if it has not failed, BUSY.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func drop(_ id: UInt64) throws(WorkerClientError) {
        _ = try run(.failed("DROP", id))
    }

    /// Forgets all jobs of a selector that have failed.
    ///
    /// - Returns: how many.
    /// - Throws: `.daemon` with BUSY.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func dropAll(ofSelector selector: String) throws(WorkerClientError) -> Int {
        try run(.failed("DROP", allOf: selector))
    }

    /// Counts the jobs on which an operation would be taken.
    ///
    /// - Parameters:
    ///   - operation: what would be done, or is to be done.
    ///   - thread: a thread or pool; nil for all.
    ///   - state: one state; nil for all that the operation is for.
    ///   - conditions: further conditions; order, numbers and failures are passed over.
    /// - Throws: `.daemon` with NOTHREAD, or ERR if there is no condition at all.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func count(
        of operation: BulkOperation, thread: String? = nil, state: JobSummary.State? = nil,
        where conditions: JobConditions = JobConditions()
    ) throws(WorkerClientError) -> BulkCount {
        try run(.count(operation, thread, state, conditions))
    }

    /// Begins an operation on all jobs that meet conditions, which the daemon carries out.
    ///
    /// - Parameters:
    ///   - operation: what would be done, or is to be done.
    ///   - thread: a thread or pool; nil for all.
    ///   - state: one state; nil for all that the operation is for.
    ///   - conditions: further conditions; order, numbers and failures are passed over.
    ///   - upTo: the largest number of a job that is meant; nil for the largest that there is.
    ///   - limit: the most jobs; nil for all.
    /// - Throws: `.daemon` with NOTHREAD, ERR if there is no condition at all, BUSY.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func begin(
        _ operation: BulkOperation, thread: String? = nil, state: JobSummary.State? = nil,
        where conditions: JobConditions = JobConditions(), upTo: UInt64? = nil, limit: Int? = nil
    ) throws(WorkerClientError) -> BulkDescription {
        try run(.begin(operation, thread, state, conditions, upTo: upTo, limit: limit))
    }

    /// How far an operation on many jobs has come.
    ///
    /// - Parameters:
    ///   - id: the number of the run.
    ///   - patience: how long the daemon waits for its end before it answers; nil if it answers at
    ///     once.
    /// - Throws: `.daemon` with NOJOB.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func bulkRun(
        _ id: Int, waiting patience: Duration? = nil
    ) throws(WorkerClientError) -> BulkDescription {
        try run(.bulkStatus(id, patience))
    }

    /// Ends an operation on many jobs before its next jobs.
    ///
    /// - Throws: `.daemon` with NOJOB.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func stopBulkRun(_ id: Int) throws(WorkerClientError) -> BulkDescription {
        try run(.stopBulk(id))
    }

    /// The operations on many jobs, the newest first.
    ///
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func bulkRuns() throws(WorkerClientError) -> [BulkDescription] { try run(.bulkRuns) }

    /// The failed jobs in groups, the largest first.
    ///
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func failures(
        thread: String? = nil, where conditions: JobConditions = JobConditions()
    ) throws(WorkerClientError) -> [FailureGroup] {
        try run(.failures(thread, conditions))
    }
}
