// wake
//
// Question: What does it cost to wake a thread that sleeps, and how soon does it run?
// Method:   A closure is posted to a thread that has been asleep for 300 µs; "call" is the poster's
//           own time, "start" the time from before the call until the closure runs. 2,000 posts a
//           round, every round a process of its own. The floor is a bare futex, in C; "eventfd
//           floor" an eventfd that epoll waits for. Across two cpus of a small virtual machine this
//           measures mostly how often the scheduler wakes the other cpu.
// Units:    Microseconds; system calls per post, without those of the pause.

internal import CMeasure
internal import Synchronization

extension Scenario {
    static let wake = Scenario(
        name: "wake",
        question: "What does it cost to wake a thread that sleeps, and how soon does it run?",
        note: "floor: one futex; eventfd floor: one eventfd, with epoll",
        metrics: [
            Metric(name: "call p50", unit: "µs"),
            Metric(name: "call p99", unit: "µs"),
            Metric(name: "start p50", unit: "µs"),
            Metric(name: "start p99", unit: "µs"),
            Scenario.systemCalls,
        ],
        cases: Cases.ofLoops(group, wakeCount, quick: quickWakeCount, WakeMeasure()) + [
            floor(Contender.floor, isDescriptor: false),
            floor("eventfd floor", isDescriptor: true),
        ], tracedOperations: 500)

    private static let group = "parked"
    private static let wakeCount = 2_000
    private static let quickWakeCount = 20

    private static func floor(_ name: String, isDescriptor: Bool) -> Case {
        Case(
            group: group, contender: name, operations: wakeCount, quickOperations: quickWakeCount
        ) { count, _ in
            var calls = [Int64](repeating: 0, count: count)
            var starts = [Int64](repeating: 0, count: count)
            let result = unsafe calls.withUnsafeMutableBufferPointer { calls in
                unsafe starts.withUnsafeMutableBufferPointer { starts in
                    isDescriptor
                        ? unsafe measure_eventfd_wakes(
                            CInt(count), pauseNanoseconds, calls.baseAddress, starts.baseAddress)
                        : unsafe measure_futex_wakes(
                            CInt(count), pauseNanoseconds, calls.baseAddress, starts.baseAddress)
                }
            }
            guard result == 0 else { throw WorkbenchError("no thread for the floor: \(result)") }
            return WakeMeasure.sample(calls, starts)
        }
    }
}

private let pauseNanoseconds: Int64 = 300_000

private struct WakeMeasure: LoopMeasure {
    /// The time when the latest closure began to run.
    private final class Started: Sendable {
        let at = Atomic<Int64>(0)
    }

    func callAsFunction<L: Loop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        let loop = try L()
        defer { loop.stop() }
        var calls: [Int64] = []
        var starts: [Int64] = []
        calls.reserveCapacity(count)
        starts.reserveCapacity(count)
        let started = Started()
        for _ in 0..<count {
            measure_sleep(pauseNanoseconds)
            started.at.store(0, ordering: .relaxed)
            let before = nanoseconds()
            loop.post { started.at.store(nanoseconds(), ordering: .releasing) }
            calls.append(nanoseconds() - before)
            var start = started.at.load(ordering: .acquiring)
            while start == 0 {
                measure_sleep(1_000)
                start = started.at.load(ordering: .acquiring)
            }
            starts.append(start - before)
        }
        return Self.sample(calls, starts)
    }

    static func sample(_ calls: [Int64], _ starts: [Int64]) -> Sample {
        var sample = Sample()
        sample.values["call p50"] = percentile(50, of: calls) / 1_000
        sample.values["call p99"] = percentile(99, of: calls) / 1_000
        sample.values["start p50"] = percentile(50, of: starts) / 1_000
        sample.values["start p99"] = percentile(99, of: starts) / 1_000
        // The number of posts that ran: each one's time was waited for.
        sample.hash = UInt64(starts.count { $0 > 0 })
        return sample
    }
}
