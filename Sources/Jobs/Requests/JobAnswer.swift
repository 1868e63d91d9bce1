// What is answered to a request about jobs, and where the answer goes. Values of the core: each
// door maps them to its protocol.

/// Where the answer to a request goes.
///
/// Each is answered once, at once or later.
package struct ReplyToken: Hashable, Sendable {
    /// How long a client waits for the end of its job.
    package enum Patience: Hashable, Sendable {
        case unlimited
        case milliseconds(Int)
    }

    /// Who has asked.
    package let client: UInt64
    /// What the door knows the request by, among those of the client.
    package let number: UInt64
    /// For an answer that is about a job: how long the client waits for its outcome; nil if it does
    /// not.
    package let patience: Patience?
    /// Whether the client wants to be told if a job of its name was there already.
    package let tellsWhetherNew: Bool

    /// A request of a client.
    package init(
        client: UInt64, number: UInt64, patience: Patience? = nil, tellsWhetherNew: Bool = false
    ) {
        self.client = client
        self.number = number
        self.patience = patience
        self.tellsWhetherNew = tellsWhetherNew
    }
}

/// What is answered to a request.
package enum JobAnswer: Sendable {
    /// The job is accepted under this number.
    case accepted(JobID)
    /// A job of this number has the name already.
    case known(JobID)
    /// So many jobs were meant.
    case count(Int)
    /// It is done.
    case done
    /// What became of a job that was to be cancelled.
    case cancel(CancelOutcome)
    /// What the job has brought; nil if it has not ended.
    case result([UInt8]?)
    indirect case job(JobStatus)
    /// All rows of a listing have been told.
    case listed
    /// It was refused, or there is no result.
    case failed(JobError)

    /// What somebody is told who wants a job's result.
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

/// What `CANCEL id` is answered with; each word is on the wire as it is here.
package enum CancelOutcome: String, Sendable {
    /// It had not begun, and never runs.
    case cancelled
    /// It runs, and was asked to end.
    case requested
    /// It has ended.
    case tooLate = "toolate"
    /// It runs, was asked to end or is over its time limit, and does not listen.
    case stuck
}

/// A job as it is shown.
package struct JobStatus: Sendable {
    package let job: Job
    /// As people know it: a job that runs may be stuck.
    package let state: String
    /// Why its latest attempt failed, if it is tried again.
    package let lastFailure: String?
    /// What its handler has said last; nil once the job has ended.
    package let progress: JobProgress?
    /// What holds it up; nil if nothing does.
    package let holdUp: JobHoldUp?

    /// A job with what is known of it beside.
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

    /// The hold-up by a job, until a moment.
    package init(blocker: JobID, until: Int64?) {
        self.blocker = blocker
        self.until = until
    }
}

/// Where requests come from, and answers go.
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

    /// Notes that the answer to a request comes when a job has ended: until then nothing is looked
    /// for.
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
