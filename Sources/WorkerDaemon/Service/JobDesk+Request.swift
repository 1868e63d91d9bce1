// From what a client asks for to a job that goes over the desk.

internal import Jobs

extension JobRequest {
    /// Has it tried again as its selector says, where its client has not.
    mutating func fill(from retries: Retries) {
        options.retryCountMax = options.retryCountMax ?? retries.count
        options.retryBlocks = options.retryBlocks ?? retries.areBlocking
    }
}

extension JobDesk {
    /// A job that goes over the desk, or goes on there.
    func liveJob(
        _ job: borrowing Job, _ handler: Handler, _ lane: Lane, backlog: Backlog? = nil
    ) -> LiveJob {
        let retry = RetryPlan(
            countMax: job.retryCountMax, blocks: job.retryBlocks, forgivenCount: job.forgivenCount)
        let context = JobContext(
            id: job.id.number, selector: job.selector, payload: job.payload,
            attempt: job.attempt + 1,
            timeout: job.timeoutMilliseconds.map { .milliseconds($0) } ?? handler.timeout,
            order: order(of: job, lane, retry))
        let made = LiveJob(
            job.id, context, handler, for: job.thread, of: lane, priority: job.priority,
            key: job.key, backlog: backlog)
        made.goesByClock = job.goesByClock
        return made
    }
}
