// submit
//
// Question: What does it cost to have a thread do something and to wait for its answer?
// Method:   10,000 times one after another, on a thread that does nothing else. "submit and wait":
//           ours is `submitAndWait`, a rival's a post whose closure signals a semaphore ("by hand"
//           is the floor of it). "await": ours is `await submit`, a rival's a continuation that a
//           post resumes; the task runs on Swift's own pool. "spinning": the worker looks for work
//           for up to 100 µs before it sleeps, which needs two cpus. Every round is a process of
//           its own; the goals are for one cpu.
// Units:    Microseconds, allocations and system calls for each.

internal import CMeasure
internal import Dispatch
internal import WorkerThreads

extension Scenario {
    static let submit = Scenario(
        name: "submit",
        question: "What does it cost to have a thread do something and to wait for its answer?",
        note: "by hand: a lock, a batch and a semaphore, or a continuation",
        metrics: [
            Metric(name: "round trip", unit: "µs"),
            Metric(name: "allocations", unit: "per round trip"),
            Scenario.systemCalls,
        ],
        cases: cases(waiting, WaitMeasure()) { try SubmitMeasure.waiting($0, $1) }
            + [
                Case(
                    group: "submit and wait, spinning", contender: Contender.ours,
                    operations: tripCount, quickOperations: 100
                ) { try SubmitMeasure.waiting($0, $1, spinLimit: .microseconds(100)) }
            ]
            + cases(awaiting, AwaitMeasure()) { try SubmitMeasure.awaiting($0, $1) },
        tracedOperations: 500)

    private static let waiting = "submit and wait"
    private static let awaiting = "await a submit"
    private static let tripCount = 10_000

    private static func cases(
        _ group: String, _ measure: some LoopMeasure,
        ours: @escaping @Sendable (Int, Conditions) throws -> Sample
    ) -> [Case] {
        let own = Case(
            group: group, contender: Contender.ours, operations: tripCount, quickOperations: 100,
            measure: ours)
        return [own] + Cases.ofLoops(group, tripCount, quick: 100, measure).dropFirst()
    }
}

private enum SubmitMeasure {
    static func waiting(
        _ count: Int, _ conditions: Conditions, spinLimit: Duration = .zero
    ) throws -> Sample {
        let worker = try WorkerThread(name: "bench", spinLimit: spinLimit)
        defer { stop(worker) }
        return try measure(count, conditions) { range in
            var sum = 0
            for index in range { sum &+= try worker.submitAndWait { index } }
            return sum
        }
    }

    static func awaiting(_ count: Int, _ conditions: Conditions) throws -> Sample {
        let worker = try WorkerThread(name: "bench")
        defer { stop(worker) }
        return try measureInTask(count, conditions) { range in
            var sum = 0
            for index in range { sum &+= try await worker.submit { index } }
            return sum
        }
    }

    private static func stop(_ worker: WorkerThread) {
        worker.stop()
        worker.join()
    }

    static func measure(
        _ count: Int, _ conditions: Conditions, _ body: (Range<Int>) throws -> Int
    ) throws -> Sample {
        if !conditions.isTraced { _ = try body(0..<count / 10) }
        measure_allocations_start()
        let start = nanoseconds()
        let sum = try body(0..<count)
        let duration = nanoseconds() - start
        let allocations = measure_allocations_stop()
        guard sum == count * (count - 1) / 2 else { throw WorkbenchError("an answer was wrong") }
        var sample = Sample()
        sample.values["round trip"] = Double(duration) / Double(count) / 1_000
        sample.values["allocations"] = Double(allocations.count) / Double(count)
        sample.hash = UInt64(sum)
        return sample
    }

    static func measureInTask(
        _ count: Int, _ conditions: Conditions,
        _ body: @escaping @Sendable (Range<Int>) async throws -> Int
    ) throws -> Sample {
        try measure(count, conditions) { range in
            let sum = WorkTally()
            let ended = DispatchSemaphore(value: 0)
            Task.detached {
                if let result = try? await body(range) { sum.set(result) }
                ended.signal()
            }
            ended.wait()
            return sum.value
        }
    }
}

private struct WaitMeasure: LoopMeasure {
    func callAsFunction<L: Loop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        let loop = try L()
        defer { loop.stop() }
        let answered = DispatchSemaphore(value: 0)
        let answer = WorkTally()
        return try SubmitMeasure.measure(count, conditions) { range in
            var sum = 0
            for index in range {
                loop.post {
                    answer.set(index)
                    answered.signal()
                }
                answered.wait()
                sum &+= answer.value
            }
            return sum
        }
    }
}

private struct AwaitMeasure: LoopMeasure {
    func callAsFunction<L: Loop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        let loop = try L()
        defer { loop.stop() }
        return try SubmitMeasure.measureInTask(count, conditions) { range in
            var sum = 0
            for index in range {
                sum &+= await withCheckedContinuation { continuation in
                    loop.post { continuation.resume(returning: index) }
                }
            }
            return sum
        }
    }
}
