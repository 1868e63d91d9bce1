// The unchanging part of a job. Most jobs of a client differ only in their payloads, so they share
// these details: one reference in place of six values.

/// The request of a job, without its payload and its time.
package final class JobDetails: Hashable, Sendable {
    /// The thread or pool that runs the job.
    package let thread: String
    /// The name under which it waits: that of its slot if the pool is spread, else the thread's.
    package let slot: String
    /// The name of the handler.
    package let selector: String
    /// The job's lane while it waits.
    package let priority: Priority
    /// Whether the job is in memory only, even if a store keeps jobs.
    package let isVolatile: Bool
    /// The options of the job.
    package let options: SharedJobOptions

    /// Makes the details of a request.
    ///
    /// - Parameters:
    ///   - selector: the selector's options, for those that the client leaves out.
    ///   - uniqueUntil: the moment until which its unique name is in force.
    package init(
        _ request: borrowing JobRequest, defaults selector: SharedJobOptions = SharedJobOptions(),
        uniqueUntil: Int64? = nil
    ) {
        slot = request.thread
        thread = PoolSlot.shown(request.thread)
        self.selector = request.selector
        priority = request.priority
        isVolatile = request.isVolatile
        // Mostly there is nothing to add or to change, and they are shared with the request.
        guard
            !selector.isEmpty || uniqueUntil != nil || request.options.retryCountMax == 0
                || request.options.retryBlocks == false
        else {
            options = request.options
            return
        }
        var said = request.options.value
        said.fill(from: selector.value)
        // From here on, an omitted option and its default are the same.
        if said.retryCountMax == 0 { said.retryCountMax = nil }
        if said.retryBlocks == false { said.retryBlocks = nil }
        if let uniqueUntil { said.uniqueUntil = uniqueUntil }
        options = SharedJobOptions(said)
    }

    /// Whether a request with the same options would have these details, under the same selector.
    package func areThose(of request: borrowing JobRequest) -> Bool {
        slot == request.thread && selector == request.selector && priority == request.priority
            && isVolatile == request.isVolatile
    }

    package static func == (left: JobDetails, right: JobDetails) -> Bool {
        left === right
            || left.slot == right.slot && left.selector == right.selector
                && left.priority == right.priority && left.isVolatile == right.isVolatile
                && left.options == right.options
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(thread)
        hasher.combine(selector)
    }
}
