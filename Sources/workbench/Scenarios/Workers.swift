// workers
//
// Question: How many jobs a second do workers in other processes take and end, and how soon?
// Method:   A workerd of this build is started on a Unix socket of its own, with as many threads as
//           there are workers. All jobs are submitted first, each with 16 bytes that no other
//           carries. Then the workers, each a thread of this program with one blocking connection,
//           take them and end them with the same bytes, until each has had its share: by TAKE and
//           DONE, or fused, by DONE … THEN TAKE. p50 is the time of one job on its worker: from
//           asking for it to having its end confirmed, or in the fused form having the next one.
//
//           For the pickup, one worker waits, and one job is submitted when the one before has
//           ended: from sending it to having it.
//
//           The rivals do the same: beanstalkd by reserve and delete, also with delete and the next
//           reserve in one write, and Redis by BRPOPLPUSH and LREM, both without persistence. A
//           tenth of the jobs goes first and is not measured. "server cpu" and "switches" are those
//           of all the server's threads, from /proc.
// Units:    Jobs per second; microseconds; microseconds and context switches of the server per job.

internal import CMeasure
internal import Dispatch
internal import Kernel
internal import Synchronization

extension Scenario {
    static let workers = Scenario(
        name: "workers",
        question: "How many jobs a second do workers take and end, and how soon?",
        note: "fused: the end of a job and the next one in one round trip",
        metrics: [
            Metric(name: "rate", unit: "per second", isRate: true),
            Metric(name: "p50", unit: "µs"),
            Metric(name: "p99", unit: "µs"),
            Metric(name: "server cpu", unit: "µs per job"),
            Metric(name: "switches", unit: "of the server's threads per job"),
            Metric(name: "pickup", unit: "µs"),
        ],
        cases: WorkersShape.all.flatMap { shape in
            shape.kinds.map { contender, kind in shape.contender(contender, kind) }
        }, tracedOperations: nil)
}

/// The number of workers, and whether they take and end in one round trip.
struct WorkersShape: Sendable {
    let workerCount: Int
    let isFused: Bool

    static let all = [1, 4, 16].flatMap { count in
        [
            WorkersShape(workerCount: count, isFused: true),
            WorkersShape(workerCount: count, isFused: false),
        ]
    }

    var group: String {
        (workerCount == 1 ? "1 worker" : "\(workerCount) workers") + (isFused ? ", fused" : "")
    }

    fileprivate var kinds: [(String, TakingDialect.Kind)] {
        let rivals: [(String, TakingDialect.Kind)] = [
            (Contender.beanstalkd, .beanstalkd(isOneWrite: false)), (Contender.redis, .redis),
        ]
        if !isFused { return [(Contender.ours, .workerd(isFused: false))] + rivals }
        return [(Contender.ours, .workerd(isFused: true))] + rivals
            + [(Contender.beanstalkdOneWrite, .beanstalkd(isOneWrite: true))]
    }

    fileprivate func contender(_ name: String, _ kind: TakingDialect.Kind) -> Case {
        let server = kind.server(threadCount: workerCount)
        return Case(
            group: group, contender: name, operations: 48_000, quickOperations: 320,
            obstacle: server.obstacle
        ) { count, conditions in
            try measure(kind, server, max(1, count / workerCount), conditions)
        }
    }

    private func measure(
        _ kind: TakingDialect.Kind, _ command: ServerCommand, _ count: Int,
        _ conditions: Conditions
    ) throws -> Sample {
        let server = try Server(command, traceFile: conditions.traceFile)
        let submitter = try TakingWorker(kind, at: server.address)
        let warmUpCount = count / 10
        try submitter.submit(from: 0, (count + warmUpCount) * workerCount)
        let (meeting, address) = (Meeting(), server.address)
        for number in 0..<workerCount {
            _ = try SystemThread(name: "worker-\(number)") {
                let outcome = serve(kind, address, warmUpCount, count, meeting)
                meeting.outcomes.withLock { $0.append(outcome) }
                meeting.done.signal()
            }
        }
        for _ in 0..<workerCount { meeting.ready.wait() }
        let before = TaskCounts.sum(process: server.processName)
        let begin = nanoseconds()
        meeting.start.open()
        for _ in 0..<workerCount { meeting.done.wait() }
        let duration = nanoseconds() - begin
        let used = TaskCounts.sum(process: server.processName) - before
        let outcomes = meeting.outcomes.withLock { $0 }
        if let failure = outcomes.compactMap(\.failure).first { throw WorkbenchError(failure) }
        var sample = Sample()
        let total = Double(count * workerCount)
        sample.values["rate"] = total * 1e9 / Double(duration)
        let times = outcomes.flatMap(\.times)
        sample.values["p50"] = percentile(50, of: times) / 1_000
        sample.values["p99"] = percentile(99, of: times) / 1_000
        sample.values["server cpu"] = Double(used.cpuNanoseconds) / 1_000 / total
        sample.values["switches"] = Double(used.contextSwitches) / total
        sample.hash = outcomes.reduce(0) { $0 &+ $1.hash }
        if workerCount == 1 {
            let pickups = try pickups(kind, server.address, submitter, count / 10)
            sample.values["pickup"] = percentile(50, of: pickups) / 1_000
        }
        try server.stop()
        return sample
    }

    private func serve(
        _ kind: TakingDialect.Kind, _ address: SocketAddress, _ warmUpCount: Int, _ count: Int,
        _ meeting: Meeting
    ) -> Meeting.Outcome {
        var outcome = Meeting.Outcome()
        var isReady = false
        do {
            let worker = try TakingWorker(kind, at: address)
            try worker.run(warmUpCount)
            isReady = true
            meeting.ready.signal()
            meeting.start.wait()
            worker.times.removeAll()
            try worker.run(count)
            (outcome.times, outcome.hash) = (worker.times, worker.hash)
        } catch {
            outcome.failure = "\(error)"
        }
        if !isReady { meeting.ready.signal() }
        return outcome
    }

    /// How long each of some jobs takes from its submit to a worker that waits.
    private func pickups(
        _ kind: TakingDialect.Kind, _ address: SocketAddress, _ submitter: TakingWorker,
        _ count: Int
    ) throws -> [Int64] {
        let worker = try TakingWorker(kind, at: address)
        return try (0..<max(1, count)).map { number in
            try worker.ask()
            let begin = nanoseconds()
            try submitter.submit(from: number, 1)
            try worker.receive()
            let time = nanoseconds() - begin
            try worker.end()
            return time
        }
    }
}
