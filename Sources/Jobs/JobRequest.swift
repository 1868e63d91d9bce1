// What somebody asks for: a job before it has an id.

/// Asks for a handler to be run on a thread.
package struct JobRequest: Hashable, Sendable {
    /// When the job may begin.
    package enum Schedule: Hashable, Sendable {
        /// As soon as its thread gets to it.
        case now
        /// Not before this moment, in Unix milliseconds.
        case at(Int64)
        /// When its thread's buffer is fired.
        case buffered
    }

    /// The thread or pool that it is for.
    package var thread: String

    /// The name of the handler.
    package var selector: String

    /// What the handler is given.
    package var payload: [UInt8]

    /// Its lane while it waits.
    package var priority: Priority

    /// When it may begin.
    package var schedule: Schedule

    /// How long one attempt may take; `nil` for as long as it likes.
    package var timeoutMilliseconds: Int64?

    /// How many further attempts follow one that failed.
    package var retryCountMax: Int

    /// What it has in common with those whose order counts; `nil` for none.
    package var key: [UInt8]?

    /// Whether what follows in its order waits until a failed attempt was made good.
    package var retryBlocks: Bool

    /// Asks for `selector` to be run on `thread`, by default once, now and for as long as it takes.
    package init(
        thread: String, selector: String, payload: [UInt8] = [], priority: Priority = .normal,
        schedule: Schedule = .now, timeoutMilliseconds: Int64? = nil, retryCountMax: Int = 0,
        key: [UInt8]? = nil, retryBlocks: Bool = false
    ) {
        self.thread = thread
        self.selector = selector
        self.payload = payload
        self.priority = priority
        self.schedule = schedule
        self.timeoutMilliseconds = timeoutMilliseconds
        self.retryCountMax = retryCountMax
        self.key = key
        self.retryBlocks = retryBlocks
    }
}
