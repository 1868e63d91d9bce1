// The options of JOBS, by which a client says which jobs it wants to see, and from where on.

internal import Jobs
internal import Kernel
internal import RESP
internal import Wording

/// The arguments of JOBS.
struct JobsArguments {
    /// How it is used.
    static let usage =
        "[thread] [state] [LIMIT n] [OLDEST] [BEFORE id] [AFTER id] [SELECTOR name] [KEY k] "
        + "[OLDER ms] [NEWER ms] [FAILURES]"
    private static let rest = "nothing"

    private(set) var thread: String?
    private(set) var state: JobState?
    /// Whether stuck jobs alone are wanted.
    private(set) var isStuck = false
    private(set) var limit = 100
    private var order = JobSpan.Order.newestFirst
    /// Only jobs with larger numbers.
    private var start = JobID(0)
    /// Only jobs with smaller numbers.
    private var end = JobID.max
    /// Which jobs are wanted by their numbers, and in which order.
    var span: JobSpan { JobSpan(order, after: start, before: end) }
    private(set) var filter = JobFilter()
    private(set) var tellsFailures = false

    init(_ command: Command, _ driver: SchedulerDriver) throws {
        var index = 1
        var options = OptionPlaces()
        let now = driver.wall.unixMilliseconds()
        while index < command.count {
            if let next = try readOption(command, at: index, now) {
                try options.note(index, of: command)
                index = next
                continue
            }
            let word = command.text(at: index)
            if let known = JobState(rawValue: word.lowercased()), state == nil, !isStuck {
                state = known
            } else if command.matches(index, "STUCK"), state == nil, !isStuck {
                isStuck = true
            } else if thread == nil {
                guard driver.scheduler.isKnown(word) else { throw JobError.unknownThread(word) }
                thread = word
            } else {
                throw WireError(.err, "JOBS \(Self.usage): what is \(quoted(word))?")
            }
            index += 1
        }
    }

    /// - Returns: the place behind the option; nil if it is none.
    private mutating func readOption(
        _ command: Command, at index: Int, _ now: Int64
    ) throws(WireError) -> Int? {
        func value(_ option: String, _ kind: String) throws(WireError) {
            guard index + 1 < command.count else {
                throw WireError(.err, "\(option) needs a \(kind) behind it")
            }
        }
        if command.matches(index, "LIMIT") {
            try value("LIMIT", "number")
            limit = try command.count(at: index + 1, "LIMIT", max: 10_000)
        } else if command.matches(index, "BEFORE") {
            try value("BEFORE", "job's number")
            end = try JobCommands.id(command, at: index + 1)
        } else if command.matches(index, "AFTER") {
            try value("AFTER", "job's number")
            start = try JobCommands.id(command, at: index + 1)
        } else if command.matches(index, "OLDEST") {
            order = .oldestFirst
            return index + 1
        } else if command.matches(index, "SELECTOR") {
            try value("SELECTOR", "name")
            filter.selector = command.text(at: index + 1)
        } else if command.matches(index, "KEY") {
            try value("KEY", "key")
            filter.key = try JobOptionReader.name(
                command, at: index, before: command.count, "KEY", Self.rest)
        } else if command.matches(index, "OLDER") {
            try value("OLDER", "number")
            filter.acceptedUntil = now - Int64(try milliseconds(command, at: index, "OLDER"))
        } else if command.matches(index, "NEWER") {
            try value("NEWER", "number")
            filter.acceptedAfter = now - Int64(try milliseconds(command, at: index, "NEWER"))
        } else if command.matches(index, "FAILURES") {
            tellsFailures = true
            return index + 1
        } else {
            return nil
        }
        return index + 2
    }

    private func milliseconds(
        _ command: Command, at index: Int, _ option: String
    ) throws(WireError) -> Int {
        try command.count(at: index + 1, option, max: JobOptionReader.millisecondsMax)
    }
}
