// timers
//
// Question: What does it cost to schedule a timer and to cancel it, with many others pending?
// Method:   On the loop's own thread, one-shot timers that are due in 1 to 2 hours, in random
//           order, are scheduled one after another until the given number is pending; then all of
//           them are cancelled in the order in which they were scheduled. Of CFRunLoop's only 2,000
//           are cancelled, and a million is not tried: each takes time for all that are pending.
//           Work that GCD's cancel leaves for later is not counted, nor the freeing of libuv's and
//           libev's handles.
//
//           The floor is a loop in C without anything around it: malloc(3) of a closure's 32 bytes,
//           and a 4-ary heap of 16 bytes for each; a cancel is free(3), and the dead entries are
//           never looked for. Ours are time-outs, ThreadRunLoop.schedule, whose closure a cancel
//           frees; "as objects" they are ThreadRunLoop.Timer. Every round is a process of its own.
// Units:    Nanoseconds and allocations per timer.

internal import CMeasure
internal import Dispatch
internal import Synchronization

extension Scenario {
    static let timers = Scenario(
        name: "timers",
        question: "What does it cost to schedule a timer and to cancel it, with many pending?",
        note: "one-shot timers, due in 1 to 2 hours, on the loop's own thread",
        metrics: [
            Metric(name: "schedule", unit: "ns"),
            Metric(name: "cancel", unit: "ns"),
            Metric(name: "allocations", unit: "per timer"),
        ],
        cases: Cases.ofTimerLoops(
            "100,000 timers", 100_000, quick: 500, ours: TimeoutLoop.self, ScheduleMeasure())
            + Cases.ofTimerLoops(
                "1,000,000 timers", 1_000_000, quick: 1_000, ours: TimeoutLoop.self,
                coreFoundationObstacle: "would take hours: 0.1 ms for each with 100,000 pending",
                ScheduleMeasure())
            + [
                Cases.ofTimerObjects(
                    "100,000 timers, as objects", 100_000, quick: 500, ScheduleMeasure()),
                Cases.ofTimerObjects(
                    "1,000,000 timers, as objects", 1_000_000, quick: 1_000, ScheduleMeasure()),
                floor("100,000 timers", 100_000, quick: 500),
                floor("1,000,000 timers", 1_000_000, quick: 1_000),
            ],
        tracedOperations: nil)

    private static func floor(_ group: String, _ operations: Int, quick: Int) -> Case {
        Case(
            group: group, contender: Contender.floor, operations: operations,
            quickOperations: quick
        ) { count, _ in
            let deadlines = Deadlines.random(count, from: 3_600_000_000_000, count: 3_600)
            let closureSize = 32
            var (scheduling, cancelling): (Int64, Int64) = (0, 0)
            measure_allocations_start()
            let result = unsafe deadlines.withUnsafeBufferPointer { deadlines in
                unsafe measure_timers(
                    count, deadlines.baseAddress, closureSize, &scheduling, &cancelling)
            }
            let allocations = measure_allocations_stop()
            guard result == 0 else { throw WorkbenchError("no floor: errno \(-result)") }
            var sample = Sample()
            sample.values["schedule"] = Double(scheduling) / Double(count)
            sample.values["cancel"] = Double(cancelling) / Double(count)
            sample.values["allocations"] = Double(allocations.count) / Double(count)
            sample.hash = UInt64(count)
            return sample
        }
    }
}

private struct ScheduleMeasure: TimerMeasure {
    private static let slowCancelCount = 2_000

    func callAsFunction<L: TimerLoop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        let isSlow = type == CoreFoundationLoop.self && count > Self.slowCancelCount
        let cancelCount = isSlow ? Self.slowCancelCount : count
        let board = TimerBoard(Deadlines.random(count, from: 3_600_000_000_000, count: 3_600))
        let result = Mutex<Sample?>(nil)
        let done = DispatchSemaphore(value: 0)
        let loop = try L()
        loop.post {
            let timers = loop.makeTimers(board)
            measure_allocations_start()
            let start = nanoseconds()
            for index in 0..<count { timers.schedule(index, at: board.deadlines[index]) }
            let scheduled = nanoseconds()
            let allocations = measure_allocations_stop()
            let cancelStart = nanoseconds()
            for index in 0..<cancelCount { timers.cancel(index) }
            let cancelled = nanoseconds()
            var sample = Sample()
            sample.values["schedule"] = Double(scheduled - start) / Double(count)
            sample.values["cancel"] = Double(cancelled - cancelStart) / Double(cancelCount)
            sample.values["allocations"] = Double(allocations.count) / Double(count)
            sample.hash = UInt64(count)
            board.timers = timers
            result.withLock { $0 = sample }
            done.signal()
        }
        done.wait()
        // Ending the loop would take CoreFoundation as long as cancelling the other timers.
        if !isSlow { loop.stop() }
        board.timers = isSlow ? board.timers : nil
        guard let sample = result.withLock({ $0 }) else { throw WorkbenchError("no sample") }
        return sample
    }
}

/// The deadlines of timers.
enum Deadlines {
    /// Random deadlines, the same in every round.
    ///
    /// They begin `first` nanoseconds from now and spread over `seconds`.
    static func random(_ number: Int, from first: Int64, count seconds: Int64) -> [Int64] {
        let start = nanoseconds() + first
        var state: UInt64 = 88_172_645_463_325_252
        return (0..<number).map { _ in
            // xorshift64: Marsaglia, "Xorshift RNGs", 2003.
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return start + Int64(state % UInt64(seconds * 1_000_000_000))
        }
    }
}
