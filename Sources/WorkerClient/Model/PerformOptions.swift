// Options of a job, and how long a client waits for one.

internal import Kernel
internal import RESP

/// How a job is to be performed.
public struct PerformOptions: Sendable, Equatable {
    /// Which of the jobs that wait for a thread goes first.
    public enum Priority: String, Sendable, Equatable, CaseIterable {
        /// Before all others.
        case high
        /// As they come.
        case normal
        /// After all others.
        case low
    }

    /// When a job is due.
    public enum Schedule: Sendable, Equatable {
        /// At once.
        case now
        /// After a while.
        case after(Duration)
        /// At a time of the wall clock, in milliseconds since 1970-01-01 00:00 UTC.
        case at(unixMilliseconds: Int64)
    }

    /// Its place among the jobs that wait.
    public var priority: Priority
    /// When it is due.
    public var schedule: Schedule
    /// How long it may run; nil leaves it to the selector's configuration.
    public var timeLimit: Duration?

    /// How long after its acceptance it ends if it has not begun; nil leaves it to the selector's
    /// configuration.
    public var expiry: Duration?

    /// The label, 1 to 256 bytes of UTF-8: shown wherever the job is; nil for none.
    public var label: String?

    /// The place of the submit in a trace, as a `traceparent`
    /// (https://www.w3.org/TR/trace-context/#traceparent-header); nil for none.
    public var trace: String?

    /// Arguments that its program gets beside the configured ones, as `jobArguments` of its
    /// selector allows: `--verbose`, or `--size=40` for one with a value.
    public var arguments: [String]
    /// Variables that its program gets, as `jobEnvironment` of its selector allows.
    public var environment: [String: String]

    /// The key, 1 to 256 bytes: jobs with the same key run in order; nil for none.
    public var key: [UInt8]?
    /// A name under which at most one job is accepted, 1 to 256 bytes, so that a submit can be
    /// repeated; nil for none.
    public var uniqueName: [UInt8]?
    /// The rule for a submit whose unique name is known; nil for the daemon's defaults.
    public var uniqueRule: UniqueRule?
    /// How it is tried again if it fails; nil leaves it to the selector's configuration.
    public var retry: Retry?
    /// Whether it is kept in memory only, although the daemon could keep it in its file.
    public var isVolatile: Bool

    /// How long a unique name is in force, and for which jobs.
    public struct UniqueRule: Sendable, Equatable {
        /// Whether a submit makes a new job if the first has ended, was cancelled or dropped.
        ///
        /// Not for submits that are repeated because their answer was lost.
        public var againWhenEnded: Bool
        /// How long the name is in force from the acceptance on, at most a year; nil for the
        /// default.
        ///
        /// It is in force as long as the job has not ended in any case.
        public var holds: Duration?

        /// The daemon's defaults, unless said otherwise.
        public init(againWhenEnded: Bool = false, holds: Duration? = nil) {
            self.againWhenEnded = againWhenEnded
            self.holds = holds
        }

        /// The same as arguments behind UNIQUE.
        fileprivate var arguments: [CommandArgument] {
            (againWhenEnded ? ["AGAIN"] : [])
                + (holds.map { ["FOR", .integer(max(1, $0.wholeMilliseconds))] } ?? [])
        }
    }

    /// How a job is tried again if it fails.
    public struct Retry: Sendable, Equatable {
        /// The rule for the jobs behind it meanwhile.
        public enum Manner: String, Sendable, Equatable, CaseIterable {
            /// They go on.
            case aside
            /// Jobs of its key wait, or of its thread if it has none.
            case block
        }

        /// How many further attempts follow one that failed, at most 100.
        public var count: Int
        /// The rule for the jobs behind it; nil for that of the selector's configuration.
        public var manner: Manner?

        /// So many further attempts.
        public init(count: Int, manner: Manner? = nil) {
            self.count = count
            self.manner = manner
        }
    }

    /// The longest time, or latest date, that the daemon takes: a hundred years.
    package static let millisecondsMax = 100 * 365 * 24 * 60 * 60 * 1_000

