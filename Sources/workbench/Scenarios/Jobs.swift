// jobs
//
// Question: How many jobs a second, and how soon is one answered?
// Method:   A workerd of this build is started on a Unix socket of its own. A client is a thread
//           with one blocking connection, one command outstanding or several; each command carries
//           16 bytes that no other carries, and each reply is compared with them. PERFORM images
//           echo WAIT is a whole job: parsed on one thread, run on another, answered by the first.
//           PING with the same bytes to the same server shows the share of the wire. With BLOCK,
//           jobs have RETRY 3 BLOCK: one that failed would hold up those behind it.
//
//           The rival does the same job in the usual way of Redis: the client pushes it onto a
//           list, a worker (a thread of this program) pops it and pushes the result, the client
//           pops that; PING to the same redis-server shows the cost of its wire. Every round is new
//           processes; a tenth of the commands goes first and is not measured; lists, being slow,
//           get a fifth of the commands. "server cpu" and "switches" are those of all the server's
//           threads, from /proc.
// Units:    Commands per second; microseconds from sending to reading; microseconds, context
//           switches and system calls of the server per command.

internal import CMeasure
internal import Dispatch
internal import Kernel
internal import Synchronization

extension Scenario {
    static let jobs = Scenario(
        name: "jobs",
        question: "How many jobs a second, and how soon is one answered?",
        note:
            "whole jobs on one cpu, serial p50 / 1×64 / 8×1 / 8×8: NATS 53 µs / 86k / 19k / 79k, "
            + "Redis 55 µs / 21.5k / 22k / 20.6k, C floor 31 µs / 325k / 51k / 234k",
        metrics: [
            Metric(name: "rate", unit: "per second", isRate: true),
            Metric(name: "p50", unit: "µs"),
            Metric(name: "p99", unit: "µs"),
            Metric(name: "server cpu", unit: "µs per command"),
            Metric(name: "switches", unit: "of the server's threads per command"),
            Scenario.systemCalls,
        ],
        cases: [
            LoadShape(clientCount: 1, outstanding: 1, operations: 20_000),
            LoadShape(clientCount: 1, outstanding: 64, operations: 200_000),
            LoadShape(clientCount: 8, outstanding: 1, operations: 80_000),
            LoadShape(clientCount: 8, outstanding: 8, operations: 200_000),
        ].flatMap { shape in
            [
                shape.contender(
                    "workerd PERFORM echo WAIT", .workerd,
                    .command(LoadCommand("PERFORM", "images", "echo", "WAIT"))),
                shape.contender("workerd, BLOCK", .workerd, .command(.blocking)),
                shape.contender(
                    "workerd, BLOCK, 1 of 100 fails", .workerd, .command(.blockingWithFailures)),
                shape.contender("redis list and worker", .redis, .list),
                shape.contender("workerd PING", .workerd, .command(LoadCommand("PING"))),
                shape.contender("redis-server PING", .redis, .command(LoadCommand("PING"))),
            ]
        }, tracedOperations: 2_000, tracesServer: true)
}

extension LoadCommand {
    /// A job that would hold up those behind it if it failed and were tried again.
    fileprivate static let blocking = LoadCommand(
        "PERFORM", "images", "echo", "RETRY", "3", "BLOCK", "WAIT")
    /// The same, beside jobs that fail and have no further attempt.
    fileprivate static let blockingWithFailures = LoadCommand(
        "PERFORM", "images", "echo", "RETRY", "3", "BLOCK", "WAIT",
        failing: ["PERFORM", "images", "fail", "RETRY", "0", "BLOCK", "WAIT"])
}

/// The load of the clients on a server.
private enum Load: Sendable {
    /// They send a command and get its reply.
    case command(LoadCommand)
    /// They push onto a list and pop from another, with a worker in between.
    case list
}

/// The number of clients, and of each one's outstanding commands.
private struct LoadShape {
    let clientCount: Int
    let outstanding: Int
    let operations: Int

    func contender(
        _ name: String, _ server: ServerCommand, _ load: Load
    ) -> Case {
        let clients = clientCount == 1 ? "1 client" : "\(clientCount) clients"
        // Lists are slow: with a fifth of the jobs they take as long as the others.
        let share = if case .list = load { 5 } else { 1 }
        return Case(
            group: "\(clients) × \(outstanding)", contender: name, operations: operations / share,
            quickOperations: 200 * clientCount, obstacle: server.obstacle
        ) { count, conditions in
            try measure(server, load, count / clientCount, conditions)
        }
    }

    private func measure(
        _ command: ServerCommand, _ load: Load, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        let server = try Server(command, traceFile: conditions.traceFile)
        let meeting = Meeting()
        let address = server.address
        if case .list = load { try ListWorker.start(at: address) }
        let warmUpCount = conditions.isTraced ? 0 : count / 10
        for number in 0..<clientCount {
            _ = try SystemThread(name: "client-\(number)") { [self] in
                let outcome = serve(number, address, load, warmUpCount, count, meeting)
                meeting.outcomes.withLock { $0.append(outcome) }
                meeting.done.signal()
            }
        }
        for _ in 0..<clientCount { meeting.ready.wait() }
        let process = server.processName
        let before = TaskCounts.sum(process: process)
        let begin = nanoseconds()
        meeting.start.open()
        for _ in 0..<clientCount { meeting.done.wait() }
        let duration = nanoseconds() - begin
        let used = TaskCounts.sum(process: process) - before
        try server.stop()
        return try sample(
            meeting.outcomes.withLock { $0 }, count * clientCount, duration, used)
    }

    private func serve(
        _ number: Int, _ address: SocketAddress, _ load: Load, _ warmUpCount: Int,
        _ count: Int, _ meeting: Meeting
    ) -> Meeting.Outcome {
        var outcome = Meeting.Outcome()
        var isReady = false
        do {
            let client = try makeClient(number, address, load)
            try client.run(warmUpCount)
            isReady = true
            meeting.ready.signal()
            meeting.start.wait()
            try client.run(count)
            outcome.times = Array(client.latencies.dropFirst(warmUpCount))
            outcome.hash = client.hash
        } catch {
            outcome.failure = "\(error)"
        }
        if !isReady { meeting.ready.signal() }
        return outcome
    }

    private func makeClient(
        _ number: Int, _ address: SocketAddress, _ load: Load
    ) throws -> any JobClient {
        switch load {
        case .command(let command):
            try LoadClient(number, to: address, command: command, outstanding: outstanding)
        case .list: try ListClient(number, to: address, outstanding: outstanding)
        }
    }

    private func sample(
        _ outcomes: [Meeting.Outcome], _ count: Int, _ duration: Int64, _ used: TaskCounts
    ) throws -> Sample {
        if let failure = outcomes.compactMap(\.failure).first { throw WorkbenchError(failure) }
        let latencies = outcomes.flatMap(\.times)
        guard latencies.count == count else {
            throw WorkbenchError("\(latencies.count) replies to \(count) commands")
        }
        var sample = Sample()
        sample.values["rate"] = Double(count) * 1e9 / Double(duration)
        sample.values["p50"] = percentile(50, of: latencies) / 1_000
        sample.values["p99"] = percentile(99, of: latencies) / 1_000
        sample.values["server cpu"] = Double(used.cpuNanoseconds) / 1_000 / Double(count)
        sample.values["switches"] = Double(used.contextSwitches) / Double(count)
        sample.hash = outcomes.reduce(0) { $0 &+ $1.hash }
        return sample
    }
}
