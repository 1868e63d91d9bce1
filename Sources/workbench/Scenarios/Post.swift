// post
//
// Question: What does it cost to hand work to a thread that is awake?
// Method:   One producer posts 500,000 closures (CFRunLoop, being slow: a tenth of that) to one
//           thread. "total" is the time until all have run, "call" the producer's own, "cpu" that
//           of all threads. "busy" posts while the thread is blocked in a closure, so that "busy
//           call" is pure queueing and "busy drain" pure performing. "bare" closures capture
//           nothing, "capturing" ones a reference and an integer, "4 producers" are four threads
//           that post a quarter each, of the capturing ones or of "commands", plain values. C
//           libraries post a function, a context and a number, which is a plain value, too.
//
//           The floor is a ring through which the other thread gets memory that it frees, 32 bytes
//           each as a closure's context; or through which it gets the address of nothing (bare,
//           commands). "counted" is the floor for closures that capture an object: the poster
//           increments the reference count; the other thread writes to the object, as the posted
//           work does, and decrements the counts of the block and of the object, each as Swift
//           does, by a load and an exchange. There is room for all posts in flight. With four
//           producers each claims its slot by an addition, and with one for posts that capture
//           nothing, as every loop must that any thread may post to.
//
//           "line" is the time of a cache line to the other core and back: on a virtual machine
//           that changes by a factor of five from one second to the next, and every other figure
//           with it. Posting while the thread is busy is done twice: "fresh call" into memory that
//           the process has never touched, which is the kernel's work, "busy call" and "busy drain"
//           into memory that is there. Every round is a process of its own.
//
//           Allocations: calls of malloc and its kin in the whole process, in further passes: with
//           no more than 4,000 posts waiting at any time, and of the burst of all of them. System
//           calls: strace's count of 12,000 posts less that of 2,000.
// Units:    Nanoseconds, allocations, bytes and system calls per post.

internal import CMeasure
internal import Dispatch
internal import Kernel

extension Scenario {
    static let post = Scenario(
        name: "post",
        question: "What does it cost to hand work to a thread that is awake?",
        note: "floor: 32 bytes allocated here and freed there, through a ring; for what captures "
            + "nothing, the ring alone; counted: with an object that both count and use, or for "
            + "what captures nothing with slots claimed by an addition, so that any thread may "
            + "post",
        metrics: [
            Metric(name: "total", unit: "ns"),
            Metric(name: "call", unit: "ns"),
            Metric(name: "cpu", unit: "ns, all threads"),
            Metric(name: "busy call", unit: "ns"),
            Metric(name: "busy drain", unit: "ns"),
            Metric(name: "fresh call", unit: "ns, into memory never used before"),
            Metric(name: "line", unit: "ns, to the other core and back"),
            Metric(name: "allocations", unit: "per post"),
            Metric(name: "bytes", unit: "allocated per post"),
            Metric(name: "burst allocations", unit: "per post, with up to all of them waiting"),
            Scenario.systemCalls,
        ],
        cases: closures("capturing", PostMeasure(shape: .capturing), blockSize: contextSize)
            + closures(
                "capturing, glibc's malloc", PostMeasure(shape: .capturing), blockSize: contextSize,
                hasSystemMalloc: true)
            + closures("bare", PostMeasure(shape: .bare), blockSize: 0)
            + closures(
                "4 producers",
                PostMeasure(shape: .capturing, producerCount: producerCount), blockSize: nil)
            + commands("commands", PostMeasure(shape: .commands))
            + commands(
                "4 producers, commands",
                PostMeasure(shape: .commands, producerCount: producerCount)),
        tracedOperations: 2_000)

    private static let producerCount = 4

    private static let postCount = 500_000
    private static let slowPostCount = 50_000
    private static let quickPostCount = 4_000

    private static func closures(
        _ group: String, _ measure: PostMeasure, blockSize: Int?, hasSystemMalloc: Bool = false
    ) -> [Case] {
        var cases = Cases.ofLoops(
            group, postCount, quick: quickPostCount, slow: slowPostCount, measure)
        if let blockSize { cases.append(floor(group, measure, blockSize)) }
        cases.append(measure.shape == .bare ? claimed(group) : counted(group, measure))
        return cases.map { item in
            var item = item
            item.hasSystemMalloc = hasSystemMalloc
            return item
        }
    }

