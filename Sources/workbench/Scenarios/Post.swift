// post
//
// Question: what does it cost to hand a closure to a thread that is awake?
// Method:   one producer posts a million closures (RunLoop.perform, being slow: a tenth of that) to
//           one thread. "total" is the time until all have run, "call" the producer's own, "cpu"
//           that of all threads. "held" posts while the thread is blocked in a closure, so that
//           "held call" is pure queueing and "held drain" pure performing. "bare" closures capture
//           nothing, "capturing" ones a reference and an integer, "4 producers" are four threads
//           that post a quarter of the capturing ones each. Every round is a process of its own.
//           Allocations: calls of malloc and its kin in the whole process, in a further pass.
//           System calls: strace's count of 60,000 posts less that of 10,000.
// Units:    nanoseconds, allocations, bytes and system calls per post.
// To beat:  capturing, 1 producer: DispatchQueue 409 ns total and 3 allocations, SwiftNIO 390 and 1,
//           RunLoop 3,041 and 12; a lock and a batch (the floor) 164 and 1. Bare: 308, 236, 3,053,
//           68. Source: peers.md, II.1 and II.6, measured 2026-11-21 on 2 virtual cpus.

internal import CMeasure
internal import Dispatch
internal import Kernel

extension Scenario {
    static let post = Scenario(
        name: "post",
        question: "What does it cost to hand a closure to a thread that is awake?",
        toBeat: "capturing, ns total: DispatchQueue 409, SwiftNIO 390, RunLoop 3,041, floor 164 "
            + "(peers.md II.1)",
        metrics: [
            Metric(name: "total", unit: "ns per post"),
            Metric(name: "call", unit: "ns per post"),
            Metric(name: "cpu", unit: "ns per post, all threads"),
            Metric(name: "held call", unit: "ns per post"),
            Metric(name: "held drain", unit: "ns per post"),
            Metric(name: "allocations", unit: "per post"),
            Metric(name: "bytes", unit: "allocated per post"),
            Scenario.systemCalls,
        ],
        cases: PostShape.allCases.flatMap { shape in
            [
                shape.contender("WorkerThread.submit", WorkerPoster.self),
                shape.contender("CommandBuffer.add+fire", CommandBufferPoster.self),
                shape.contender("DispatchQueue.async", DispatchPoster.self),
                shape.contender(
                    "RunLoop.perform+wake", FoundationPoster.self, operations: 100_000),
                shape.contender("floor: lock and batch", BatchPoster.self),
            ]
        }, tracedOperations: 10_000)
}

/// What is posted, and by how many.
private enum PostShape: String, CaseIterable {
    case bare = "bare"
    case capturing = "capturing"
    case producers = "4 producers"

    private static let producerCount = 4

    func contender<Contender: Poster>(
        _ name: String, _ type: Contender.Type, operations: Int = 1_000_000
    ) -> Case {
        Case(
            group: rawValue, contender: name, operations: operations, quickOperations: 4_000
        ) { count, conditions in
            try measure(Contender(), count, conditions)
        }
    }

    private func measure(
        _ poster: some Poster, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        defer { poster.stop() }
        var sample = Sample()
        if !conditions.isTraced { _ = try pass(poster, count / 10) }
        let timed = try pass(poster, count)
        let perPost = 1 / Double(count)
        sample.hash = timed.hash
        sample.values["total"] = Double(timed.total) * perPost
        if self != .producers { sample.values["call"] = Double(timed.call) * perPost }
        sample.values["cpu"] = Double(timed.cpu) * perPost
        if conditions.isTraced { return sample }
        if self != .producers {
            let held = try heldPass(poster, count)
            sample.values["held call"] = Double(held.call) * perPost
            sample.values["held drain"] = Double(held.drain) * perPost
        }
        measure_allocations_start()
        _ = try pass(poster, count)
        let allocations = measure_allocations_stop()
        sample.values["allocations"] = Double(allocations.count) * perPost
        sample.values["bytes"] = Double(allocations.bytes) * perPost
        return sample
    }

    private struct Pass {
        var total: Int64 = 0
        var call: Int64 = 0
        var drain: Int64 = 0
        var cpu = 0
        var hash: UInt64 = 0
    }

    private func pass(_ poster: some Poster, _ count: Int) throws -> Pass {
        let tally = self == .bare ? Tally.shared : Tally()
        tally.reset(expecting: count)
        let cpuBefore = try ProcessStatistics.cpuNanoseconds()
        let start = nanoseconds()
        var pass = Pass()
        if self == .producers {
            try postByProducers(poster, tally, count)
        } else {
            post(to: poster, tally, 0..<count)
            pass.call = nanoseconds() - start
        }
        tally.wait()
        pass.total = nanoseconds() - start
        pass.cpu = try ProcessStatistics.cpuNanoseconds() - cpuBefore
        pass.hash = try check(tally, count)
        return pass
    }

    private func heldPass(_ poster: some Poster, _ count: Int) throws -> Pass {
        let tally = self == .bare ? Tally.shared : Tally()
        tally.reset(expecting: count)
        let (isHeld, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        poster.post {
            isHeld.signal()
            gate.wait()
        }
        isHeld.wait()
        var pass = Pass()
        let start = nanoseconds()
        post(to: poster, tally, 0..<count)
        let posted = nanoseconds()
        gate.signal()
        tally.wait()
        pass.call = posted - start
        pass.drain = nanoseconds() - posted
        pass.hash = try check(tally, count)
        return pass
    }

    @inline(__always)
    private func post(to poster: some Poster, _ tally: Tally, _ range: Range<Int>) {
        if self == .bare {
            for _ in range { poster.postBare() }
        } else {
            for index in range { poster.post(tally, index) }
        }
    }

    private func postByProducers(_ poster: some Poster, _ tally: Tally, _ count: Int) throws {
        for producer in 0..<Self.producerCount {
            let first = count * producer / Self.producerCount
            let last = count * (producer + 1) / Self.producerCount
            // Let go of at once, it ends by itself; all of its work is waited for.
            _ = try SystemThread(name: "producer") {
                for index in first..<last { poster.post(tally, index) }
            }
        }
    }

    private func check(_ tally: Tally, _ count: Int) throws -> UInt64 {
        let expected =
            self == .bare
            ? UInt64(count) &* Tally.hash(of: 1..<2) : Tally.hash(of: 0..<count)
        guard tally.hash == expected else {
            throw WorkbenchError("posted work was lost, or done twice: \(tally.hash)")
        }
        return expected
    }
}

/// Now, by the monotonic clock.
func nanoseconds() -> Int64 { SystemClock().now().nanoseconds }
