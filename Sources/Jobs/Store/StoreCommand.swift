// What a store is told, and what it says back.
//
// Commands have an order, and answers come in the order of their commands. A load (`load`,
// `loadDelayed`, `fire`) sees the changes of the commands before it, and of none behind it.
// Questions of clients (`find`, `findPayload`, `findNamed`, `list`) see all of the transaction.

/// Something to be written, read or looked up.
///
/// What is large and rare is behind a reference: a command is as large as its largest case, and
/// each job sends several.
package enum StoreCommand: Sendable {
    /// Keep a new job.
    case accept(NewJob)
    /// Keep jobs of a schedule, and that they were made.
    case run([MadeRun])
    /// Keep a schedule.
    indirect case keepSchedule(ScheduleRecord, ticket: UInt64)
    /// Forget a schedule.
    case dropSchedule(String, ticket: UInt64)
    /// Keep a new job, unless another one has its name already.
    indirect case acceptOnce(NewJob, NameClaim)
    /// Let failed jobs run again, or forget them.
    indirect case settle(FailedJobs, FailedJobAction, FailedJobsPart, ticket: UInt64)
    /// Let buffered jobs of queues go, and bring the first of them.
    indirect case fire(ReleaseBatch, ticket: UInt64)
    /// Date anew what a command has made due, if it is not due by the clock at that moment.
    case keepDue(at: Int64, ticket: UInt64)
    /// Keep which threads and pools are paused, and which are no more.
    indirect case pause(PauseChange)
    /// A job that runs was asked to end.
    case askToEnd(JobID)
    /// An attempt has begun, which is recorded if it lasts, and before the next `confirm`.
    case begun(JobID, Attempt)
    /// An attempt has begun, and lasts.
    case start(JobID, Attempt)
    /// A job has ended; without an attempt, it never began.
    case end(JobID, Attempt?, Outcome, at: Int64)
    /// An attempt does not count: as many as before it were made.
    case putBack(JobID, attempt: Int)
    /// An attempt has failed, and the next one comes at that moment.
    case retry(JobID, Attempt, dueAt: Int64)
    /// No job of before has a number from here on.
    case reserve(below: UInt64)
    /// Say when everything before is on the disk.
    case confirm(ticket: UInt64)
    /// End a parked job as cancelled or expired: none that is in memory.
    indirect case cancel(JobID, as: Outcome, ticket: UInt64)
    /// Look for jobs that have not begun and were to by a moment.
    indirect case findExpired(at: Int64, after: DueKey, limit: Int, ticket: UInt64)
    /// Take back parked jobs of queues that ask for the same.
    indirect case cancelPart(BulkCancelPart, ticket: UInt64)
    /// Bring the next parked jobs of a queue.
    indirect case load(QueueName, limit: Int, byteCount: Int)
    /// Bring the next delayed jobs of a queue.
    indirect case loadDelayed(QueueName, after: DueKey, limit: Int, byteCount: Int)
    /// Look for a job that is not in memory.
    case find(JobID, ticket: UInt64)
    /// Look for a job and its payload, also of one that has failed.
    case findPayload(JobID, ticket: UInt64)
    /// Look for the job that has a name.
    indirect case findNamed(NameClaim, ticket: UInt64)
    /// List jobs that are not in memory, the newest first.
    indirect case list(JobListing, ticket: UInt64)
    /// Forget what of queues is in memory: their jobs may get another owner, who loads them anew.
    indirect case release([QueueName])
    /// Tell the jobs of queues that hold up others between two attempts: their owner is this
    /// scheduler now.
    indirect case claim([QueueName], ticket: UInt64)
    /// Send answers to whoever this is from now on.
    case answer(to: @Sendable ([StoreAnswer]) -> Void)

    /// Whether its answer says that it, and all before it, is on the disk.
    package var isSynced: Bool {
        switch self {
        case .accept, .confirm, .cancel, .reserve: true
        case .run, .keepSchedule, .dropSchedule: true
        case .acceptOnce, .pause, .askToEnd: true
        case .fire(let part, _): part.isSynced
        case .settle(_, _, let part, _): part.isSynced
        // Who has asked is answered when all parts are confirmed.
        case .cancelPart: false
        case .keepDue: false
        case .begun, .start, .end, .putBack, .retry: false
        case .load, .loadDelayed, .find, .findPayload, .findNamed, .findExpired, .list: false
        case .answer: false
        case .release, .claim: false
        }
    }

    /// Whether it changes what is on the disk.
    package var isWrite: Bool {
        switch self {
        case .accept, .fire, .start, .end, .putBack, .retry, .reserve, .cancel, .cancelPart:
            true
        case .run, .keepSchedule, .dropSchedule: true
        case .acceptOnce, .settle, .pause, .askToEnd, .keepDue, .release: true
        case .begun, .confirm, .load, .loadDelayed, .find, .findPayload, .findNamed, .findExpired,
            .list, .answer, .claim:
            false
        }
    }

    /// Whether it has happened already and has to be recorded, however often that fails.
    package var isRecord: Bool {
        switch self {
        case .start, .end, .putBack, .retry, .reserve, .pause, .askToEnd, .release: true
        default: false
        }
    }
}

