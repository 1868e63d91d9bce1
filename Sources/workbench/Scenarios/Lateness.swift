// lateness
//
// Question: How late do timers fire?
// Method:   10,000 one-shot timers on one loop, due at random within one second that begins 100 ms
//           after they are scheduled; each records the time from its deadline to its call. "early"
//           counts those that fired before it. The floor is one thread that waits for one deadline
//           after the other by a futex; "timerfd floor" the same by a timerfd and epoll. Every
//           round is a process of its own.
// Units:    Microseconds; milliseconds of the whole process on a cpu.

internal import CMeasure
internal import Dispatch
internal import Kernel

extension Scenario {
    static let lateness = Scenario(
        name: "lateness",
        question: "How late do timers fire, 10,000 within a second?",
        note: "floor: one futex that is waited for again and again, with the least timer slack",
        metrics: [
            Metric(name: "late p50", unit: "µs"),
            Metric(name: "late p99", unit: "µs"),
            Metric(name: "late max", unit: "µs"),
            Metric(name: "early", unit: "of 10,000"),
            Metric(name: "cpu", unit: "ms, whole process"),
        ],
        cases: Cases.ofTimerLoops(
            group, timerCount, quick: 100, ours: WorkerLoop.self, LatenessMeasure()
        ) + [
            floor(Contender.floor, isDescriptor: false),
            floor("timerfd floor", isDescriptor: true),
        ], tracedOperations: nil)

    private static let group = "10,000 timers in 1 s"
    private static let timerCount = 10_000

    private static func floor(_ name: String, isDescriptor: Bool) -> Case {
        Case(group: group, contender: name, operations: timerCount, quickOperations: 100) {
            count, conditions in
            let cpuBefore = try ProcessStatistics.cpuNanoseconds()
            let deadlines = LatenessMeasure.deadlines(count, conditions).sorted()
            var lateness = [Int64](repeating: 0, count: count)
            let result = unsafe deadlines.withUnsafeBufferPointer { deadlines in
                unsafe lateness.withUnsafeMutableBufferPointer { lateness in
                    isDescriptor
                        ? unsafe measure_lateness_timerfd(
                            CInt(count), deadlines.baseAddress, lateness.baseAddress)
                        : unsafe measure_lateness_futex(
                            CInt(count), deadlines.baseAddress, lateness.baseAddress)
                }
            }
            guard result == 0 else { throw WorkbenchError("no floor: errno \(-result)") }
            return try LatenessMeasure.sample(lateness, cpuBefore)
        }
    }
}

private struct LatenessMeasure: TimerMeasure {
    func callAsFunction<L: TimerLoop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        let loop = try L()
        defer { loop.stop() }
        let cpuBefore = try ProcessStatistics.cpuNanoseconds()
        let board = TimerBoard(Self.deadlines(count, conditions))
        loop.post {
            let timers = loop.makeTimers(board)
            for index in 0..<count { timers.schedule(index, at: board.deadlines[index]) }
            board.timers = timers
        }
        board.done.wait()
        return try Self.sample(board.lateness, cpuBefore)
    }

    static func deadlines(_ count: Int, _ conditions: Conditions) -> [Int64] {
        // In a small round as dense as in a large one.
        let all = Deadlines.random(count, from: 100_000_000, count: 1)
        guard conditions.isQuick, let first = all.min() else { return all }
        return all.map { first + ($0 - first) / 100 }
    }

    static func sample(_ lateness: [Int64], _ cpuBefore: Int) throws -> Sample {
        var sample = Sample()
        sample.values["late p50"] = percentile(50, of: lateness) / 1_000
        sample.values["late p99"] = percentile(99, of: lateness) / 1_000
        sample.values["late max"] = percentile(100, of: lateness) / 1_000
        sample.values["early"] = Double(lateness.count { $0 < 0 })
        let cpu = try ProcessStatistics.cpuNanoseconds() - cpuBefore
        sample.values["cpu"] = Double(cpu) / 1_000_000
        sample.hash = UInt64(lateness.count)
        return sample
    }
}