    private static func floor(_ group: String, _ measure: PostMeasure, _ blockSize: Int) -> Case {
        Case(
            group: group, contender: Contender.floor, operations: postCount,
            quickOperations: quickPostCount
        ) { count, _ in
            var sample = Sample()
            let duration =
                measure.isByMany
                ? measure_handover_of_many(count, blockSize, CInt(measure.producerCount), 0)
                : measure_handover(count, blockSize, ringSlotCount, 0)
            sample.values["total"] = try perPost(duration, count)
            sample.values["line"] = try perPost(measure_line(lineCount), lineCount - 1)
            sample.hash = UInt64(count)
            return sample
        }
    }

    private static func counted(_ group: String, _ measure: PostMeasure) -> Case {
        Case(
            group: group, contender: Contender.counted, operations: postCount,
            quickOperations: quickPostCount
        ) { count, _ in
            var slotCount = ringSlotCount
            while slotCount < count { slotCount *= 2 }
            let duration =
                measure.isByMany
                ? measure_handover_of_many(count, contextSize, CInt(measure.producerCount), 1)
                : measure_handover(count, contextSize, slotCount, 1)
            var sample = Sample()
            sample.values["total"] = try perPost(duration, count)
            sample.hash = UInt64(count)
            return sample
        }
    }

    /// The ring alone, with a slot that is claimed by an addition: any thread may post here.
    private static func claimed(_ group: String) -> Case {
        Case(
            group: group, contender: Contender.counted, operations: postCount,
            quickOperations: quickPostCount
        ) { count, _ in
            var sample = Sample()
            sample.values["total"] = try perPost(measure_handover_of_many(count, 0, 1, 0), count)
            sample.hash = UInt64(count)
            return sample
        }
    }

    private static func perPost(_ duration: Int64, _ count: Int) throws -> Double {
        guard duration >= 0 else { throw WorkbenchError("no floor: errno \(-duration)") }
        return Double(duration) / Double(count)
    }

    /// The size of a closure that captures a reference and an integer.
    private static let contextSize = 32

    /// The number of posts that may be in flight in the floor's ring.
    private static let ringSlotCount = 4_096
    private static let lineCount = 2_000

    private static func commands(_ group: String, _ measure: PostMeasure) -> [Case] {
        let make = CommandCaseMaker(group: group, measure: measure)
        return [
            make(Contender.ours, CommandBufferLoop.self),
            make(Contender.handmade, HandmadeCommandLoop.self),
            make(Contender.dispatch, DispatchCommandLoop.self),
            make(Contender.coreFoundation, CoreFoundationCommandLoop.self),
        ] + Cases.ofLibraries(make) + [floor(group, measure, 0)]
            + (measure.isByMany ? [] : [claimed(group)])
    }

    private struct CommandCaseMaker: LibraryCaseMaker {
        let group: String
        let measure: PostMeasure

        func callAsFunction<L: CommandLoop>(_ contender: String, _ type: L.Type) -> Case {
            Case(
                group: group, contender: contender, operations: postCount,
                quickOperations: quickPostCount
            ) { [measure] in try measure.measure(type, $0, $1) }
        }
    }
}

/// The kind of post.
private enum PostShape {
    case bare, capturing, commands
}

/// One loop under measurement.
///
/// Its closures handle a whole range of posts each, so that the compiler knows the code of one
/// post, whatever the loop is.
private struct Line {
    /// Posts work for each index.
    let post: @Sendable (WorkTally, Range<Int>) -> Void
    /// Keeps the thread busy until it is released.
    let busy: () -> BusyThread
    let stop: () -> Void
}

private struct PostMeasure: LoopMeasure {
    let shape: PostShape
    var producerCount = 1
    var isByMany: Bool { producerCount > 1 }
    /// The number of posts that may wait in a steady state.
    private static let steadyCount = 4_000

