// The contents of a store at its opening. Its jobs are counted in small parts while jobs are
// served, so that no client waits for a million rows. Until then, counts of waiting jobs are lower
// bounds.

/// The contents of a store at its opening.
package struct StoreRecovery: Sendable {
    /// The count of numbers reserved in advance: those of volatile jobs leave no other trace.
    package static let reservedCount: UInt64 = 20_000

    package var nextNumber: UInt64 = 1
    /// Numbers below this one are reserved, so that none is given again after a crash.
    package var reservedBelow: UInt64 = 1
    /// The queues that have jobs.
    package var queues: Set<QueueName> = []
    /// The jobs that hold up others between two attempts.
    package var blockers: [Job] = []
    /// The jobs that workers of an earlier run may still hold.
    package var held: [HeldJob] = []
    /// How far the jobs were counted at the opening, and the first counted part.
    package var stock = RecoveryCount()
    package var part = RecoveryCount.Part(isLast: true)
    package var schedules: [ScheduleRecord] = []
    /// When the first job expires; nil if none can.
    package var nextExpiry: Int64?
    /// The paused threads, and the pools that are paused as a whole.
    package var pausedThreads: Set<String> = []
    /// The number of running jobs that had been asked to end, and have ended with the crash.
    package var endedCount = 0

    /// Nothing, as in a new store.
    package init() {}
}

/// The progress of counting the jobs that were in the file at its opening.
///
/// The scheduler and the store each have one. Answers keep their order, so both agree at each
/// answer.
package struct RecoveryCount: Sendable {
    /// A counted part.
    package struct Part: Sendable {
        /// Parked jobs by their queues and states.
        package var amounts: [QueueName: [JobState: JobAmount]] = [:]
        /// Parked jobs of unserved selectors, which `amounts` leaves out, by selector and state.
        package var unserved: [QueueName: [String: [JobState: JobAmount]]] = [:]
        /// The last counted number.
        package var through: UInt64 = 0
        /// Whether this is the last part.
        package var isLast: Bool

        package init(isLast: Bool = false) { self.isLast = isLast }
    }

    /// The largest job number at the opening.
    package let last: UInt64
    package private(set) var through: UInt64 = 0
    package private(set) var isComplete: Bool

    /// - Parameter last: the largest job number; 0 for none.
    package init(last: UInt64 = 0) {
        self.last = last
        isComplete = last == 0
    }

    /// Whether a job has been counted.
    package func includes(_ id: JobID) -> Bool {
        isComplete || id.number <= through || id.number > last
    }

    /// A part has been counted.
    package mutating func add(_ part: Part) {
        through = part.through
        isComplete = part.isLast
    }
}
