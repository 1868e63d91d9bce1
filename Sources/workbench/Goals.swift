// The goals: the rows of the table.

/// A condition on our figure.
enum Limit: Sendable {
    case atMost(Double)
    case atLeast(Double)
    /// At most this many times another contender's figure in the same run.
    case within(Double, of: String)
    /// Another contender's figure in the same run is at least this many times ours; of a rate, ours
    /// is at least this many times the other one.
    case better(Double, than: String)
}

/// A figure of ours in the table, and its limits.
struct Goal: Sendable {
    let title: String
    let scenario: String
    let group: String
    let metric: String
    let placement: Placement
    /// All of them must be met; without any, the figure is only shown.
    let limits: [Limit]
    /// Whether the chart shows it.
    var isInChart = false
}

extension Goal {
    static let all: [Goal] =
        posts + wakes + roundTrips + timers + threads + workers + durable + backups

    private static func of(
        _ title: String, _ scenario: Scenario, _ group: String, _ metric: String,
        _ placement: Placement = .free, _ limits: Limit..., isInChart: Bool = false
    ) -> Goal {
        Goal(
            title: title, scenario: scenario.name, group: group, metric: metric,
            placement: placement, limits: limits, isInChart: isInChart)
    }

    private static let posts = [
        of(
            "post, capturing", .post, "capturing", "total", .free, .atMost(45),
            .better(2.5, than: Contender.dispatch), isInChart: true),
        of("  allocations", .post, "capturing", "allocations", .free, .atMost(1)),
        of("  system calls", .post, "capturing", "system calls"),
        of("  on one cpu", .post, "capturing", "total", .pinned),
        of(
            "post, capturing, glibc", .post, "capturing, glibc's malloc", "total", .free,
            .within(1.15, of: Contender.floor), .better(2.5, than: Contender.dispatch)),
        of("post, bare", .post, "bare", "total", .free, .atMost(30), isInChart: true),
        of("  allocations", .post, "bare", "allocations", .free, .atMost(0)),
        of("  call while busy", .post, "bare", "busy call", .free, .atMost(18)),
        of("  on one cpu", .post, "bare", "total", .pinned),
        of("command, plain value", .post, "commands", "total", .free, .atMost(15), isInChart: true),
        of("  allocations", .post, "commands", "allocations", .free, .atMost(0)),
        of("  added while busy", .post, "commands", "busy call"),
        of("  drained", .post, "commands", "busy drain"),
        of(
            "post, 4 producers", .post, "4 producers", "total", .free,
            .better(1, than: Contender.uv), isInChart: true),
        of(
            "  plain values, as libuv's", .post, "4 producers, commands", "total", .free,
            .better(1, than: Contender.uv)),
    ]

    private static let wakes = [
        of(
            "parked: call", .wake, "parked", "call p50", .free,
            .within(1.1, of: Contender.floor)),
        of(
            "parked: start", .wake, "parked", "start p50", .free,
            .within(1.1, of: Contender.floor)),
        of("  parked: call, one cpu", .wake, "parked", "call p50", .pinned),
        of("  parked: start, one cpu", .wake, "parked", "start p50", .pinned, isInChart: true),
        of("  system calls", .wake, "parked", "system calls"),
    ]

    private static let roundTrips = [
        of(
            "ping-pong, one cpu", .pingpong, "ping-pong", "round trip", .pinned,
            .within(1.1, of: Contender.floor), isInChart: true),
        of("  system calls", .pingpong, "ping-pong", "system calls", .pinned),
        of("  two cpus", .pingpong, "ping-pong", "round trip"),
        of(
            "ping-pong, descriptor", .pingpong, "ping-pong, with a descriptor", "round trip",
            .pinned, .within(1.15, of: Contender.floor)),
        of("  system calls", .pingpong, "ping-pong, with a descriptor", "system calls", .pinned),
        of(
            "submit and wait, one cpu", .submit, "submit and wait", "round trip", .pinned,
            .within(1.1, of: Contender.handmade), isInChart: true),
        of("  allocations", .submit, "submit and wait", "allocations", .pinned),
        of("  two cpus", .submit, "submit and wait", "round trip"),
        of("  two cpus, spinning", .submit, "submit and wait, spinning", "round trip"),
        of(
            "await a submit, one cpu", .submit, "await a submit", "round trip", .pinned,
            .atMost(6.7), isInChart: true),
        of("  allocations", .submit, "await a submit", "allocations", .pinned),
        of("  two cpus", .submit, "await a submit", "round trip"),
    ]

    private static let timers = [
        of(
            "schedule, 100,000 timers", .timers, "100,000 timers", "schedule", .free,
            .atMost(120), isInChart: true),
        of(
            "cancel, 100,000 timers", .timers, "100,000 timers", "cancel", .free, .atMost(45),
            isInChart: true),
        of("  allocations", .timers, "100,000 timers", "allocations"),
        of(
            "schedule, 1,000,000 timers", .timers, "1,000,000 timers", "schedule", .free,
            .atMost(120)),
        of("cancel, 1,000,000 timers", .timers, "1,000,000 timers", "cancel", .free, .atMost(45)),
        of("  as objects, 100,000", .timers, "100,000 timers, as objects", "schedule"),
        of("    cancel", .timers, "100,000 timers, as objects", "cancel"),
        of("    allocations", .timers, "100,000 timers, as objects", "allocations"),
        of("  as objects, 1,000,000", .timers, "1,000,000 timers, as objects", "schedule"),
        of("    cancel", .timers, "1,000,000 timers, as objects", "cancel"),
        of(
            "10,000 in 1 s: late p50", .lateness, "10,000 timers in 1 s", "late p50", .free,
            .within(1.1, of: Contender.floor), isInChart: true),
        of(
            "10,000 in 1 s: late p99", .lateness, "10,000 timers in 1 s", "late p99", .free,
            .within(1.1, of: Contender.floor)),
        of("  early", .lateness, "10,000 timers in 1 s", "early", .free, .atMost(0)),
    ]

    private static let threads = [
        of(
            "1,000 idle: switches", .idle, "1,000 threads", "context switches", .free,
            .atMost(0)),
        of("  descriptors", .idle, "1,000 threads", "descriptors", .free, .atMost(0)),
        of(
            "  resident memory", .idle, "1,000 threads", "resident memory", .free, .atMost(9),
            isInChart: true),
        of(
            "  resident memory, glibc", .idle, "1,000 threads, glibc's malloc", "resident memory",
            .free, .atMost(9)),
        of(
            "  spawn to ready", .idle, "1,000 threads", "start", .free,
            .within(1.3, of: Contender.floor), isInChart: true),
    ]

    private static let workers = WorkersShape.all.flatMap { shape in
        let isOne = shape.workerCount == 1
        let rate = Limit.better(shape.isFused ? 1.2 : 0.9, than: Contender.beanstalkd)
        return [
            Goal(
                title: "\(shape.group): rate", scenario: Scenario.workers.name, group: shape.group,
                metric: "rate", placement: .free, limits: isOne ? [rate] : []),
            of("  p50", .workers, shape.group, "p50"),
            Goal(
                title: "  switches", scenario: Scenario.workers.name, group: shape.group,
                metric: "switches", placement: .free, limits: isOne ? [.atMost(2.5)] : []),
        ] + (isOne ? [of("  pickup", .workers, shape.group, "pickup")] : [])
    }
}
