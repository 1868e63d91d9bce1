// wake
//
// Question: what does it cost to wake a thread that sleeps, and how soon does it run?
// Method:   a closure is posted to a thread that has been asleep for 300 µs; "call" is the poster's
//           own time, "start" the time from before the call until the closure runs. 3,000 posts a
//           round, every round a process of its own. The floor is a bare futex, in C. Across two
//           cpus of a small virtual machine this measures mostly how often the scheduler wakes
//           the other cpu: set goals on the figures of --pin.
// Units:    microseconds; system calls per post, without those of the pause.
// To beat:  call p50 / start p50: floor 6.03 / 4.31, DispatchQueue 7.71 / 4.92, SwiftNIO 8.62 / 7.13,
//           a condition variable 7.03 / 4.85, RunLoop 13.3 / 14.9 (unpinned).
//           Source: peers.md, II.1, measured 2026-11-21 on 2 virtual cpus.

internal import CMeasure
internal import Synchronization

extension Scenario {
    static let wake = Scenario(
        name: "wake",
        question: "What does it cost to wake a thread that sleeps, and how soon does it run?",
        toBeat: "call p50 / start p50, µs: futex 6.03 / 4.31, DispatchQueue 7.71 / 4.92, "
            + "RunLoop 13.3 / 14.9 (peers.md II.1)",
        metrics: [
            Metric(name: "call p50", unit: "µs"),
            Metric(name: "call p99", unit: "µs"),
            Metric(name: "start p50", unit: "µs"),
            Metric(name: "start p99", unit: "µs"),
            Scenario.systemCalls,
        ],
        cases: [
            contender("WorkerThread.submit", WorkerPoster.self),
            contender("CommandBuffer.add+fire", CommandBufferPoster.self),
            contender("DispatchQueue.async", DispatchPoster.self),
            contender("RunLoop.perform+wake", FoundationPoster.self),
            contender("floor: lock and batch", BatchPoster.self),
            Case(
                group: group, contender: "floor: futex", operations: wakeCount,
                quickOperations: quickWakeCount
            ) { count, _ in try futexFloor(count) },
        ], tracedOperations: 500)

    private static let group = "asleep for 300 µs"
    private static let wakeCount = 3_000
    private static let quickWakeCount = 20
    private static let pauseNanoseconds: Int64 = 300_000

    private static func contender<Contender: Poster>(
        _ name: String, _ type: Contender.Type
    ) -> Case {
        Case(
            group: group, contender: name, operations: wakeCount,
            quickOperations: quickWakeCount
        ) { count, _ in try wake(Contender(), count) }
    }

    /// When the closure that was posted last began to run.
    private final class Started: Sendable {
        let at = Atomic<Int64>(0)
    }

    private static func wake(_ poster: some Poster, _ count: Int) throws -> Sample {
        defer { poster.stop() }
        var calls: [Int64] = []
        var starts: [Int64] = []
        calls.reserveCapacity(count)
        starts.reserveCapacity(count)
        let started = Started()
        for _ in 0..<count {
            measure_sleep(pauseNanoseconds)
            started.at.store(0, ordering: .relaxed)
            let before = nanoseconds()
            poster.post { started.at.store(nanoseconds(), ordering: .releasing) }
            calls.append(nanoseconds() - before)
            var start = started.at.load(ordering: .acquiring)
            while start == 0 {
                measure_sleep(1_000)
                start = started.at.load(ordering: .acquiring)
            }
            starts.append(start - before)
        }
        return sample(calls, starts)
    }

    private static func futexFloor(_ count: Int) throws -> Sample {
        var calls = [Int64](repeating: 0, count: count)
        var starts = [Int64](repeating: 0, count: count)
        let result = unsafe calls.withUnsafeMutableBufferPointer { calls in
            unsafe starts.withUnsafeMutableBufferPointer { starts in
                unsafe measure_futex_wakes(
                    CInt(count), pauseNanoseconds, calls.baseAddress, starts.baseAddress)
            }
        }
        guard result == 0 else { throw WorkbenchError("no thread for the floor: \(result)") }
        return sample(calls, starts)
    }

    private static func sample(_ calls: [Int64], _ starts: [Int64]) -> Sample {
        var sample = Sample()
        sample.values["call p50"] = percentile(50, of: calls) / 1_000
        sample.values["call p99"] = percentile(99, of: calls) / 1_000
        sample.values["start p50"] = percentile(50, of: starts) / 1_000
        sample.values["start p99"] = percentile(99, of: starts) / 1_000
        // How many were posted and ran: each one's time was waited for.
        sample.hash = UInt64(starts.count { $0 > 0 })
        return sample
    }
}
