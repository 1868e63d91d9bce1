// A watchdog and its watched threads by a clock that only the test moves. The threads are real, and
// so are the signals that fetch the backtraces.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import Testing
import WorkerThreads

/// Reports, to be waited for.
private final class Reports: Sendable {
    private let stored = Mutex<[Watchdog.Report]>([])
    private let latches = (0..<64).map { _ in Latch() }

    var all: [Watchdog.Report] { stored.withLock { $0 } }

    var report: @Sendable (Watchdog.Report) -> Void {
        { [self] report in
            let count = stored.withLock { stored in
                stored.append(report)
                return stored.count
            }
            latches[count - 1].open()
        }
    }

    func wait(for count: Int) -> [Watchdog.Report] {
        latches[count - 1].wait()
        return all
    }
}

@inline(never)
private func hangAround(_ gate: Gate) {
    gate.pass()
    keepTheFrame()
}

/// Never sleeps, until it is told to stop.
@inline(never)
private func runInCircles(_ told: Latch) {
    while !told.isOpen {}
    keepTheFrame()
}

@inline(never)
@_optimize(none)
private func keepTheFrame() {}

@Suite(.timeLimit(.minutes(2))) struct `A watchdog` {
    private let clock = ManualClock()
    private let reports = Reports()

    private func start(_ name: String = "ledger") throws -> (WorkerThread, Watchdog) {
        let worker = try WorkerThread(name: name, clock: clock)
        let watchdog = try Watchdog(clock: clock)
        try worker.watch(limit: .seconds(2), by: watchdog, report: reports.report)
        // It has seen that the loop sleeps.
        try worker.settle()
        try watchdog.settle()
        return (worker, watchdog)
    }

    @Test func `reports what hangs while it does, and when it is over`() throws {
        let (worker, watchdog) = try start()
        let gate = Gate()
        let line: UInt = #line + 1
        try worker.post { hangAround(gate) }
        gate.reached.wait()
        clock.advance(by: .seconds(2))
        let hang = try #require(reports.wait(for: 1).first)
        #expect(hang.thread == "ledger" && !hang.isOver)
        #expect(hang.duration == .seconds(2))
        #expect(hang.callout.kind == .perform)
        #expect(
            hang.callout.postedFrom
                == CodeLocation(fileID: "WorkerThreadsTests/WatchdogTests.swift", line: line))
        // Empty when the machine has held the thread up for the second that it has to answer.
        let backtrace = hang.backtrace
        #expect(
            backtrace.isEmpty || backtrace.contains { $0.contains("hangAround") }, "\(hang)")
        #expect("\(hang)".hasPrefix("watchdog: thread ledger: a perform, posted from WorkerTh"))

        // Once is enough.
        clock.advance(by: .seconds(60))
        try watchdog.settle()
        #expect(reports.all.count == 1)

        gate.open()
        let over = try #require(reports.wait(for: 2).last)
        #expect(over.isOver && over.duration == .seconds(62))
        #expect(over.callout.postedFrom == hang.callout.postedFrom)
        #expect("\(over)".hasSuffix(", is over after 62.0 seconds"))
    }

    @Test func `says nothing of what ends in time`() throws {
        let (worker, watchdog) = try start()
        for _ in 0..<20 {
            let gate = try worker.hold()
            clock.advance(by: .milliseconds(1_999))
            try watchdog.settle()
            gate.open()
            try worker.settle()
        }
        #expect(reports.all.isEmpty)
    }

    @Test func `reports each of many short ones in a row as one by one, not together`() throws {
        let (worker, watchdog) = try start()
        let clock = clock
        for _ in 0..<20 { try worker.post { clock.advance(by: .milliseconds(1_500)) } }
        try worker.settle()
        try watchdog.settle()
        #expect(reports.all.isEmpty)
        #expect(worker.runLoop.measurements?.longestCallout?.duration == .milliseconds(1_500))
    }

    @Test func `reports the hang of a timer, and another one later`() throws {
        let (worker, watchdog) = try start()
        for round in 1...2 {
            let gate = Gate()
            let due = worker.runLoop.now.advanced(by: .seconds(10))
            worker.runLoop.add(ThreadRunLoop.Timer(at: due) { _ in gate.pass() })
            try worker.settle()
            clock.advance(by: .seconds(10))
            gate.reached.wait()
            clock.advance(by: .seconds(3))
            let hang = reports.wait(for: 2 * round - 1)[2 * round - 2]
            #expect(hang.callout.kind == .timer && hang.duration == .seconds(3) && !hang.isOver)
            gate.open()
            #expect(reports.wait(for: 2 * round)[2 * round - 1].isOver)
            try watchdog.settle()
        }
        #expect(reports.all.count == 4)
    }

    @Test func `tells a nested run that sleeps from a hang`() throws {
        let (worker, watchdog) = try start()
        let entered = Latch()
        try worker.post {
            let loop = ThreadRunLoop.current
            loop.perform(inModes: [.job]) { entered.open() }
            _ = loop.run(mode: .job, for: .seconds(100))
        }
        entered.wait()
        try worker.settle()
        clock.advance(by: .seconds(50))
        try watchdog.settle()
        clock.advance(by: .seconds(60))
        try worker.settle()
        #expect(reports.all.isEmpty)
    }

    @Test func `sleeps while all that it watches sleeps, however often time passes`() throws {
        // By a clock of its own, or the thread would be woken by each move, too.
        let worker = try WorkerThread(name: "ledger", clock: ManualClock())
        let watchdog = try Watchdog(clock: clock)
        try worker.watch(limit: .seconds(2), by: watchdog, report: reports.report)
        try worker.post {}
        try worker.settle()
        try watchdog.settle()
        // Looks once or twice more, sees that the thread sleeps, and from then on has no date.
        for _ in 0..<2 {
            clock.advance(by: .seconds(2))
            try watchdog.settle()
        }
        #expect(watchdog.nextLook == .distantFuture)
    }

    @Test func `has no date either while it knows of a hang`() throws {
        let (worker, watchdog) = try start()
        let gate = try worker.hold()
        clock.advance(by: .seconds(2))
        _ = reports.wait(for: 1)
        try watchdog.settle()
        #expect(watchdog.nextLook == .distantFuture)
        gate.open()
        _ = reports.wait(for: 2)
    }

    @Test func `is not woken by each callout`() throws {
        let (worker, watchdog) = try start()
        let before = watchdog.worker.runLoop.counters.sleepCount
        for _ in 0..<100 {
            try worker.post {}
            try worker.settle()
        }
        try watchdog.settle()
        // By the first; after that it has a date.
        #expect(watchdog.worker.runLoop.counters.sleepCount <= before + 2)
    }

    @Test func `looks after many threads, each with its own limit`() throws {
        let watchdog = try Watchdog(clock: clock)
        let workers = try (1...3).map { try WorkerThread(name: "w\($0)", clock: clock) }
        var gates: [Gate] = []
        for (index, worker) in workers.enumerated() {
            try worker.watch(
                limit: .seconds(10 * (index + 1)), by: watchdog, report: reports.report)
            try worker.settle()
            gates.append(try worker.hold())
        }
        try watchdog.settle()
        for count in 1...3 {
            clock.advance(by: .seconds(10))
            #expect(reports.wait(for: count).map(\.thread) == (1...count).map { "w\($0)" })
            try watchdog.settle()
        }
        gates.forEach { $0.open() }
        #expect(reports.wait(for: 6).filter(\.isOver).count == 3)
    }

    @Test func `forgets a thread that ends, and one that it no longer watches`() throws {
        let (worker, watchdog) = try start()
        worker.unwatch()
        #expect(!worker.isMeasured)
        #expect(watchdog.watchedCount == 0)
        let gate = try worker.hold()
        clock.advance(by: .seconds(20))
        try watchdog.settle()
        gate.open()
        try worker.watch(by: watchdog, report: reports.report)
        #expect(watchdog.watchedCount == 1)
        worker.stop()
        worker.join()
        #expect(watchdog.watchedCount == 0)
        // Too late.
        try worker.watch(by: watchdog, report: reports.report)
        #expect(watchdog.watchedCount == 0)
        #expect(reports.all.isEmpty)
    }

    @Test func `takes no callout for a hang that ran the loop while nobody watched`() throws {
        let (worker, watchdog) = try start()
        let (gate, inner) = (Gate(), Gate())
        try worker.post {
            worker.unwatch()
            gate.pass()
            // The thread is not measured when this begins.
            ThreadRunLoop.current.perform(inModes: [.job]) { inner.pass() }
            _ = ThreadRunLoop.current.run(mode: .job, until: .distantPast)
        }
        gate.reached.wait()
        clock.advance(by: .seconds(3_600))
        gate.open()
        inner.reached.wait()
        try worker.watch(limit: .seconds(2), by: watchdog, report: reports.report)
        try watchdog.settle()
        inner.open()
        try worker.settle()
        try watchdog.settle()
        #expect(reports.all.isEmpty)
    }

    @Test func `leaves no measurements where it never was`() throws {
        let worker = try WorkerThread(name: "ledger", clock: clock)
        worker.unwatch()
        let hasNone = worker.runLoop.measurements == nil
        #expect(hasNone)
    }

    @Test func `does not look after a thread that has ended before anybody measured it`() throws {
        let watchdog = try Watchdog(clock: clock)
        let worker = try WorkerThread(name: "gone", clock: clock)
        worker.stop()
        worker.join()
        try worker.watch(limit: .seconds(2), by: watchdog, report: reports.report)
        #expect(watchdog.watchedCount == 0)
        try watchdog.settle()
        #expect(watchdog.nextLook == .distantFuture)
    }

    @Test func `fetches backtraces by the kernel's clock, from threads that never sleep too`()
        throws
    {
        let worker = try WorkerThread(name: "busy")
        // The one that all share.
        let note = reports.report
        try worker.watch(limit: .milliseconds(1)) { report in
            // On a busy machine anything takes that long now and then.
            if report.callout.postedFrom?.line == 4_711 { note(report) }
        }
        var (round, foundCount) = (0, 0)
        // A thread that the machine holds up is not there yet when it is over its limit, or does
        // not answer in time: there are more rounds than have to find it.
        while foundCount < 5 {
            round += 1
            try #require(round <= 30, "found in \(foundCount) rounds only")
            let told = Latch()
            try worker.post({ runInCircles(told) }, line: 4_711)
            let hang = reports.wait(for: 2 * round - 1)[2 * round - 2]
            #expect(hang.thread == "busy" && !hang.isOver)
            if hang.backtrace.contains(where: { $0.contains("runInCircles") }) { foundCount += 1 }
            #expect(hang.duration >= .milliseconds(1))
            told.open()
            let over = reports.wait(for: 2 * round)[2 * round - 1]
            #expect(over.isOver && over.duration >= hang.duration)
        }
        worker.unwatch()
    }

    @Test func `can go before the threads that it watches`() throws {
        let worker = try WorkerThread(name: "ledger", clock: clock)
        var watchdog: Watchdog? = try Watchdog(clock: clock)
        try worker.watch(limit: .seconds(2), by: watchdog, report: reports.report)
        weak let gone = watchdog
        watchdog = nil
        #expect(gone == nil)
        let gate = try worker.hold()
        clock.advance(by: .seconds(20))
        gate.open()
        try worker.settle()
        #expect(reports.all.isEmpty)
    }
}
