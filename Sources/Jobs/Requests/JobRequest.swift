// A client's request: a job before it has an id. One value from the door to the store.

/// Asks for a handler to be run on a thread.
package struct JobRequest: Hashable, Sendable {
    /// When the job may begin.
    package enum Schedule: Hashable, Sendable {
        /// As soon as its thread gets to it.
        case now
        /// Not before this moment, in Unix milliseconds.
        ///
        /// By the clock: at a time of the wall clock, however that is set. Else after a period.
        case at(Int64, byClock: Bool = true)
        /// When its thread's buffer is fired.
        case buffered
    }

    /// The thread or pool that runs it, or a slot of a spread pool.
    package var thread: String

    /// The name of the handler.
    package var selector: String

    /// The handler's input.
    package var payload: [UInt8]

    /// Its lane while it waits.
    package var priority: Priority

    /// The time at which it may begin.
    package var schedule: Schedule

    /// The options of the job.
    package var options: SharedJobOptions

    /// The unique name: no other recent job may have it; `nil` for none.
    package var unique: UniqueName?

    /// Whether it is in memory only, even if a store keeps jobs.
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

    /// Asks for the same with single options as arguments.
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
