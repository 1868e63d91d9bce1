// idle
//
// Question: what do worker threads cost that have nothing to do?
// Method:   64 of them are started and then watched for 5 seconds through /proc: how often the
//           kernel switched to one of them, and their time on a cpu; before and after the start,
//           how many descriptors the process has open and how much memory it occupies. Every round
//           is a process of its own, because memory that was touched once stays. "bare" threads
//           are pthreads that sleep on a futex. Allocations are those of starting them.
// Units:    context switches and microseconds of all 64 threads together; descriptors, KiB,
//           allocations, bytes and microseconds of starting per thread.
// To beat:  0 switches and 0 descriptors; 8.25 KiB and 76 µs of a bare pthread, 9.78 KiB of one with
//           a queue, 12.6 KiB and 3 descriptors of Foundation's run loop.
//           Source: peers.md, II.5, measured 2026-11-21 with 1,000 threads.

internal import CMeasure
internal import Dispatch
internal import Kernel
internal import WorkerThreads

extension Scenario {
    static let idle = Scenario(
        name: "idle",
        question: "What do worker threads cost that have nothing to do?",
        toBeat: "0 switches, 0 descriptors; KiB per thread: bare pthread 8.25, RunLoop 12.6 "
            + "(peers.md II.5)",
        metrics: [
            Metric(name: "context switches", unit: "of all threads in 5 s"),
            Metric(name: "cpu", unit: "µs of all threads in 5 s"),
            Metric(name: "descriptors", unit: "per thread"),
            Metric(name: "resident memory", unit: "KiB per thread"),
            Metric(name: "allocations", unit: "per thread"),
            Metric(name: "bytes", unit: "allocated per thread"),
            Metric(name: "start", unit: "µs per thread"),
        ],
        cases: [
            contender("WorkerThread") { count in
                var workers: [WorkerThread] = []
                for index in 0..<count { workers.append(try WorkerThread(name: "idle-\(index)")) }
                return {
                    for worker in workers { worker.stop() }
                    for worker in workers { worker.join() }
                }
            },
            contender("Thread+RunLoop") { count in
                var loops: [FoundationPoster] = []
                for _ in 0..<count { loops.append(try FoundationPoster()) }
                return { for loop in loops { loop.stop() } }
            },
            contender("floor: bare thread") { count in
                let end = Latch()
                let started = DispatchSemaphore(value: 0)
                for index in 0..<count {
                    _ = try SystemThread(name: "idle-\(index)") {
                        started.signal()
                        end.wait()
                    }
                    started.wait()
                }
                return { end.open() }
            },
        ], tracedOperations: nil)

    /// - Parameter start: starts so many threads; returns what ends them.
    private static func contender(
        _ name: String, start: @escaping @Sendable (Int) throws -> () -> Void
    ) -> Case {
        Case(
            group: "64 threads", contender: name, operations: 64, quickOperations: 4
        ) { count, conditions in try watch(count, conditions, start) }
    }

    private static func watch(
        _ count: Int, _ conditions: Conditions, _ start: (Int) throws -> () -> Void
    ) throws -> Sample {
        // Whatever is loaded and allocated on first use is not the threads' own.
        let endFirst = try start(1)
        endFirst()
        measure_sleep(conditions.isQuick ? 5_000_000 : 20_000_000)
        let tasksBefore = TaskCounts.names()
        let memoryBefore = try ProcessStatistics.residentBytes()
        let descriptorsBefore = try ProcessStatistics.openDescriptorCount()
        measure_allocations_start()
        let begin = nanoseconds()
        let end = try start(count)
        let startDuration = nanoseconds() - begin
        let allocations = measure_allocations_stop()
        defer { end() }
        // Until all sleep: the last of them may still be on their way.
        measure_sleep(conditions.isQuick ? 10_000_000 : 500_000_000)
        let tasks = TaskCounts.names().subtracting(tasksBefore)
        guard tasks.count == count else {
            throw WorkbenchError("\(tasks.count) threads run, not \(count)")
        }
        let memory = try ProcessStatistics.residentBytes() - memoryBefore
        let descriptors = try ProcessStatistics.openDescriptorCount() - descriptorsBefore
        let before = TaskCounts.sum(of: tasks)
        measure_sleep(conditions.isQuick ? 10_000_000 : 5_000_000_000)
        let used = TaskCounts.sum(of: tasks) - before
        var sample = Sample()
        sample.values["context switches"] = Double(used.contextSwitches)
        sample.values["cpu"] = Double(used.cpuNanoseconds) / 1_000
        sample.values["descriptors"] = Double(descriptors) / Double(count)
        sample.values["resident memory"] = Double(memory) / 1_024 / Double(count)
        sample.values["allocations"] = Double(allocations.count) / Double(count)
        sample.values["bytes"] = Double(allocations.bytes) / Double(count)
        sample.values["start"] = Double(startDuration) / 1_000 / Double(count)
        sample.hash = UInt64(tasks.count)
        return sample
    }
}
