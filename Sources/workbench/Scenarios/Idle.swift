// idle
//
// Question: What do idle worker threads cost?
// Method:   1,000 of them are started, each when the one before is ready, and then watched for one
//           second through /proc: context switches to one of them, and their time on a cpu; before
//           and after the start, the number of descriptors of the process and its memory. Every
//           round is a process of its own, because memory that was touched once stays. The floor is
//           pthreads that sleep on a futex, in C. Allocations are those of starting them. GCD's
//           queues have no threads. The memory of a thread that has allocated is the allocator's:
//           so there is a group with glibc's.
// Units:    Context switches and microseconds of all threads together; descriptors, KiB,
//           allocations, bytes and microseconds of starting per thread.

internal import CMeasure
internal import Dispatch
internal import Kernel

extension Scenario {
    static let idle = Scenario(
        name: "idle",
        question: "What do worker threads cost that have nothing to do?",
        note: "floor: pthreads that sleep on a futex",
        metrics: [
            Metric(name: "context switches", unit: "of all threads in 1 s"),
            Metric(name: "cpu", unit: "µs of all threads in 1 s"),
            Metric(name: "descriptors", unit: "per thread"),
            Metric(name: "resident memory", unit: "KiB per thread"),
            Metric(name: "allocations", unit: "per thread"),
            Metric(name: "bytes", unit: "allocated per thread"),
            Metric(name: "start", unit: "µs per thread"),
        ],
        cases: Cases.ofLoops("1,000 threads", 1_000, quick: 4, IdleMeasure()).filter {
            $0.contender != Contender.dispatch
        } + [floor("1,000 threads")] + systemCases, tracedOperations: nil)

    private static var systemCases: [Case] {
        let group = "1,000 threads, glibc's malloc"
        let cases =
            Cases.ofLoops(group, 1_000, quick: 4, IdleMeasure()).filter {
                $0.contender == Contender.ours || $0.contender == Contender.handmade
            } + [floor(group)]
        return cases.map { item in
            var item = item
            item.hasSystemMalloc = true
            return item
        }
    }

    private static func floor(_ group: String) -> Case {
        Case(
            group: group, contender: Contender.floor, operations: 1_000, quickOperations: 4
        ) { count, conditions in
            try IdleMeasure.watch(count, conditions) { count in
                let result = measure_threads_start(CInt(count))
                guard result == 0 else { throw WorkbenchError("no thread: errno \(-result)") }
                return { measure_threads_end() }
            }
        }
    }
}

private struct IdleMeasure: LoopMeasure {
    func callAsFunction<L: Loop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        try Self.watch(count, conditions) { count in
            let ready = DispatchSemaphore(value: 0)
            var loops: [L] = []
            for _ in 0..<count {
                let loop = try L()
                // Not all of them wait in their start until the thread runs.
                loop.post { ready.signal() }
                ready.wait()
                loops.append(loop)
            }
            return { for loop in loops { loop.stop() } }
        }
    }

    static func watch(
        _ count: Int, _ conditions: Conditions, _ start: (Int) throws -> () -> Void
    ) throws -> Sample {
        // Code and memory that the first use loads and allocates are not the threads' own.
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
        // Until all sleep: the last of them may still be starting.
        measure_sleep(conditions.isQuick ? 10_000_000 : 200_000_000)
        let tasks = TaskCounts.names().subtracting(tasksBefore)
        guard tasks.count == count else {
            throw WorkbenchError("\(tasks.count) threads run, not \(count)")
        }
        let memory = try ProcessStatistics.residentBytes() - memoryBefore
        let descriptors = try ProcessStatistics.openDescriptorCount() - descriptorsBefore
        let before = TaskCounts.sum(of: tasks)
        measure_sleep(conditions.isQuick ? 10_000_000 : 1_000_000_000)
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
