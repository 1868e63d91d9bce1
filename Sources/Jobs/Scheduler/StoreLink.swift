// The link to the store: the commands that it has not answered yet. Each question has the action
// that its answer leads to: a value, not a closure, so that a test can print it.

/// A question to the store.
enum Inquiry {
    /// Answers when everything before is kept.
    case confirm(ReplyToken, JobAnswer)
    /// Tells the driver when everything before is kept, or can't be.
    case driver(tag: UInt64)
    /// Parked jobs that were due at this moment are dated anew.
    case keepDue(at: Int64)
    /// Looks for the job of a repeated submit that was refused for this reason.
    case repeated(JobError, ReplyToken)
    case describe(JobID, ReplyToken)
    case result(JobID, ReplyToken)
    /// Named: a unique name has led to it.
    case wait(JobID, isNamed: Bool, ReplyToken)
    /// Looks whether a parked job has ended, for which clients wait.
    case end(JobID)
    case payload(JobID, ReplyToken)
    case watch(JobID, WatchRequest)
    case cancel(JobID, releaseCount: Int, ReplyToken)
    /// Looks whether there is a job that was to be cancelled and is not parked.
    case lookAfterCancel(JobID, releaseCount: Int, ReplyToken)
    case cancelMany(BulkCancel)
    case findExpired
    /// Ends a parked job that has not begun in time.
    case expire(JobID)
    /// Lets buffered jobs go; so many were before.
    case fire(Int, ReplyToken)
    case resolve(FailedJobsChange)
    case list(Listing)
    /// Takes over a thread.
    case claim(String, ReplyToken, of: UInt64?)
}

/// The questions under way, by the tickets of their answers.
package struct Inquiries {
    private var waiting: [UInt64: Inquiry] = [:]
    private var lastTicket: UInt64 = 0

    /// How many answers are awaited.
    package var count: Int { waiting.count }

    /// Whether a client's command about jobs in the store is under way, or its wait for one.
    ///
    /// - Complexity: O(count).
    var haveCommands: Bool {
        waiting.values.contains { inquiry in
            switch inquiry {
            case .cancel, .lookAfterCancel, .cancelMany, .expire, .fire, .resolve, .wait,
                .end, .repeated:
                true
            case .confirm, .driver, .keepDue, .describe, .result, .payload, .watch, .findExpired,
                .list, .claim:
                false
            }
        }
    }

    /// The ticket under which an answer is expected.
    mutating func expect(_ inquiry: Inquiry) -> UInt64 {
        lastTicket += 1
        waiting[lastTicket] = inquiry
        return lastTicket
    }

    /// The question whose answer has come.
    mutating func take(_ ticket: UInt64) -> Inquiry? { waiting.removeValue(forKey: ticket) }

    mutating func removeAll() { waiting = [:] }
}

/// The unanswered commands of a scheduler to its store.
package struct StoreLink {
    /// Whether a store keeps jobs; without one, every command is answered at once.
    let isKeeping: Bool
    package internal(set) var commits = CommitQueue()
    package internal(set) var inquiries = Inquiries()

    init(isKeeping: Bool) { self.isKeeping = isKeeping }

    /// Forgets all that is under way: no answer is awaited any more.
    mutating func removeAll() {
        commits.removeAll()
        inquiries.removeAll()
    }
}