/// A job to be kept; behind a reference, since commands are copied on their way.
package final class NewJob: Sendable {
    package let job: Job
    /// Whether it is not in the memory of the scheduler.
    package let isParked: Bool

    package init(_ job: Job, isParked: Bool) {
        self.job = job
        self.isParked = isParked
    }
}

/// The job of a schedule, with what is recorded of the schedule.
package struct MadeRun: Sendable {
    package let run: ScheduleRun
    package let new: NewJob

    package init(run: ScheduleRun, new: NewJob) {
        self.run = run
        self.new = new
    }
}

/// Which jobs of a store a listing wants.
package struct JobListing: Sendable {
    /// The queues whose parked jobs are wanted.
    package let queues: [QueueName]
    package let thread: String?
    package let state: JobState?
    /// Only jobs with smaller numbers.
    package let before: JobID
    package let limit: Int
    /// Whether failed jobs come with the beginnings of their reasons.
    package let hasReasons: Bool
    /// The longest beginning, in bytes.
    package static let reasonByteCountMax = 1_024

    package init(
        queues: [QueueName], thread: String?, state: JobState?, before: JobID, limit: Int,
        hasReasons: Bool = false
    ) {
        self.hasReasons = hasReasons
        self.queues = queues
        self.thread = thread
        self.state = state
        self.before = before
        self.limit = limit
    }
}

/// Jobs that have not begun and were to, parked or not.
package struct ExpiringJobs: Sendable {
    /// By the moments until which they were to begin.
    package var places: [DueKey] = []
    /// Whether there are no more.
    package var isEnd = true
    /// When the next one is to have begun; nil if there is none.
    package var next: Int64?

    package init() {}
}

/// A job that was looked for because of its payload.
package struct FoundPayload: Sendable {
    package let job: Job
    /// Nil if it is kept no more.
    package let bytes: [UInt8]?

    package init(job: Job, bytes: [UInt8]?) {
        self.job = job
        self.bytes = bytes
    }
}

/// Some of the jobs of a listing.
package struct ListedJobs: Sendable {
    /// The newest first.
    package var jobs: [Job]
    /// All wanted jobs down to this number are among them; 0 if there are no more.
    package var searched: JobID

    package init(jobs: [Job] = [], searched: JobID = JobID(0)) {
        self.jobs = jobs
        self.searched = searched
    }
}

/// What a store says, in the order of the commands.
package enum StoreAnswer: Sendable {
    /// The next so many jobs that were to be accepted are on the disk, or none of them is.
    case accepted(count: Int, StoreFault?)
    /// The next job that was to be accepted has the name of this one, which is there already.
    case existing(NamedJob)
    /// What became of failed jobs.
    case settled(ticket: UInt64, Result<FailedJobsAnswer, StoreFault>)
    /// What was confirmed.
    case confirmed(ticket: UInt64, StoreFault?)
    /// The next jobs of a queue; none when there were none.
    case loaded(QueueName, Result<JobBatch, StoreFault>)
    /// The delayed jobs of a queue behind a place.
    case loadedDelayed(QueueName, after: DueKey, Result<JobBatch, StoreFault>)
    /// How many were let go, and how many of them had been counted.
    case fired(ticket: UInt64, ReleaseBatch, Result<BufferRelease, StoreFault>)
    /// More of what was in the file when it was opened has been counted.
    case counted(RecoveryCount.Part)
    /// What is known of a job.
    case found(ticket: UInt64, Result<Job?, StoreFault>)
    /// A job and its payload.
    case payload(ticket: UInt64, Result<FoundPayload?, StoreFault>)
    /// The job that has a name.
    case named(ticket: UInt64, Result<NamedJob?, StoreFault>)
    /// Jobs that have not begun and were to.
    case expiring(ticket: UInt64, Result<ExpiringJobs, StoreFault>)
    case listed(ticket: UInt64, Result<ListedJobs, StoreFault>)
    /// The parked jobs that were taken back, by their queues.
    case cancelled(ticket: UInt64, Result<[QueueName: [CountedJob]], StoreFault>)
    /// The jobs of a thread that hold up others.
    case claimed(ticket: UInt64, Result<[Job], StoreFault>)
    /// Those that a part of a command has taken back.
    case cancelledPart(ticket: UInt64, Result<BulkCancelAnswer, StoreFault>)
}
