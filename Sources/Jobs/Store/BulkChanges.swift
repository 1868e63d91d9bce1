// Changes of many jobs with one command: part by part, each a transaction of its own, so that
// others have their turn in between and one part at a time is in memory.

// MARK: - Buffered jobs

/// A FIRE command's work: the buffered jobs to release, and the size of a part.
package struct ReleaseBatch: Sendable {
    /// The queues whose jobs are released, one after another.
    package var queues: [QueueName]
    /// Of the first queue, jobs up to this one have been released.
    package var after = JobID(0)
    /// The end of the released numbers: later jobs were buffered after the command.
    package let before: JobID
    /// When the released jobs are due, in Unix milliseconds.
    package let moment: Int64
    /// Whether the answer waits for the disk: for parts after the first, one sync at the end is
    /// enough.
    package var isSynced = true
    /// The most jobs that a part releases.
    package let countMax: Int
    /// How many of them come with the answer, and their largest total size.
    package var loadCountMax = 1
    package var loadByteCountMax = 1

    package init(queues: [QueueName], before: JobID, moment: Int64, countMax: Int) {
        self.queues = queues
        self.before = before
        self.moment = moment
        self.countMax = countMax
    }

    /// The place in a queue after which this part releases jobs.
    package func place(of queue: QueueName) -> DueKey {
        DueKey(dueAt: moment, id: queue == queues.first ? after : JobID(0))
    }
}

/// The result of a part of a FIRE command.
package struct BufferRelease: Sendable {
    package var count = 0
    /// The released jobs that had been counted, by queue and selector.
    package var counted: [QueueName: [String: JobAmount]] = [:]
    /// The remaining work; nil if it is done.
    package var rest: ReleaseBatch?

    package init() {}
}

// MARK: - Cancelling

/// The jobs of a thread that a bulk CANCEL applies to.
package struct CancelFilter: Sendable {
    package let selector: String
    /// Only jobs with this payload; nil for all.
    package let payload: [UInt8]?
    /// The end of the cancelled numbers: later jobs were accepted after the command.
    package let before: JobID
    /// Whether the selector is unserved: then none of its jobs is in memory.
    package let isUnserved: Bool
    /// Jobs that are left out, because they had begun by then.
    package var begun: Set<JobID> = []

    package init(selector: String, payload: [UInt8]?, before: JobID, isUnserved: Bool) {
        self.selector = selector
        self.payload = payload
        self.before = before
        self.isUnserved = isUnserved
    }

    package func means(_ job: Job) -> Bool {
        job.id < before && job.selector == selector && (payload == nil || job.payload == payload)
            && !begun.contains(job.id)
    }
}

/// A bulk CANCEL's work in the store: the parked jobs to cancel, and the size of a part.
package struct BulkCancelPart: Sendable {
    /// A place that may have some of the jobs.
    package struct Place: Sendable {
        package let queue: QueueName
        /// Waiting, buffered or delayed.
        package let state: JobState
    }

    package let filter: CancelFilter
    /// The places still to be scanned, in order.
    package var places: [Place]
    /// The last scanned job of the first place.
    package var after = DueKey.first
    package let countMax: Int
    /// The size of payloads in total after which a part ends.
    package let byteCountMax: Int

    package init(filter: CancelFilter, places: [Place], countMax: Int, byteCountMax: Int) {
        self.filter = filter
        self.places = places
        self.countMax = countMax
        self.byteCountMax = byteCountMax
    }

    /// The jobs of some queues, in all states.
    ///
    /// Delayed jobs are scanned after buffered ones, so that jobs fired meanwhile are found too.
    package static func places(of queues: [QueueName]) -> [Place] {
        queues.flatMap { queue in
            [JobState.waiting, .buffered, .delayed].map { Place(queue: queue, state: $0) }
        }
    }
}

/// The result of a part of a bulk CANCEL.
package struct BulkCancelAnswer: Sendable {
    package var jobs: [QueueName: [CountedJob]] = [:]
    /// The remaining work; nil if it is done.
    package var rest: BulkCancelPart?

    package init() {}
}

// MARK: - Failed jobs

/// The failed jobs that a command names.
package enum FailedJobs: Sendable {
    case one(JobID)
    /// All failed jobs of a selector.
    case all(selector: String)
}

/// The action of RETRY or DROP on failed jobs.
package enum FailedJobAction: Sendable {
    /// They run again, if their selector and thread are served.
    case runAgain(isServed: @Sendable (Job) -> Bool)
    case drop
}

/// A part of a RETRY or DROP command: its failed jobs, and its size.
package struct FailedJobsPart: Sendable {
    /// The last job that has been resolved.
    package var after = JobID(0)
    /// The end of the resolved numbers: later jobs were accepted after the command.
    package let before: JobID
    package let countMax: Int
    /// When retried jobs are due, in Unix milliseconds.
    package let moment: Int64
    /// The size of retried payloads in total after which a part ends.
    package let byteCountMax: Int
    /// Whether the answer waits for the disk: for parts after the first, one sync at the end is
    /// enough.
    package var isSynced = true

    package init(before: JobID, moment: Int64, countMax: Int, byteCountMax: Int) {
        self.before = before
        self.moment = moment
        self.countMax = countMax
        self.byteCountMax = byteCountMax
    }
}

/// A failed job that was dropped.
package struct DroppedJob: Sendable, Equatable {
    package let id: JobID
    /// The name of its thread or pool, as people see it.
    package let thread: String
    package let selector: String

    /// - Parameter slot: the name of its thread, pool or slot.
    package init(id: JobID, slot: String, selector: String) {
        self.id = id
        thread = PoolSlot.shown(slot)
        self.selector = selector
    }
}

/// The result of a part of a RETRY or DROP command.
package struct FailedJobsAnswer: Sendable {
    /// The jobs that run again.
    package var jobs: [Job] = []
    /// The jobs that were dropped.
    package var dropped: [DroppedJob] = []
    /// The named job, if it could not be resolved.
    package var other: Job?
    /// The last scanned job, if there may be more after it.
    package var last: JobID?

    package init() {}
}
