// The commands of a store, and its answers.
//
// Commands have an order, and answers come in the order of their commands. A load (`load`,
// `loadDelayed`, `fire`) sees the changes of the commands before it, and of none behind it.
// Questions of clients (`find`, `findPayload`, `findNamed`, `list`) see all of the transaction.

/// A command to write, read or look up something.
///
/// Large and rare values are behind a reference: a command is as large as its largest case, and
/// each job sends several.
package enum StoreCommand: Sendable {
    /// Keep a new job.
    case accept(NewJob)
    /// Keep jobs of a schedule, and record that they were made.
    ///
    /// The store refuses a job whose name another job has, and all jobs if the schedule is gone or
    /// has another thread.
    case run([MadeRun])
    /// Keep a schedule.
    indirect case keepSchedule(ScheduleRecord, ticket: UInt64)
    /// Forget a schedule, if it has this thread.
    case dropSchedule(String, thread: String, ticket: UInt64)
    /// Keep a new job, unless another one has its name already.
    indirect case acceptOnce(NewJob, NameClaim)
    /// Let failed jobs run again, or forget them.
    indirect case settle(FailedJobs, FailedJobAction, FailedJobsPart, ticket: UInt64)
    /// Release buffered jobs of queues, and load the first of them.
    indirect case fire(ReleaseBatch, ticket: UInt64)
    /// Date anew the jobs that a command made due and that by the clock at that moment are not.
    case keepDue(at: Int64, ticket: UInt64)
    /// Keep which threads and pools are paused, and which were removed.
    indirect case pause(PauseChange)
    /// A running job was asked to end.
    case askToEnd(JobID)
    /// An attempt has begun; recorded if it lasts, and before the next `confirm`.
    case begun(JobID, Attempt)
    /// An attempt has begun, and lasts.
    case start(JobID, Attempt)
    /// A worker in another process holds an attempt, or none does any more.
    case hold(JobID, attempt: Int, JobHolder?)
    /// A job has ended; one without an attempt never began.
    case end(JobID, Attempt?, Outcome, at: Int64)
    /// A job waits again that had begun: it has so many attempts, of which the latest so many are
    /// not counted against its retries. One that a worker gave back does not expire any more.
    case putBack(JobID, attempt: Int, forgivenCount: Int, mayExpire: Bool)
    /// An attempt has failed, and the next one comes at that moment.
    case retry(JobID, Attempt, dueAt: Int64)
    /// Numbers from this one on are free of earlier jobs.
    case reserve(below: UInt64)
    /// Answer when all earlier commands are on the disk.
    case confirm(ticket: UInt64)
    /// End a parked job, one not in memory, as cancelled or expired.
    indirect case cancel(JobID, as: Outcome, ticket: UInt64)
    /// Look for jobs whose EXPIRE time has passed at a moment before they began.
    indirect case findExpired(at: Int64, after: DueKey, limit: Int, ticket: UInt64)
    /// Cancel parked jobs of queues by selector and payload.
    indirect case cancelPart(BulkCancelPart, ticket: UInt64)
    /// Load the next parked jobs of a queue.
    indirect case load(QueueName, limit: Int, byteCount: Int)
    /// Load the next delayed jobs of a queue.
    indirect case loadDelayed(QueueName, after: DueKey, limit: Int, byteCount: Int)
    /// Look for a job that is not in memory.
    case find(JobID, ticket: UInt64)
    /// Look for a job and its payload, also of one that has failed.
    case findPayload(JobID, ticket: UInt64)
    /// Look for the job that has a name.
    indirect case findNamed(NameClaim, ticket: UInt64)
    /// List jobs that are not in memory, in the order of the listing.
    indirect case list(JobListing, ticket: UInt64)
    /// Forget which jobs of queues are in memory: another scheduler may own and load them next.
    indirect case release([QueueName])
    /// Tell this scheduler, the new owner of a thread's queues, what it has to know of their jobs.
    indirect case claim([QueueName], ticket: UInt64)
    /// Record that threads pass to another seat of the store.
    indirect case move([ThreadMove], ticket: UInt64)
    /// The jobs of the latest part of submitted ones are accepted, but for these.
    indirect case settleSubmitted(SubmittedAnswer)
    /// Keep ended jobs within these limits from now on.
    indirect case limit(StoreLimits)
    /// These selectors have handlers from now on; jobs of others stay in the store.
    indirect case serve(Set<String>)
    /// Send all later answers to this receiver.
    case answer(to: @Sendable ([StoreAnswer]) -> Void)

    /// Whether its answer says that this and all earlier commands are on the disk.
    package var isSynced: Bool {
        switch self {
        case .accept, .confirm, .cancel, .reserve, .move: true
        case .run, .keepSchedule, .dropSchedule: true
        case .acceptOnce, .pause, .askToEnd: true
        case .fire(let part, _): part.isSynced
        case .settle(_, _, let part, _): part.isSynced
        // The client is answered when all parts are confirmed.
        case .cancelPart: false
        case .keepDue: false
        case .begun, .start, .hold, .end, .putBack, .retry: false
        case .load, .loadDelayed, .find, .findPayload, .findNamed, .findExpired, .list: false
        case .answer, .limit, .serve: false
        case .release, .claim, .settleSubmitted: false
        }
    }

    /// Whether it changes the file.
    package var isWrite: Bool {
        switch self {
        case .accept, .fire, .start, .hold, .end, .putBack, .retry, .reserve, .cancel, .cancelPart:
            true
        case .run, .keepSchedule, .dropSchedule, .claim, .move: true
        case .acceptOnce, .settle, .pause, .askToEnd, .keepDue, .release: true
        case .settleSubmitted(let answer): !answer.known.isEmpty || !answer.refusals.isEmpty
        // Ended jobs above the limits are dropped.
        case .limit: true
        case .begun, .confirm, .load, .loadDelayed, .find, .findPayload, .findNamed, .findExpired,
            .list, .answer, .serve:
            false
        }
    }

    /// Whether it records an event that has happened, and so must be retried until it is kept.
    package var isRecord: Bool {
        switch self {
        case .start, .hold, .end, .putBack, .retry, .reserve, .pause, .askToEnd, .release: true
        default: false
        }
    }
}

