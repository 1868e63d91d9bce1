// Actions on many jobs, and failed jobs in groups.

internal import RESP

/// An action on all jobs that meet conditions.
public enum BulkOperation: String, Sendable {
    /// Jobs that have not begun are withdrawn; running ones are asked to end if that is their
    /// state in the conditions.
    case cancel
    /// Failed jobs run again.
    case retry
    /// Failed jobs are forgotten.
    case drop
}

/// How many jobs meet conditions.
public struct BulkCount: Sendable, Equatable {
    /// How many jobs there are.
    public let count: Int
    /// The largest number of a job at that moment.
    public let upTo: UInt64
}

/// An action on many jobs that goes on, or has ended.
public struct BulkDescription: Sendable, Equatable {
    /// The number of the run.
    public let id: Int
    /// `cancel`, `retry` or `drop`.
    public let action: String
    /// Whether it goes on.
    public let isRunning: Bool
    /// The largest number of a job that is meant.
    public let upTo: UInt64
    /// How many jobs it has come to.
    public let found: Int
    /// On how many of them the action was taken.
    public let done: Int
    /// How many had changed between being found and the action.
    public let changed: Int
    /// Whether a client has stopped it.
    public let isStopped: Bool
    /// Why it ended early; nil if it did not.
    public let error: String?
    /// When it began, in milliseconds since 1970-01-01 00:00 UTC.
    public let startedAt: Int64
    /// When it ended, in the same unit; nil while it goes on.
    public let endedAt: Int64?
}

/// Failed jobs of one selector whose reasons differ in numbers only.
public struct FailureGroup: Sendable, Equatable {
    /// Their selector; nil for all jobs that had no room in a group.
    public let selector: String?
    /// The first line of their reasons, with `#` for each number; nil as above.
    public let reason: String?
    /// How many jobs there are.
    public let count: Int
    /// When the first of them failed, in milliseconds since 1970-01-01 00:00 UTC.
    public let first: Int64
    /// When the last of them failed, in the same unit.
    public let last: Int64
    /// The number of the last one.
    public let newest: UInt64
    /// The beginning of its reason.
    public let failure: String?
}

extension BulkCount {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        let fields = Fields(reply, of: "a count")
        count = try fields.integer("count")
        upTo = UInt64(clamping: try fields.integer("up-to"))
    }
}

extension BulkDescription {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        let fields = Fields(reply, of: "a run of BULK")
        id = try fields.integer("id")
        action = try fields.text("action")
        isRunning = fields.flag("running")
        upTo = UInt64(clamping: try fields.integer("up-to"))
        found = try fields.integer("found")
        done = try fields.integer("done")
        changed = try fields.integer("changed")
        isStopped = fields.flag("stopped")
        error = fields.optionalText("error")
        startedAt = try fields.time("started-at")
        endedAt = fields.optionalTime("ended-at")
    }
}

extension FailureGroup {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        let fields = Fields(reply, of: "a group of failures")
        selector = fields.optionalText("selector")
        reason = fields.optionalText("reason")
        count = try fields.integer("count")
        first = try fields.time("first")
        last = try fields.time("last")
        newest = UInt64(clamping: try fields.integer("newest"))
        failure = fields.optionalText("failure")
    }
}
