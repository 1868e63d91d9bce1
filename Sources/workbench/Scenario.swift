// What a scenario is: a question, the cases that answer it, and the units of the answers. How often
// they are run and how they are printed is the driver's and the report's business.

/// Something that is measured of each case.
struct Metric: Sendable {
    let name: String
    let unit: String
    /// Whether a larger value is the better one.
    var isRate = false

    /// How many times better one contender's figures are than another's; nil where one is zero.
    func timesBetter(_ ours: Spread, than other: Spread) -> Double? {
        isRate ? ours.ratio(to: other) : other.ratio(to: ours)
    }
}

/// Where a round's threads run.
enum Placement: String, Codable, CaseIterable, Sendable {
    /// Wherever the scheduler puts them.
    case free
    /// All of them on one cpu: then a wake-up costs what the library makes it cost, and not what the
    /// machine takes to start another cpu.
    case pinned
}

/// Under which conditions a round takes place.
struct Conditions: Sendable {
    var isQuick = false
    /// Whether system calls are being counted: then a round does its operations once, and nothing
    /// else.
    var isTraced = false
    /// The file to which strace writes, if it is the case's server that is traced.
    var traceFile: String?
}

/// What one round of one case gave.
struct Sample: Sendable {
    /// By the metrics' names.
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
    /// Whether system calls are counted, where the scenario has that.
    var isTraced = true
    /// Why it can't be measured here; nil if it can.
    var obstacle: @Sendable () -> String? = { nil }
    let measure: @Sendable (_ operations: Int, Conditions) throws -> Sample

    var name: String { "\(group)/\(contender)" }
}

/// A question and the cases that answer it.
struct Scenario: Sendable {
    let name: String
    let question: String
    /// What the contenders' names stand for, or the figures to beat, with their source.
    let note: String
    let metrics: [Metric]
    /// In each group the first contender is ours.
    let cases: [Case]
    /// How many operations are enough to count system calls by; nil where that says nothing.
    let tracedOperations: Int?
    /// Whether it is the case's server whose system calls are counted.
    var tracesServer = false
    /// Metrics that are counts of some system calls, beside that of all.
    var tracedCalls: [String: Set<String>] = [:]

    static let systemCalls = Metric(name: "system calls", unit: "per operation")

    /// Those of the run loop and the worker threads.
    static let loops: [Scenario] = [post, wake, pingpong, submit, timers, lateness, idle]

    static let all: [Scenario] = loops + [jobs, durable]
}
