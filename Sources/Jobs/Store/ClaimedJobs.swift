// A thread that a scheduler takes over, as its store tells it; and the moves of threads between the
// schedulers that share a store.

/// The stored jobs of a claimed thread, as far as its owner has to know them.
package struct ClaimedJobs: Sendable {
    /// The jobs that hold up others between two attempts.
    package var blockers: [Job]
    /// The news about its jobs; nil if no other scheduler can have had them.
    package var taken: TakenJobs?

    package init(blockers: [Job] = [], taken: TakenJobs? = nil) {
        self.blockers = blockers
        self.taken = taken
    }
}

/// The stored jobs of a thread that another scheduler may have had: all that was known of them is
/// replaced by this.
package struct TakenJobs: Sendable {
    package let thread: String
    /// The jobs that have not ended, by queue, selector and state.
    package var counts: [QueueName: [String: [JobState: JobAmount]]] = [:]
    /// The jobs that workers of an earlier owner may still hold.
    package var held: [HeldJob] = []
    /// When the first job of all owned threads expires; nil if none can.
    package var nextExpiry: Int64?
    /// Whether the thread is paused.
    package var isPaused = false
    /// The schedules of the thread.
    package var schedules: [ScheduleRecord] = []
    /// New jobs have numbers from this one on: it is larger than that of any job of the thread.
    package var nextNumber: UInt64 = 0

    package init(of thread: String) { self.thread = thread }
}

/// A thread or pool that passes from one seat of a store to another.
package struct ThreadMove: Sendable, Equatable {
    /// The name of the thread or pool.
    package let thread: String
    /// The seat that has it; its daemon gives the thread away, or has ended.
    package let from: Int64
    package let to: Int64
    /// The session in which its daemon looked and decided the move (`ThreadPlaces.session`).
    package var session: Int

    package init(_ thread: String, from: Int64, to: Int64, session: Int = 0) {
        self.thread = thread
        self.from = from
        self.to = to
        self.session = session
    }
}
