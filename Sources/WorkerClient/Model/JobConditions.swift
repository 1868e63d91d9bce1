// Which jobs a client wants to see.

internal import RESP

/// Conditions on listed jobs, beside their thread and state; all that are given must be met.
public struct JobConditions: Sendable, Equatable {
    /// Whether the oldest jobs come first.
    public var oldestFirst: Bool
    /// Only jobs with smaller numbers: for the next page, the number of the last row.
    public var before: UInt64?
    /// Only jobs with larger numbers: for the next page if the oldest come first.
    public var after: UInt64?
    /// Only jobs of this selector.
    public var selector: String?
    /// Only jobs with this key.
    public var key: [UInt8]?
    /// Only jobs that were accepted so long ago or longer.
    public var olderThan: Duration?
    /// Only jobs that were accepted within this time.
    public var newerThan: Duration?
    /// Only jobs that failed for this reason, all numbers in its first line being alike.
    public var reason: String?
    /// Whether each row has the reason of its job's failure, and when the job ended.
    public var withFailures: Bool

    /// All jobs, the newest first, without their failures, unless said otherwise.
    public init(
        before: UInt64? = nil, selector: String? = nil, key: [UInt8]? = nil,
        olderThan: Duration? = nil, newerThan: Duration? = nil, withFailures: Bool = false,
        oldestFirst: Bool = false, after: UInt64? = nil, reason: String? = nil
    ) {
        self.reason = reason
        self.oldestFirst = oldestFirst
        self.after = after
        self.before = before
        self.selector = selector
        self.key = key
        self.olderThan = olderThan
        self.newerThan = newerThan
        self.withFailures = withFailures
    }

    /// The same as arguments of JOBS.
    var arguments: [CommandArgument] {
        var arguments = filterArguments
        if oldestFirst { arguments.append("OLDEST") }
        if let after { arguments += ["AFTER", .text("\(after)")] }
        if let before { arguments += ["BEFORE", .text("\(before)")] }
        if withFailures { arguments.append("FAILURES") }
        return arguments
    }

    /// The conditions that any command about many jobs takes.
    var filterArguments: [CommandArgument] {
        var arguments: [CommandArgument] = []
        if let selector { arguments += ["SELECTOR", .text(selector)] }
        if let key { arguments += ["KEY", .bytes(key)] }
        if let olderThan { arguments += ["OLDER", .integer(olderThan.wholeMilliseconds)] }
        if let newerThan { arguments += ["NEWER", .integer(newerThan.wholeMilliseconds)] }
        if let reason { arguments += ["REASON", .text(reason)] }
        return arguments
    }
}
