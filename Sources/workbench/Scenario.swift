// A scenario: a question, the cases that answer it, and the units of the answers. The driver
// decides how often they run, and the report how they are printed.

/// A figure that is measured of each case.
struct Metric: Sendable {
    let name: String
    let unit: String
    /// Whether a larger value is the better one.
    var isRate = false

    /// How many times better one contender's figures are than another's; nil if one is zero.
    func timesBetter(_ ours: Spread, than other: Spread) -> Double? {
        isRate ? ours.ratio(to: other) : other.ratio(to: ours)
    }
}

/// The cpus of a round's threads.
enum Placement: String, Codable, CaseIterable, Sendable {
    /// Wherever the scheduler puts them.
    case free
    /// All of them on one cpu.
    ///
    /// Then a wake-up costs what the library makes it cost, and not what the machine takes to start
    /// another cpu.
    case pinned
}

/// The conditions of a round.
struct Conditions: Sendable {
    var isQuick = false
    /// Whether system calls are being counted: then a round only does its operations, once.
    var isTraced = false
    /// The file to which strace writes, if it traces the case's server.
    var traceFile: String?
}

/// The results of one round of one case.
struct Sample: Sendable {
    /// The values by the metrics' names.
    var values: [String: Double] = [:]
    /// Depends on every operation, so that none can be left out.
    var hash: UInt64 = 0
}

/// One contender in one discipline.
struct Case: Sendable {
    /// The discipline: contenders are compared within it.
    let group: String
    let contender: String
    let operations: Int
    let quickOperations: Int
    /// Whether it allocates by glibc, though the program is linked with another allocator.
    var hasSystemMalloc = false
    /// Whether its system calls are counted, if the scenario counts them.
    var isTraced = true
    /// The reason why it can't be measured here; nil if it can.
    var obstacle: @Sendable () -> String? = { nil }
    let measure: @Sendable (_ operations: Int, Conditions) throws -> Sample

    var name: String { "\(group)/\(contender)" }
}

/// A question and the cases that answer it.
struct Scenario: Sendable {
    let name: String
    let question: String
    /// The meaning of the contenders' names, or the figures to beat, with their source.
    let note: String
    let metrics: [Metric]
    /// In each group the first contender is ours.
    let cases: [Case]
    /// The number of operations for counting system calls; nil if such a count says nothing.
    let tracedOperations: Int?
    /// Whether the system calls of the case's server are counted.
    var tracesServer = false
    /// Metrics that count some system calls, beside the count of all.
    var tracedCalls: [String: Set<String>] = [:]

    static let systemCalls = Metric(name: "system calls", unit: "per operation")

    /// The scenarios of the run loop and the worker threads.
    static let loops: [Scenario] = [post, wake, pingpong, submit, timers, lateness, idle]

    static let all: [Scenario] = loops + [jobs, workers, durable, backup]
}
