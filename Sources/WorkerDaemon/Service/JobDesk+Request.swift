// From what a client asks for to a job that goes over the desk.

internal import Jobs

extension JobDesk {
    /// A job that goes over the desk, or goes on there.
    func liveJob(
        _ job: borrowing Job, _ handler: Handler, _ lane: Lane, backlog: Backlog? = nil
    ) -> LiveJob {
        let orders = orders.orders(
            thread: job.thread, isForOne: lane.isOneThread(job.thread), key: job.key)
        let retry = RetryPlan(
            countMax: job.retryCountMax, blocks: job.retryBlocks && orders.own != nil,
            forgivenCount: job.forgivenCount)
        let context = JobContext(
            id: job.id.number, job.details, payload: job.payload, attempt: job.attempt + 1,
            expiresAt: job.expiresAt ?? .max, retry: retry)
        let made = LiveJob(
            job.id, context, handler, of: lane, orders: orders, backlog: backlog)
        made.goesByClock = job.goesByClock
        if let expiresAt = job.expiresAt { watchExpiry(of: made, at: expiresAt) }
        return made
    }
}
