// The asynchronous client's commands about jobs.

internal import RESP

/// A job that was sent, and whose number is still to come.
package struct SentPerform: Sendable {
    fileprivate let call: Call<UInt64>
    fileprivate let pending: PendingReply

    /// The job's number; to be asked for once.
    ///
    /// - Throws: as `perform`.
    /// - Thread: any task.
    package func id() async throws -> UInt64 {
        let reply = try await withCheckedThrowingContinuation { continuation in
            if let early = pending.wait({ continuation.resume(with: $0) }) {
                continuation.resume(with: early)
            }
        }
        return try call.value(of: reply)
    }
}

extension AsyncWorkerClient {
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
    /// - Thread: any task.
    public func perform(
        onThread thread: String, selector: String, payload: [UInt8] = [],
        options: PerformOptions = PerformOptions()
    ) async throws -> UInt64 {
        try await run(.perform(thread, selector, payload, options))
    }

    /// Sends a job at once; its number can be waited for later.
    ///
    /// The daemon gets jobs in the order of these calls, whichever task waits first.
    ///
    /// - Throws: `.tooManyOutstanding`, or why the client is over.
    /// - Thread: any thread.
    /// - Blocks: never.
    package func startPerform(
        onThread thread: String, selector: String, payload: [UInt8], options: PerformOptions
    ) throws(WorkerClientError) -> SentPerform {
        let call = Call.perform(thread, selector, payload, options)
        return SentPerform(call: call, pending: try send(call))
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
    /// - Thread: any task.
    public func performOnce(
        as name: [UInt8], onThread thread: String, selector: String, payload: [UInt8] = [],
        options: PerformOptions = PerformOptions()
    ) async throws -> UniqueJob {
        var options = options
        options.uniqueName = name
        return try await run(.performOnce(thread, selector, payload, options))
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
    /// - Thread: any task.
    public func performAndWait(
        onThread thread: String, selector: String, payload: [UInt8] = [],
        options: PerformOptions = PerformOptions(), wait: JobWait = .forever
    ) async throws -> [UInt8] {
        try await run(.performAndWait(thread, selector, payload, options, wait))
    }

    /// The result of a job.
    ///
    /// - Returns: nil if it has not ended.
    /// - Throws: `.daemon` with NOJOB, FAILED, TIMEOUT or CANCELLED.
    /// - Thread: any task.
    public func result(of id: UInt64) async throws -> [UInt8]? {
        try await run(.result(id))
    }

    /// The result of a job, once it has ended.
    ///
    /// - Throws: as `result(of:)`; TIMEOUT also when it has not ended in time.
    /// - Thread: any task.
    public func result(of id: UInt64, wait: JobWait) async throws -> [UInt8] {
        try await run(.result(id, wait))
    }

    /// The end of the output that the program of a job has written.
    ///
    /// - Parameters:
    ///   - id: the job's number.
    ///   - attempt: the number of an attempt; nil for the latest.
    /// - Returns: nil if nothing of it is kept.
    /// - Throws: `.daemon` with NOJOB.
    /// - Thread: any task.
    public func output(of id: UInt64, attempt: Int? = nil) async throws -> JobOutput? {
        try await run(.output(id, attempt))
    }

    /// Takes back a job that has not begun, or asks a running one to end.
    ///
    /// - Returns: the effect of the cancel.
    /// - Throws: `.daemon` with NOJOB.
    /// - Thread: any task.
    public func cancel(_ id: UInt64) async throws -> CancelAnswer {
        try await run(.cancel(id))
    }

    /// Takes back all jobs of a thread and selector that have not begun.
    ///
    /// - Parameters:
    ///   - thread: the name of a thread or pool, or of a pool's member.
    ///   - selector: what handles them.
    ///   - payload: only those with this payload; nil for all.
    /// - Returns: how many.
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any task.
    public func cancel(
        onThread thread: String, selector: String, payload: [UInt8]? = nil
    ) async throws -> Int {
        try await run(.cancel(thread, selector, payload))
    }

    /// Collects a job for a thread without waking it; `fire` hands it over with the others.
    ///
    /// - Returns: the job's number.
    /// - Throws: as `perform`.
    /// - Thread: any task.
    public func buffer(
        onThread thread: String, selector: String, payload: [UInt8] = []
    ) async throws -> UInt64 {
        try await run(.buffer(thread, selector, payload))
    }

    /// Hands over the jobs that were collected for a thread.
    ///
    /// - Returns: how many.
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any task.
    public func fire(_ thread: String) async throws -> Int {
        try await run(.fire(thread))
    }

    /// Everything that the daemon knows of a job.
    ///
    /// - Throws: `.daemon` with NOJOB.
    /// - Thread: any task.
    public func job(_ id: UInt64) async throws -> JobDescription {
        try await run(.job(id))
    }

    /// The payload of a job that has not ended, or has failed and is kept.
    ///
    /// - Throws: `.daemon` with NOJOB, and with ERR for a job that has ended otherwise.
    /// - Thread: any task.
    public func payload(of id: UInt64) async throws -> [UInt8] {
        try await run(.payload(id))
    }

    /// Jobs, the newest first.
    ///
    /// - Parameters:
    ///   - thread: only those for this thread or pool.
    ///   - state: only those in this state.
    ///   - limit: at most so many; the daemon's default is 100.
    ///   - conditions: further ones, and from where on.
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any task.
    public func jobs(
        thread: String? = nil, state: JobSummary.State? = nil, limit: Int? = nil,
        where conditions: JobConditions = JobConditions()
    ) async throws -> [JobSummary] {
        try await run(.jobs(thread, state, limit, conditions))
    }
}
