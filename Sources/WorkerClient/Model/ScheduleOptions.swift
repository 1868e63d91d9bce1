// A schedule: its rhythm, and the options of its jobs.

internal import Kernel
internal import RESP

/// When a schedule makes its jobs.
public enum ScheduleRhythm: Sendable, Equatable {
    /// At the times of a cron expression, such as `30 3 * * *`, by the clock of a time zone.
    case cron(String, zone: String = "UTC")
    /// Once in a period of 10 ms or more.
    case every(Duration)

    /// The same as arguments of SCHEDULE.
    var arguments: [CommandArgument] {
        switch self {
        case .cron(let expression, let zone): ["CRON", .text(expression), "ZONE", .text(zone)]
        case .every(let period): ["EVERY", .integer(period.wholeMilliseconds)]
        }
    }
}

/// How a schedule makes its jobs, and how they are to be performed.
public struct ScheduleOptions: Sendable, Equatable {
    /// The rule for missed runs.
    public enum Missed: String, Sendable, Equatable, CaseIterable {
        /// One run takes the place of all of them.
        case once
        /// Each is made up for, one after another.
        case all
        /// They are left out.
        case none
    }

    /// The rule for a moment that comes while a job of the schedule has not ended.
    public enum Overlap: String, Sendable, Equatable, CaseIterable {
        /// At most one job waits; others may run.
        case one
        /// No job is made while one has not ended.
        case skip
        /// Each moment makes a job.
        case queue
    }

    /// The rule for missed runs.
    public var missed: Missed
    /// The rule for a moment that comes while a job of the schedule has not ended; nil is `queue`
    /// if all missed runs are made up for, else `one`.
    public var overlap: Overlap?
    /// A name under which at most one job is accepted, 1 to 256 bytes; nil for none.
    ///
    /// A moment that finds a job of this name makes none.
    public var uniqueName: [UInt8]?
    /// How long the unique name is in force, and for which jobs.
    public var uniqueRule: PerformOptions.UniqueRule?
    /// The place of its jobs among those that wait.
    public var priority: PerformOptions.Priority
    /// How long a job may run; nil leaves it to the selector's configuration.
    public var timeLimit: Duration?
    /// The key of its jobs, 1 to 256 bytes: jobs with the same key run in order; nil for none.
    public var key: [UInt8]?
    /// How a job is tried again if it fails; nil leaves it to the selector's configuration.
    public var retry: PerformOptions.Retry?
    /// How long after its acceptance a job ends if it has not begun; nil leaves it to the
    /// selector's configuration.
    public var expiry: Duration?
    /// The label of its jobs, 1 to 256 bytes of UTF-8; nil for none.
    public var label: String?
    /// Arguments that the program of its jobs gets beside the configured ones, as
    /// `PerformOptions.arguments`.
    public var arguments: [String]
    /// Variables that the program of its jobs gets, as `PerformOptions.environment`.
    public var environment: [String: String]

    /// One run for all that were missed, and jobs as the selector's configuration says, unless said
    /// otherwise.
    public init(
        missed: Missed = .once, priority: PerformOptions.Priority = .normal,
        timeLimit: Duration? = nil, key: [UInt8]? = nil, retry: PerformOptions.Retry? = nil,
        expiry: Duration? = nil, label: String? = nil, arguments: [String] = [],
        environment: [String: String] = [:], overlap: Overlap? = nil,
        uniqueName: [UInt8]? = nil, uniqueRule: PerformOptions.UniqueRule? = nil
    ) {
        self.overlap = overlap
        self.uniqueName = uniqueName
        self.uniqueRule = uniqueRule
        self.arguments = arguments
        self.environment = environment
        self.missed = missed
        self.priority = priority
        self.timeLimit = timeLimit
        self.key = key
        self.retry = retry
        self.expiry = expiry
        self.label = label
    }

    /// The same as arguments of SCHEDULE.
    var commandArguments: [CommandArgument] {
        let job = PerformOptions(
            priority: priority, timeLimit: timeLimit, key: key, uniqueName: uniqueName,
            retry: retry, expiry: expiry, label: label, arguments: arguments,
            environment: environment, uniqueRule: uniqueRule)
        return (missed == .once ? [] : ["MISSED", .text(missed.rawValue)])
            + (overlap.map { ["OVERLAP", .text($0.rawValue)] } ?? []) + job.commandArguments
    }
}
