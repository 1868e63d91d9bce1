// Answers to requests about jobs, and their destinations. Values of the core: each door maps them
// to its protocol.

/// The destination of the answer to a request.
///
/// Each is answered once, at once or later.
package struct ReplyToken: Hashable, Sendable {
    /// How long a client waits for the end of its job.
    package enum Patience: Hashable, Sendable {
        case unlimited
        case milliseconds(Int)
    }

    /// The client that sent the request.
    package let client: UInt64
    /// The door's number for the request, among those of the client.
    package let number: UInt64
    /// How long the client waits for the job's outcome; nil if it does not.
    package let patience: Patience?
    /// Whether the answer says that a job of its name was there already.
    package let tellsWhetherNew: Bool

    /// The destination of an answer to a client's request.
    package init(
        client: UInt64, number: UInt64, patience: Patience? = nil, tellsWhetherNew: Bool = false
    ) {
        self.client = client
        self.number = number
        self.patience = patience
        self.tellsWhetherNew = tellsWhetherNew
    }
}

/// The answer to a request.
package enum JobAnswer: Sendable {
    /// The job is accepted under this number.
    case accepted(JobID)
    /// A job of this number has the name already.
    case known(JobID)
    /// The number of jobs that the request applied to.
    case count(Int)
    /// It is done.
    case done
    /// The effect of a CANCEL.
    case cancel(CancelOutcome)
    /// The outcome of the job; nil if it has not ended.
    case result([UInt8]?)
    indirect case job(JobStatus)
    /// Another scheduler has the job's thread by now: the wait for its end goes on there, for so
    /// long, or as long as it takes.
    case moved(JobID, thread: String, milliseconds: Int?)
    /// All rows of a listing have been told.
    case listed
    /// It was refused, or there is no result.
    case failed(JobError)

    /// The answer to a request for a job's result.
    package init(_ outcome: Outcome?, of id: JobID) {
        self =
            switch outcome {
            case nil: .result(nil)
            case .done(let result): .result(result)
            case .failed(let reason): .failed(.failed(id, reason: reason))
            case .timedOut: .failed(.timedOut(id))
            case .cancelled: .failed(.cancelled(id))
            case .expired: .failed(.expired(id))
            }
    }
}

/// The effect of `CANCEL id`; each case name is its word on the wire.
package enum CancelOutcome: String, Sendable {
    /// The job had not begun, and never runs.
    case cancelled
    /// The job runs, and was asked to end.
    case requested
    /// The job has ended.
    case tooLate = "toolate"
    /// The job runs, was asked to end or is over its time limit, and does not react.
    case stuck
}

/// A job as it is shown.
package struct JobStatus: Sendable {
    package let job: Job
    /// The state as shown to people: a running job may be stuck.
    package let state: String
    /// Why its latest attempt failed, if it is tried again.
    package let lastFailure: String?
    /// The handler's latest report of progress; nil once the job has ended.
    package let progress: JobProgress?
    /// The job that holds it up; nil if none does.
    package let holdUp: JobHoldUp?

    /// A job with its shown state, failure, progress and hold-up.
    package init(
        _ job: Job, state: String, lastFailure: String?, progress: JobProgress?,
        holdUp: JobHoldUp?
    ) {
        self.job = job
        self.state = state
        self.lastFailure = lastFailure
        self.progress = progress
        self.holdUp = holdUp
    }
}

/// A blocking job that is tried again, as it is shown with the jobs and threads that it holds up.
package struct JobHoldUp: Sendable, Equatable {
    /// The blocking job.
    package let blocker: JobID
    /// When its next attempt is due, in Unix milliseconds; nil while one waits or runs.
    package let until: Int64?

    /// Describes a hold-up by a job until a moment.
    package init(blocker: JobID, until: Int64?) {
        self.blocker = blocker
        self.until = until
    }
}

/// The door that requests come from, and answers go to.
///
/// - Thread: the scheduler's.
package protocol JobDoor: AnyObject {
    /// Answers a request.
    func answer(_ reply: ReplyToken, _ answer: JobAnswer)

    /// Adds rows to a listing.
    ///
    /// - Parameter tellsFailures: whether the rows have the reasons of failed jobs.
    /// - Returns: whether more are wanted.
    func add(_ rows: [JobStatus], tellsFailures: Bool, to reply: ReplyToken) -> Bool

    /// Notes that the answer to a request waits for a job to end: no lookup is outstanding.
    func noteWaiting(_ reply: ReplyToken)

    /// Sends a client a change of a job that it watches.
    func tell(_ news: JobUpdate, to client: UInt64)

    /// Whether a client has left.
    func isGone(_ client: UInt64) -> Bool
}

/// The door of a daemon that is down.
package final class ClosedDoor: JobDoor {
    package init() {}
    package func answer(_ reply: ReplyToken, _ answer: JobAnswer) {}
    package func add(_ rows: [JobStatus], tellsFailures: Bool, to reply: ReplyToken) -> Bool {
        false
    }
    package func noteWaiting(_ reply: ReplyToken) {}
    package func tell(_ news: JobUpdate, to client: UInt64) {}
    package func isGone(_ client: UInt64) -> Bool { true }
}
