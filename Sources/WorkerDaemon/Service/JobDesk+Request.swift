// What a client asks for with a job, before it is one.

internal import Jobs

extension JobDesk {
    /// What a client asks for.
    struct Request {
        var thread: String
        var selector: String
        var payload: [UInt8]
        var priority = Priority.normal
        /// When it is due, in Unix milliseconds; nil is now.
        var dueAt: Int64?
        /// Whether that is a time of the clock on the wall, however it is set; else a while is to pass.
        var goesByClock = false
        var timeoutMilliseconds: Int?
        /// Whether the journal is passed by.
        var isVolatile = false
        /// How many further attempts follow one that failed; nil is as many as its selector has.
        var retryCountMax: Int?
        /// Whether what follows in its order waits meanwhile; nil is as its selector says.
        var retryBlocks: Bool?
        /// What it has in common with those whose order counts.
        var key: [UInt8]?
        /// What no other job may be called that this daemon was given lately; nil for none.
        var uniqueName: [UInt8]?
        /// The attempts of before that do not count any more.
        var forgivenCount = 0

        /// How it is tried again: as its client says, else as its selector does.
        func retryPlan(for handler: Handler) -> RetryPlan {
            RetryPlan(
                countMax: retryCountMax ?? handler.retries.count,
                blocks: retryBlocks ?? handler.retries.areBlocking, forgivenCount: forgivenCount)
        }

        /// The job that it becomes.
        func job(
            _ id: JobID, hold: Bool, _ retry: RetryPlan, acceptedAt: Int64
        ) -> Job {
            Job(
                id: id, thread: thread, selector: selector, payload: payload, priority: priority,
                schedule: hold ? .buffered : dueAt.map { .at($0) } ?? .now,
                timeoutMilliseconds: timeoutMilliseconds.map { Int64($0) },
                retryCountMax: retry.countMax, key: key, retryBlocks: retry.blocks,
                acceptedAt: acceptedAt)
        }
    }

    /// A job that begins its way over the desk.
    func liveJob(
        _ id: JobID, of request: Request, _ handler: Handler, _ lane: Lane, _ retry: RetryPlan,
        attempt: Int = 1, backlog: Backlog? = nil
    ) -> LiveJob {
        let context = JobContext(
            id: id.number, selector: request.selector, payload: request.payload,
            attempt: attempt,
            timeout: request.timeoutMilliseconds.map { .milliseconds($0) } ?? handler.timeout,
            order: order(of: request, lane, retry))
        let job = LiveJob(
            id, context, handler, for: request.thread, of: lane, priority: request.priority,
            key: request.key, backlog: backlog)
        job.goesByClock = request.goesByClock
        return job
    }
}
