// One action on many jobs: which jobs are meant, and how far it has come.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops

/// An action that a client takes on all jobs that meet its conditions.
enum BulkAction: String {
    case cancel, retry, drop

    /// Whether it is taken on jobs in a state, if the client names none.
    ///
    /// A running job is asked to end only if the client says `running`.
    func applies(to state: JobState) -> Bool {
        switch self {
        case .cancel: state == .waiting || state == .delayed || state == .buffered
        case .retry, .drop: state == .failed
        }
    }

    /// Whether a client may name a state.
    func takes(_ state: JobState) -> Bool {
        applies(to: state) || self == .cancel && state == .running
    }

    /// The order in which jobs are taken.
    ///
    /// Jobs that run again take their places in the order of their numbers. Of jobs that are
    /// cancelled, the last goes first: none begins because the one before it has been cancelled.
    var order: JobSpan.Order { self == .cancel ? .newestFirst : .oldestFirst }
}

/// An action with its jobs.
struct BulkOrder {
    let action: BulkAction
    let conditions: ConditionArguments
    /// The largest number of a job that is meant.
    let upTo: JobID
    /// At most so many jobs.
    let limit: Int
    /// The name of the user that gave it.
    let user: String

    /// The jobs by their numbers, in the order in which they are taken.
    var span: JobSpan { JobSpan(action.order, before: JobID(upTo.number + 1)) }

    /// Whether it is about a listed job.
    ///
    /// - Parameter isOpen: whether the jobs of a thread are this node's: a store that nodes share
    ///   lists the jobs of all.
    func means(_ job: Job, where isOpen: (String) -> Bool) -> Bool {
        (conditions.state != nil || action.applies(to: job.state)) && isOpen(job.slot)
    }

    /// A listing of the next jobs.
    func listing(_ span: JobSpan, limit: Int, _ reply: ReplyToken) -> Listing {
        let state = conditions.state ?? (action == .cancel ? nil : .failed)
        return Listing(
            thread: conditions.thread, state: state, limit: limit, in: span,
            where: conditions.filter, reply)
    }
}

/// An order that is carried out, page by page.
///
/// Confined to its runner.
final class BulkRun {
    let number: Int
    let order: BulkOrder
    let startedAt: Int64
    /// The jobs that are still to be listed.
    var span: JobSpan
    /// The jobs of the present page.
    var page: [JobID] = []
    /// How many jobs were listed for the present page, taken or not.
    var listedCount = 0
    /// Whether no page follows the present one.
    var isLastPage = false
    /// How many jobs of the page await their answers.
    var pendingCount = 0
    /// How many jobs were found.
    var foundCount = 0
    /// On how many of them the action was taken.
    var doneCount = 0
    /// How many had changed since they were found, so that it could not be taken.
    var changedCount = 0
    /// Whether a client wants no more.
    var isStopping = false
    /// Why it ended before its end.
    var fault: JobError?
    var endedAt: Int64?
    /// The clients that wait for its end, each with the end of its patience.
    var waiting: [ReplyToken: ThreadRunLoop.Timeout] = [:]

    init(number: Int, _ order: BulkOrder, now: Int64) {
        self.number = number
        self.order = order
        startedAt = now
        span = order.span
    }

    var isRunning: Bool { endedAt == nil }

    /// Whether it is shown to a user: all runs, or of a user of some threads its own.
    func isShown(to user: User) -> Bool { user.touchesAll || order.user == user.name }

    /// How many more jobs may be found.
    var left: Int { order.limit - foundCount }

    /// As it is shown to clients.
    var value: RESPValue {
        .map([
            entry("id", .integer(number)), entry("action", text(order.action.rawValue)),
            entry("running", .boolean(isRunning)), entry("up-to", .integer(Int(order.upTo.number))),
            entry("found", .integer(foundCount)), entry("done", .integer(doneCount)),
            entry("changed", .integer(changedCount)), entry("stopped", .boolean(isStopping)),
            entry("error", fault.map { text(WireError($0).message) } ?? .null),
            entry("started-at", .integer(Int(startedAt))),
            entry("ended-at", endedAt.map { .integer(Int($0)) } ?? .null),
        ])
    }
}
