// From what a client asks for to a job that goes over the desk.

internal import Jobs

extension JobRequest {
    /// Says what its selector says, where its client has not.
    mutating func fill(from handler: Handler) {
        guard !handler.defaults.isEmpty else { return }
        // Mostly the client says nothing, and all jobs of the selector share what that says.
        guard !options.isEmpty else { return options = handler.defaults }
        var filled = options.value
        filled.fill(from: handler.defaults.value)
        options = SharedJobOptions(filled)
    }
}

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
            id: job.id.number, selector: job.selector, payload: job.payload,
            attempt: job.attempt + 1, options: job.request.options,
            expiresAt: job.expiresAt ?? .max, retry: retry)
        let made = LiveJob(
            job.id, context, handler, for: job.thread, of: lane, priority: job.priority,
            key: job.key, orders: orders, backlog: backlog)
        made.goesByClock = job.goesByClock
        if let expiresAt = job.expiresAt { watchExpiry(of: made, at: expiresAt) }
        return made
    }
}
