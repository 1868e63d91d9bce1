// Changes of many jobs with one command: part by part, each a transaction of its own, so that
// others have their turn in between and memory holds one part at a time.

// MARK: - Buffered jobs

/// Buffered jobs that are to be let go, and how many of them at once.
package struct ReleaseBatch: Sendable {
    /// Whose jobs, one queue after another.
    package var queues: [QueueName]
    /// Of the first queue, those up to this one have been let go.
    package var after = JobID(0)
    /// None that was buffered later than the command came.
    package let before: JobID
    /// When they are due, in Unix milliseconds.
    package let moment: Int64
    /// Whether its answer waits for the disk: behind the first batch, one sync at the end does for
    /// all.
    package var isSynced = true
    /// How many are let go at once.
    package let countMax: Int
    /// How many of them come with the answer, and how large they may be together.
    package var loadCountMax = 1
    package var loadByteCountMax = 1

    package init(queues: [QueueName], before: JobID, moment: Int64, countMax: Int) {
        self.queues = queues
        self.before = before
        self.moment = moment
        self.countMax = countMax
    }

    /// Behind which place the jobs of a queue are that this batch lets go.
    package func place(of queue: QueueName) -> DueKey {
        DueKey(dueAt: moment, id: queue == queues.first ? after : JobID(0))
    }
}

/// What a batch has let go.
package struct BufferRelease: Sendable {
    package var count = 0
    /// Of those that had been counted, by the queues that it came to.
    package var counted: [QueueName: JobAmount] = [:]
    /// What is left to do; nil if nothing is.
    package var rest: ReleaseBatch?

    package init() {}
}

// MARK: - Cancelling

/// Which jobs of a thread a command cancels.
package struct CancelFilter: Sendable {
    package let selector: String
    /// Only those with this payload; nil for all.
    package let payload: [UInt8]?
    /// None that was accepted later than the command came.
    package let before: JobID
    /// Whether nobody serves the selector: then none of its jobs is in memory.
    package let isUnserved: Bool
    /// None of these: they had begun by then.
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

/// Parked jobs that are to be cancelled, and how many are looked at at once.
package struct BulkCancelPart: Sendable {
    /// Where some of them may be.
    package struct Place: Sendable {
        package let queue: QueueName
        /// Waiting, buffered or delayed.
        package let state: JobState
    }

    package let filter: CancelFilter
    /// What is left to look through, one after another.
    package var places: [Place]
    /// Of the first place, what is not behind this one has been looked at.
    package var after = DueKey.first
    package let countMax: Int
    /// No further one is looked at, once the payloads have this size together.
    package let byteCountMax: Int

    package init(filter: CancelFilter, places: [Place], countMax: Int, byteCountMax: Int) {
        self.filter = filter
        self.places = places
        self.countMax = countMax
        self.byteCountMax = byteCountMax
    }

    /// All of some queues.
    ///
    /// What was buffered may be fired meanwhile: it is found among the delayed, which come later.
    package static func places(of queues: [QueueName]) -> [Place] {
        queues.flatMap { queue in
            [JobState.waiting, .buffered, .delayed].map { Place(queue: queue, state: $0) }
        }
    }
}

/// What a part has cancelled.
package struct BulkCancelAnswer: Sendable {
    package var jobs: [QueueName: [CountedJob]] = [:]
    /// What is left to do; nil if nothing is.
    package var rest: BulkCancelPart?

    package init() {}
}

// MARK: - Failed jobs

/// Which failed jobs are meant.
package enum FailedJobs: Sendable {
    case one(JobID)
    /// All of a selector.
    case all(selector: String)
}

/// What is to become of them.
package enum FailedJobAction: Sendable {
    /// They run again, as far as somebody serves them.
    case runAgain(isServed: @Sendable (Job) -> Bool)
    case drop
}

/// How many of them at once, and which.
package struct FailedJobsPart: Sendable {
    /// Those up to this one have been resolved.
    package var after = JobID(0)
    /// None that was accepted later than the command came.
    package let before: JobID
    package let countMax: Int
    /// When those that run again are due, in Unix milliseconds.
    package let moment: Int64
    /// No further one, once the payloads of those that run again have this size together.
    package let byteCountMax: Int
    /// Whether its answer waits for the disk: behind the first part, one sync at the end does for
    /// all.
    package var isSynced = true

    package init(before: JobID, moment: Int64, countMax: Int, byteCountMax: Int) {
        self.before = before
        self.moment = moment
        self.countMax = countMax
        self.byteCountMax = byteCountMax
    }
}

/// What has become of them.
package struct FailedJobsAnswer: Sendable {
    /// Those that run again.
    package var jobs: [Job] = []
    /// Those that were dropped.
    package var droppedIDs: [JobID] = []
    /// The one that was asked for, if nothing could be done about it.
    package var other: Job?
    /// The last one that was looked at, if there may be more behind it.
    package var last: JobID?

    package init() {}
}
