// What somebody asks for: a job before it has an id. One value from the door to the store.

/// Asks for a handler to be run on a thread.
package struct JobRequest: Hashable, Sendable {
    /// When the job may begin.
    package enum Schedule: Hashable, Sendable {
        /// As soon as its thread gets to it.
        case now
        /// Not before this moment, in Unix milliseconds.
        ///
        /// By the clock: a time of the clock on the wall, however that is set. Else a while is to
        /// pass.
        case at(Int64, byClock: Bool = true)
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

    /// All else that can be said about a job.
    package var options: SharedJobOptions

    /// What no other job may be called that was accepted lately; `nil` for nothing.
    package var unique: UniqueName?

    /// Whether it is in memory only, also where a store keeps jobs.
    package var isVolatile = false

    /// Asks for `selector` to be run on `thread`, by default once, now and for as long as it takes.
    package init(
        thread: String, selector: String, payload: [UInt8] = [], priority: Priority = .normal,
        schedule: Schedule = .now, options: SharedJobOptions = SharedJobOptions()
    ) {
        self.thread = thread
        self.selector = selector
        self.payload = payload
        self.priority = priority
        self.schedule = schedule
        self.options = options
    }

    /// The same with options that are said here.
    package init(
        thread: String, selector: String, payload: [UInt8] = [], priority: Priority = .normal,
        schedule: Schedule = .now, options: JobOptions
    ) {
        self.init(
            thread: thread, selector: selector, payload: payload, priority: priority,
            schedule: schedule, options: SharedJobOptions(options))
    }

    /// The moment before which it may not begin; `nil` if none was given.
    package var dueAt: Int64? {
        guard case .at(let moment, _) = schedule else { return nil }
        return moment
    }
}