    /// A job that is due now, in order, unless said otherwise.
    public init(
        priority: Priority = .normal, schedule: Schedule = .now, timeLimit: Duration? = nil,
        key: [UInt8]? = nil, uniqueName: [UInt8]? = nil, retry: Retry? = nil,
        isVolatile: Bool = false, expiry: Duration? = nil,
        label: String? = nil, arguments: [String] = [], environment: [String: String] = [:],
        uniqueRule: UniqueRule? = nil, trace: String? = nil
    ) {
        self.trace = trace
        self.arguments = arguments
        self.environment = environment
        self.priority = priority
        self.schedule = schedule
        self.timeLimit = timeLimit
        self.key = key
        self.uniqueName = uniqueName
        self.uniqueRule = uniqueRule
        self.retry = retry
        self.isVolatile = isVolatile
        self.expiry = expiry
        self.label = label
    }

    /// The lists of words.
    private var wordArguments: [CommandArgument] {
        let variables = environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return [("ARGS", arguments), ("ENV", variables)].flatMap { name, words in
            words.isEmpty
                ? [] : [.text(name), .integer(words.count)] + words.map(CommandArgument.text)
        }
    }

    /// The same as arguments of PERFORM.
    var commandArguments: [CommandArgument] { commandArguments(telling: false) }

    /// The same as arguments of PERFORM.
    ///
    /// - Parameter telling: whether the answer says if the job is new.
    func commandArguments(telling: Bool) -> [CommandArgument] {
        var arguments: [CommandArgument] = []
        switch schedule {
        case .now: break
        case .after(let delay): arguments += ["DELAY", .integer(delay.wholeMilliseconds)]
        case .at(let time): arguments += ["AT", .integer(Int(max(0, time)))]
        }
        if priority != .normal { arguments += ["PRIORITY", .text(priority.rawValue)] }
        // The daemon takes no limit of nothing.
        if let timeLimit {
            arguments += ["TIMEOUT", .integer(max(1, timeLimit.wholeMilliseconds))]
        }
        if let expiry { arguments += ["EXPIRE", .integer(max(1, expiry.wholeMilliseconds))] }
        if let label { arguments += ["LABEL", .text(label)] }
        if let trace { arguments += ["TRACE", .text(trace)] }
        arguments += wordArguments
        if isVolatile { arguments.append("VOLATILE") }
        if let key { arguments += ["KEY", .bytes(key)] }
        if let uniqueName {
            arguments += ["UNIQUE", .bytes(uniqueName)] + (uniqueRule?.arguments ?? [])
            if telling { arguments.append("TELL") }
        }
        if let retry {
            arguments += ["RETRY", .integer(retry.count)]
            if let manner = retry.manner { arguments.append(.text(manner.rawValue)) }
        }
        return arguments
    }
}

/// How long the daemon delays the answer until a job has ended.
public enum JobWait: Sendable, Equatable {
    /// As long as it takes.
    case forever
    /// At most so long; then the error is `TIMEOUT` and the job goes on.
    case atMost(Duration)

    /// The same as arguments of PERFORM and RESULT.
    var arguments: [CommandArgument] {
        switch self {
        case .forever: ["WAIT"]
        case .atMost(let limit): ["WAIT", .integer(limit.wholeMilliseconds)]
        }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up so that nothing is early; nothing negative, and not more than
    /// the daemon takes for an answer (a hundred years).
    var wholeMilliseconds: Int {
        min(max(0, Int(clamped(toUnitsOf: .milliseconds(1)))), PerformOptions.millisecondsMax)
    }
}

/// How a daemon is to go down.
public enum ShutdownManner: Sendable, Equatable {
    /// After the jobs that run, within the grace period.
    case finishRunning
    /// After everything that was accepted.
    case drain
    /// At once.
    case now

    var arguments: [CommandArgument] {
        switch self {
        case .finishRunning: []
        case .drain: ["DRAIN"]
        case .now: ["NOW"]
        }
    }
}
