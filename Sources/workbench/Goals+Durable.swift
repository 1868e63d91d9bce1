// The goals for jobs that outlive the process and the machine.

extension Goal {
    static let durable: [Goal] =
        serial + rates + [
            of("1,000,000 waiting: memory growth", waiting, "memory growth", .atMost(64)),
            of("  file", waiting, "file"),
            of("  kill -9, start: first answer", waiting, "restart", .atMost(50)),
            of("  kill -9, start: job accepted", waiting, "restart accepted"),
            of("  kill -9, start: on a cpu", waiting, "restart cpu"),
            of("  resident memory then", waiting, "memory restarted"),
            of("  SIGTERM to exit", waiting, "exit", .atMost(100)),
            of("  delayed job: late p50", waiting, "late p50"),
            of("  delayed job: late p99", waiting, "late p99", .atMost(1_000)),
            of("  delayed job: early", waiting, "early", .atMost(0)),
            of("  none waiting: late p99", DurableWaiting.idleGroup, "late p99"),
        ]

    /// The figures of a client beside a backup; none has a limit.
    static let backups: [Goal] = BackupShape.all.flatMap { shape in
        [
            ("backup, \(shape.group): p50", "p50"), ("  longest", "longest"),
            ("  accepted", "accepted"), ("  the backup takes", "backup"), ("  file", "file"),
        ].map { title, metric in
            Goal(
                title: title, scenario: Scenario.backup.name, group: shape.group, metric: metric,
                placement: .free, limits: [])
        }
    }

    private static let waiting = DurableWaiting.group

    private static let serial: [Goal] = {
        let group = DurableShape.serial.group
        return [
            of("1 client × 1: accepted, p50", group, "p50", .within(1.3, of: Contender.floor)),
            of("  p99", group, "p99"),
            of("  rate", group, "accepted"),
            of("  written", group, "written"),
            of("  syncs", group, "syncs"),
            of("  system calls", group, "system calls"),
        ]
    }()

    private static let rates: [Goal] = {
        let limits: [(DurableShape, Limit)] = [
            (.pipelined, .atLeast(200_000)), (.crowd, .atLeast(60_000)),
        ]
        let accepted = limits.flatMap { shape, limit in
            [
                of("\(shape.group): accepted", shape.group, "accepted", limit),
                of("  p99", shape.group, "p99"),
                of("  written", shape.group, "written"),
                of("  server cpu", shape.group, "server cpu"),
                of("  syncs", shape.group, "syncs"),
                of("  system calls", shape.group, "system calls"),
            ]
        }
        let executed = DurableExecution.item.group
        return accepted + [
            of("executed and recorded, 1 × 64", executed, "executed", .atLeast(100_000)),
            of("  server cpu", executed, "server cpu"),
            of("  syncs", executed, "syncs"),
            of("  system calls", executed, "system calls"),
        ]
    }()

    private static func of(
        _ title: String, _ group: String, _ metric: String, _ limits: Limit...
    ) -> Goal {
        Goal(
            title: title, scenario: Scenario.durable.name, group: group, metric: metric,
            placement: .free, limits: limits)
    }
}
