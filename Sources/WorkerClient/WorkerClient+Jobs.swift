// The blocking client's commands about jobs.

extension WorkerClient {
    /// Hands in a job.
    ///
    /// - Parameters:
    ///   - thread: the name of a thread or pool, or of a pool's member.
    ///   - selector: what handles it.
    ///   - payload: what the handler gets.
    ///   - options: its priority, when it is due, how long it may run.
    /// - Returns: the job's number: from now on it is known by it.
    /// - Throws: `.daemon` with NOTHREAD, NOSELECTOR, BUSY or SHUTTINGDOWN when it was refused, or
    ///   what says that there is no connection.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has accepted it, not until it was performed.
    public func perform(
        onThread thread: String, selector: String, payload: [UInt8] = [],
        options: PerformOptions = PerformOptions()
    ) throws(WorkerClientError) -> UInt64 {
        try run(.perform(thread, selector, payload, options))
    }

    /// Hands in a job under a unique name, unless there is one of that name.
    ///
    /// - Parameters:
    ///   - name: 1 to 256 bytes; it takes the place of the name in `options`.
    ///   - thread: the name of a thread or pool, or of a pool's member.
    ///   - selector: what handles it.
    ///   - payload: what the handler gets.
    ///   - options: how the job is performed, and how long its name is in force.
    /// - Returns: the job of that name, and whether this submit made it.
    /// - Throws: as `perform`; `.daemon` with CONFLICT if the name belongs to a job with another
    ///   thread, selector or payload.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has accepted it, not until it was performed.
    public func performOnce(
        as name: [UInt8], onThread thread: String, selector: String, payload: [UInt8] = [],
        options: PerformOptions = PerformOptions()
    ) throws(WorkerClientError) -> UniqueJob {
        var options = options
        options.uniqueName = name
        return try run(.performOnce(thread, selector, payload, options))
    }

    /// Hands in a job and waits for its result.
    ///
    /// - Parameters:
    ///   - thread: the name of a thread or pool, or of a pool's member.
    ///   - selector: what handles it.
    ///   - payload: what the handler gets.
    ///   - options: its priority, when it is due, how long it may run.
    ///   - wait: how long; after that the error is `TIMEOUT`, and the job goes on.
    /// - Returns: the handler's result.
    /// - Throws: as `perform`; and `.daemon` with FAILED, TIMEOUT or CANCELLED.
    /// - Thread: any thread.
    /// - Blocks: until the job has ended.
    public func performAndWait(
        onThread thread: String, selector: String, payload: [UInt8] = [],
        options: PerformOptions = PerformOptions(), wait: JobWait = .forever
    ) throws(WorkerClientError) -> [UInt8] {
        try run(.performAndWait(thread, selector, payload, options, wait))
    }

    /// The result of a job.
    ///
    /// - Returns: nil if it has not ended.
    /// - Throws: `.daemon` with NOJOB, FAILED, TIMEOUT or CANCELLED.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func result(of id: UInt64) throws(WorkerClientError) -> [UInt8]? {
        try run(.result(id))
    }

    /// The result of a job, once it has ended.
    ///
    /// - Throws: as `result(of:)`; TIMEOUT also when it has not ended in time.
    /// - Thread: any thread.
    /// - Blocks: until the job has ended, as long as `wait` says.
    public func result(of id: UInt64, wait: JobWait) throws(WorkerClientError) -> [UInt8] {
        try run(.result(id, wait))
    }

    /// The end of the output that the program of a job has written.
    ///
    /// - Parameters:
    ///   - id: the job's number.
    ///   - attempt: the number of an attempt; nil for the latest.
    /// - Returns: nil if nothing of it is kept.
    /// - Throws: `.daemon` with NOJOB.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func output(
        of id: UInt64, attempt: Int? = nil
    ) throws(WorkerClientError) -> JobOutput? {
        try run(.output(id, attempt))
    }

    /// Takes back a job that has not begun, or asks a running one to end.
    ///
    /// - Returns: the effect of the cancel.
    /// - Throws: `.daemon` with NOJOB.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func cancel(_ id: UInt64) throws(WorkerClientError) -> CancelAnswer {
        try run(.cancel(id))
    }

    /// Takes back all jobs of a thread and selector that have not begun.
    ///
    /// - Parameters:
    ///   - thread: the name of a thread or pool, or of a pool's member.
    ///   - selector: what handles them.
    ///   - payload: only those with this payload; nil for all.
    /// - Returns: how many.
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func cancel(
        onThread thread: String, selector: String, payload: [UInt8]? = nil
    ) throws(WorkerClientError) -> Int {
        try run(.cancel(thread, selector, payload))
    }

    /// Collects a job for a thread without waking it; `fire` hands it over with the others.
    ///
    /// - Returns: the job's number.
    /// - Throws: as `perform`.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func buffer(
        onThread thread: String, selector: String, payload: [UInt8] = []
    ) throws(WorkerClientError) -> UInt64 {
        try run(.buffer(thread, selector, payload))
    }

    /// Hands over the jobs that were collected for a thread.
    ///
    /// - Returns: how many.
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func fire(_ thread: String) throws(WorkerClientError) -> Int {
        try run(.fire(thread))
    }

    /// Everything that the daemon knows of a job.
    ///
    /// - Throws: `.daemon` with NOJOB.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func job(_ id: UInt64) throws(WorkerClientError) -> JobDescription {
        try run(.job(id))
    }

    /// The payload of a job that has not ended, or has failed and is kept.
    ///
    /// - Throws: `.daemon` with NOJOB, and with ERR for a job that has ended otherwise.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func payload(of id: UInt64) throws(WorkerClientError) -> [UInt8] {
        try run(.payload(id))
    }

    /// Jobs, the newest first.
    ///
    /// - Parameters:
    ///   - thread: only those for this thread or pool.
    ///   - state: only those in this state.
    ///   - limit: at most so many; the daemon's default is 100.
    ///   - conditions: further ones, and from where on.
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func jobs(
        thread: String? = nil, state: JobSummary.State? = nil, limit: Int? = nil,
        where conditions: JobConditions = JobConditions()
    ) throws(WorkerClientError) -> [JobSummary] {
        try run(.jobs(thread, state, limit, conditions))
    }
}