    func callAsFunction<L: Loop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        let loop = try L()
        let isBare = shape == .bare
        let line = Line(
            post: { tally, range in
                if isBare {
                    for _ in range { loop.postBare() }
                } else {
                    for index in range { loop.post(tally, index) }
                }
            },
            busy: {
                let busy = BusyThread()
                loop.post { busy.keepBusy() }
                return busy
            }, stop: { loop.stop() })
        return try measure(line, count, conditions)
    }

    func measure<L: CommandLoop>(
        _ type: L.Type, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        let loop = try L()
        let line = Line(
            post: { _, range in for index in range { loop.send(LoopCommand(index: index)) } },
            busy: {
                loop.send(LoopCommand(index: -1))
                return BusyThread.shared
            }, stop: { loop.stop() })
        return try measure(line, count, conditions)
    }

    private func measure(
        _ line: Line, _ count: Int, _ conditions: Conditions
    ) throws -> Sample {
        defer { line.stop() }
        var sample = Sample()
        if !conditions.isTraced { _ = try pass(line, count / 10) }
        let timed = try pass(line, count)
        let perPost = 1 / Double(count)
        sample.hash = timed.hash
        sample.values["total"] = Double(timed.total) * perPost
        if !isByMany { sample.values["call"] = Double(timed.call) * perPost }
        sample.values["cpu"] = Double(timed.cpu) * perPost
        if conditions.isTraced { return sample }
        if !isByMany {
            sample.values["fresh call"] = Double(try busyPass(line, count).call) * perPost
            let busy = try busyPass(line, count)
            sample.values["busy call"] = Double(busy.call) * perPost
            sample.values["busy drain"] = Double(busy.drain) * perPost
        }
        measure_allocations_start()
        _ = try pass(line, count)
        let burst = measure_allocations_stop()
        sample.values["burst allocations"] = Double(burst.count) * perPost
        if isByMany { return sample }
        // The memory that a burst has left does not count.
        try steadyPass(line, Self.steadyCount)
        measure_allocations_start()
        try steadyPass(line, count)
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

    /// The target of bare closures and commands, which can't carry one.
    private func makeTally() -> WorkTally {
        shape == .capturing ? WorkTally() : WorkTally.shared
    }

    private func pass(_ line: Line, _ count: Int) throws -> Pass {
        let tally = makeTally()
        tally.reset(expecting: count)
        let cpuBefore = try ProcessStatistics.cpuNanoseconds()
        let start = nanoseconds()
        var pass = Pass()
        if isByMany {
            try postByProducers(line, tally, count)
        } else {
            line.post(tally, 0..<count)
            pass.call = nanoseconds() - start
        }
        tally.wait()
        pass.total = nanoseconds() - start
        pass.cpu = try ProcessStatistics.cpuNanoseconds() - cpuBefore
        pass.hash = try check(tally, count)
        return pass
    }

    /// Waits for the thread now and then.
    private func steadyPass(_ line: Line, _ count: Int) throws {
        let tally = makeTally()
        for first in stride(from: 0, to: count, by: Self.steadyCount) {
            let portion = min(Self.steadyCount, count - first)
            tally.reset(expecting: portion)
            line.post(tally, 0..<portion)
            tally.wait()
            _ = try check(tally, portion)
        }
    }

    private func busyPass(_ line: Line, _ count: Int) throws -> Pass {
        let tally = makeTally()
        tally.reset(expecting: count)
        let busy = line.busy()
        busy.waitUntilBusy()
        var pass = Pass()
        let start = nanoseconds()
        line.post(tally, 0..<count)
        let posted = nanoseconds()
        busy.letGo()
        tally.wait()
        pass.call = posted - start
        pass.drain = nanoseconds() - posted
        pass.hash = try check(tally, count)
        return pass
    }

    private func postByProducers(_ line: Line, _ tally: WorkTally, _ count: Int) throws {
        for producer in 0..<producerCount {
            let first = count * producer / producerCount
            let last = count * (producer + 1) / producerCount
            let post = line.post
            // Released at once, the thread ends by itself; all of its work is waited for.
            _ = try SystemThread(name: "producer") { post(tally, first..<last) }
        }
    }

    private func check(_ tally: WorkTally, _ count: Int) throws -> UInt64 {
        let expected =
            shape == .bare
            ? UInt64(count) &* WorkTally.hash(of: 1..<2) : WorkTally.hash(of: 0..<count)
        guard tally.hash == expected else {
            throw WorkbenchError("posted work was lost, or done twice: \(tally.hash)")
        }
        return expected
    }
}

/// The present time of the monotonic clock.
func nanoseconds() -> Int64 { SystemClock().now().nanoseconds }
