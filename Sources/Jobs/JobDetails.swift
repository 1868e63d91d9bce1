// What does not change about a job. Most jobs of a client are alike but for their payloads, so this
// is shared: by all that know a job, and by jobs that are alike, which is one reference where there
// were six values.

/// What was asked for with a job, but for its payload and when it may begin.
package final class JobDetails: Hashable, Sendable {
    /// The thread or pool that it is for.
    package let thread: String
    /// The name of the handler.
    package let selector: String
    /// Its lane while it waits.
    package let priority: Priority
    /// Whether it is in memory only, also where a store keeps jobs.
    package let isVolatile: Bool
    /// All else that was said.
    package let options: SharedJobOptions

    /// What a request says.
    ///
    /// - Parameters:
    ///   - selector: what the selector says where the client does not.
    ///   - uniqueUntil: until when its unique name holds.
    package init(
        _ request: borrowing JobRequest, defaults selector: SharedJobOptions = SharedJobOptions(),
        uniqueUntil: Int64? = nil
    ) {
        thread = request.thread
        self.selector = request.selector
        priority = request.priority
        isVolatile = request.isVolatile
        guard !request.options.isEmpty || !selector.isEmpty || uniqueUntil != nil else {
            options = request.options
            return
        }
        var said = request.options.value
        said.fill(from: selector.value)
        // From now on, not said is the same.
        if said.retryCountMax == 0 { said.retryCountMax = nil }
        if said.retryBlocks == false { said.retryBlocks = nil }
        if let uniqueUntil { said.uniqueUntil = uniqueUntil }
        options = SharedJobOptions(said)
    }

    /// Whether these are those of a request for which its client says no more, if its selector says
    /// the same.
    package func areThose(of request: borrowing JobRequest) -> Bool {
        request.options.isEmpty && request.unique == nil && thread == request.thread
            && selector == request.selector && priority == request.priority
            && isVolatile == request.isVolatile
    }

    package static func == (left: JobDetails, right: JobDetails) -> Bool {
        left === right
            || left.thread == right.thread && left.selector == right.selector
                && left.priority == right.priority && left.isVolatile == right.isVolatile
                && left.options == right.options
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(thread)
        hasher.combine(selector)
    }
}
