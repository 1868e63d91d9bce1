// What the store was asked, and what is done with its answer: a value for each, so that all that is under way
// can be looked at.

internal import Jobs

/// A question to the store.
enum Inquiry {
    /// Answers when everything before is kept.
    case confirm(ReplyToken, JobAnswer)
    /// Goes on when everything before is kept, or can't be.
    case then((StoreFault?) -> Void)
    /// Looks for the job of a repeated submit that was refused for this reason.
    case repeated(JobError, ReplyToken)
    case describe(JobID, ReplyToken)
    case result(JobID, ReplyToken)
    case wait(JobID, ReplyToken)
    case watch(JobID, WatchRequest)
    case cancel(JobID, ReplyToken)
    /// Looks whether there is a job that was to be cancelled and is not parked.
    case lookAfterCancel(JobID, ReplyToken)
    case cancelMany(BulkCancel)
    case findExpired
    /// Ends a parked job that had not begun in time.
    case expire(JobID)
    /// Lets buffered jobs go; so many were before.
    case fire(Int, ReplyToken)
    case resolve(FailedJobsChange)
    case list(Listing)
}