/// A job to be kept; behind a reference, since commands are copied on their way.
package final class NewJob: Sendable {
    package let job: Job
    /// Whether it is not in the memory of the scheduler.
    package let isParked: Bool
    /// Its row among the submitted jobs; nil for a job of a client.
    package let submitted: SubmittedJob?

    package init(_ job: Job, isParked: Bool, from submitted: SubmittedJob? = nil) {
        self.job = job
        self.isParked = isParked
        self.submitted = submitted
    }
}

/// The job of a schedule, with what is recorded of the schedule.
package struct MadeRun: Sendable {
    package let run: ScheduleRun
    package let new: NewJob
    /// The name that it is to have; nil for none.
    package let claim: NameClaim?

    package init(run: ScheduleRun, new: NewJob, claim: NameClaim? = nil) {
        self.run = run
        self.new = new
        self.claim = claim
    }
}

/// The jobs of a store that a listing wants.
package struct JobListing: Sendable {
    /// The queues whose parked jobs are wanted.
    package let queues: [QueueName]
    package let thread: String?
    package let state: JobState?
    package let span: JobSpan
    package let limit: Int
    /// Whether failed jobs come with the beginnings of their reasons.
    package let hasReasons: Bool
    /// The longest beginning, in bytes.
    package static let reasonByteCountMax = 1_024

    package init(
        queues: [QueueName], thread: String?, state: JobState?, in span: JobSpan, limit: Int,
        hasReasons: Bool = false
    ) {
        self.hasReasons = hasReasons
        self.queues = queues
        self.thread = thread
        self.state = state
        self.span = span
        self.limit = limit
    }
}

/// Jobs whose EXPIRE time has passed before they began, parked or not.
package struct ExpiringJobs: Sendable {
    /// The jobs, ordered by the moment of their expiry.
    package var places: [DueKey] = []
    /// Whether there are no more.
    package var isEnd = true
    /// When the next job expires; nil if there is none.
    package var next: Int64?

    package init() {}
}

/// A job that was looked for because of its payload.
package struct FoundPayload: Sendable {
    package let job: Job
    /// Nil if it is no longer kept.
    package let bytes: [UInt8]?

    package init(job: Job, bytes: [UInt8]?) {
        self.job = job
        self.bytes = bytes
    }
}

/// Some of the jobs of a listing.
package struct ListedJobs: Sendable {
    /// In the order of the listing.
    package var jobs: [Job]
    /// All wanted jobs up to this place are among them; the span's end if there are no more.
    package var searched: JobID

    package init(jobs: [Job] = [], searched: JobID) {
        self.jobs = jobs
        self.searched = searched
    }
}

/// An answer of a store; answers come in the order of the commands.
package enum StoreAnswer: Sendable {
    /// This many of the next jobs to be accepted are on the disk, or none of them is.
    case accepted(count: Int, StoreFault?)
    /// The next job to be accepted has the name of this one, which is there already.
    case existing(NamedJob)
    /// The result of a part of a RETRY or DROP command.
    case settled(ticket: UInt64, Result<FailedJobsAnswer, StoreFault>)
    /// A `confirm` is done.
    case confirmed(ticket: UInt64, StoreFault?)
    /// The next jobs of a queue; empty if there are none.
    case loaded(QueueName, Result<JobBatch, StoreFault>)
    /// The delayed jobs of a queue after a place.
    case loadedDelayed(QueueName, after: DueKey, Result<JobBatch, StoreFault>)
    /// The number of jobs that FIRE released, and how many of them had been counted.
    case fired(ticket: UInt64, ReleaseBatch, Result<BufferRelease, StoreFault>)
    /// Another part of the jobs in the file at its opening has been counted.
    case counted(RecoveryCount.Part)
    /// A job that was looked for.
    case found(ticket: UInt64, Result<Job?, StoreFault>)
    /// A job and its payload.
    case payload(ticket: UInt64, Result<FoundPayload?, StoreFault>)
    /// The job that has a name.
    case named(ticket: UInt64, Result<NamedJob?, StoreFault>)
    /// Jobs whose EXPIRE time has passed before they began.
    case expiring(ticket: UInt64, Result<ExpiringJobs, StoreFault>)
    case listed(ticket: UInt64, Result<ListedJobs, StoreFault>)
    /// The parked jobs that were cancelled, by queue.
    case cancelled(ticket: UInt64, Result<[QueueName: [CountedJob]], StoreFault>)
    /// The jobs of a thread, as far as its new owner has to know them.
    case claimed(ticket: UInt64, Result<ClaimedJobs, StoreFault>)
    /// New jobs have numbers from this one on: unasked.
    case numbers(from: UInt64)
    /// Jobs that were submitted in the store: unasked, the only answer of its message, and the next
    /// part comes after `settleSubmitted`.
    case submitted([SubmittedJob])
    /// The jobs that a part of a command has cancelled.
    case cancelledPart(ticket: UInt64, Result<BulkCancelAnswer, StoreFault>)
}
