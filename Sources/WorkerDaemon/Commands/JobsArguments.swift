// The options of JOBS: which jobs a client wants to see, and from where on.

internal import Jobs
internal import Kernel
internal import RESP
internal import Wording

/// The arguments of JOBS.
struct JobsArguments {
    /// How it is used.
    static let usage =
        ConditionArguments.usage + " [LIMIT n] [OLDEST] [BEFORE id] [AFTER id] [FAILURES]"

    private(set) var conditions = ConditionArguments()
    private(set) var limit = 100
    private var order = JobSpan.Order.newestFirst
    /// Only jobs with larger numbers.
    private var start = JobID(0)
    /// Only jobs with smaller numbers.
    private var end = JobID.max
    /// Which jobs are wanted by their numbers, and in which order.
    var span: JobSpan { JobSpan(order, after: start, before: end) }
    private(set) var tellsFailures = false

    /// - Parameter user: sees the jobs of its threads and selectors only.
    init(_ command: Command, _ service: Service, _ user: User) throws {
        var conditions = ConditionArguments()
        try conditions.readAll(command, from: 1, service, user) { index throws(WireError) in
            try readOption(command, at: index)
        }
        self.conditions = conditions
    }

    /// - Returns: the place behind the option; nil if it is none.
    private mutating func readOption(
        _ command: Command, at index: Int
    ) throws(WireError) -> Int? {
        func value(_ option: String, _ kind: String) throws(WireError) -> Int {
            try Self.place(behind: option, command, at: index, kind)
        }
        if command.matches(index, "LIMIT") {
            limit = try command.count(at: value("LIMIT", "number"), "LIMIT", max: 10_000)
        } else if command.matches(index, "BEFORE") {
            end = try JobCommands.id(command, at: value("BEFORE", "job's number"))
        } else if command.matches(index, "AFTER") {
            start = try JobCommands.id(command, at: value("AFTER", "job's number"))
        } else if command.matches(index, "OLDEST") {
            order = .oldestFirst
            return index + 1
        } else if command.matches(index, "FAILURES") {
            tellsFailures = true
            return index + 1
        } else {
            return nil
        }
        return index + 2
    }

    /// The place of an option's value.
    static func place(
        behind option: String, _ command: Command, at index: Int, _ kind: String
    ) throws(WireError) -> Int {
        guard index + 1 < command.count else {
            throw WireError(.err, "\(option) needs a \(kind) behind it")
        }
        return index + 1
    }
}
