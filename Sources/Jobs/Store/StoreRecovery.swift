// What a store knew when it was opened. What it holds is counted in small parts while jobs are
// served: nobody has to wait for a million rows. Until that is done, what is told of waiting jobs
// is "at least".

/// What was in a store when it was opened.
package struct StoreRecovery: Sendable {
    /// Numbers that are kept back in advance: those of volatile jobs leave no other trace.
    package static let reservedCount: UInt64 = 20_000

    package var nextNumber: UInt64 = 1
    /// Numbers below this one are kept back, so that none is given again after a crash.
    package var reservedBelow: UInt64 = 1
    /// The queues that have jobs.
    package var queues: Set<QueueName> = []
    /// The jobs that hold up others between two attempts.
    package var blockers: [Job] = []
    /// How far they had been counted before, and the first of them.
    package var stock = RecoveryCount()
    package var part = RecoveryCount.Part(isLast: true)
    package var schedules: [ScheduleRecord] = []
    /// When the first job ends that has not begun by then; nil if there is none.
    package var nextExpiry: Int64?
    /// The threads that were paused, and the pools that were as a whole.
    package var pausedThreads: Set<String> = []
    /// How many jobs were asked to end and had not, and now have.
    package var endedCount = 0

    /// Nothing: what a new store holds.
    package init() {}
}

/// How far the jobs of before have been counted.
///
/// The scheduler and the store each have one. Answers keep their order, so both say the same of the
/// same moment.
package struct RecoveryCount: Sendable {
    /// What has been counted at once.
    package struct Part: Sendable {
        /// Parked jobs by their queues and states.
        package var amounts: [QueueName: [JobState: JobAmount]] = [:]
        /// Those of selectors that nobody serves, which are not among them, by their selectors.
        package var unserved: [QueueName: [String: JobAmount]] = [:]
        /// The last number of it.
        package var through: UInt64 = 0
        /// Whether there is no more.
        package var isLast: Bool

        package init(isLast: Bool = false) { self.isLast = isLast }
    }

    /// The largest number of before.
    package let last: UInt64
    package private(set) var through: UInt64 = 0
    package private(set) var isComplete: Bool

    /// - Parameter last: the largest number that there is; 0 for none.
    package init(last: UInt64 = 0) {
        self.last = last
        isComplete = last == 0
    }

    /// Whether a job is among what has been counted.
    package func includes(_ id: JobID) -> Bool {
        isComplete || id.number <= through || id.number > last
    }

    /// A part has been counted.
    package mutating func add(_ part: Part) {
        through = part.through
        isComplete = part.isLast
    }
}
