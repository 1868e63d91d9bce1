// The notes of a measured worker on submitted work, for each way of submitting.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

@Suite(.timeLimit(.minutes(2))) struct `A measured worker` {
    /// The running callout, as the thread itself sees it.
    private static var running: String {
        ThreadRunLoop.current.runningCallout.map {
            "\($0.kind) line \($0.postedFrom?.line ?? 0)"
        } ?? "unknown"
    }

    @Test func `knows where what it runs was submitted from`() async throws {
        let worker = try WorkerThread(name: "ledger")
        worker.isMeasured = true
        let trace = Trace()
        let line: UInt = #line
        try worker.enqueue { trace.note(Self.running) }
        try await worker.submit { trace.note(Self.running) }
        try worker.submitAndWait { trace.note(Self.running) }
        let log = Selector<Trace, String>("log") { trace, _ in trace.note(Self.running) }
        try worker.perform(log, on: trace, with: "", waitUntilDone: true)
        try worker.perform(log, on: trace, with: "", waitUntilDone: true, modes: [.common])
        #expect(
            trace.all == [
                "a perform line \(line + 1)", "a perform line \(line + 2)",
                "a perform line \(line + 3)", "a perform line \(line + 5)",
                "a block line \(line + 6)",
            ])
        #expect(worker.runLoop.measurements?.submitToStart.count == 5)
    }

    @Test func `knows it of what was asked of its loop, and waited for`() throws {
        let clock = ManualClock()
        let worker = try WorkerThread(name: "ledger", clock: clock)
        let loop = worker.runLoop
        loop.isMeasured = true
        let trace = Trace()
        let log = Selector<Trace, NoArgument>("log") { $0.note(Self.running) }
        let line: UInt = #line
        loop.performAndWait { trace.note(Self.running) }
        try loop.perform(log, on: trace, waitUntilDone: true)
        try loop.perform(log, on: trace, with: NoArgument(), waitUntilDone: false)
        try loop.perform(log, on: trace, afterDelay: .seconds(1))
        try worker.enqueue(after: .seconds(2)) { trace.note(Self.running) }
        for _ in 0..<3 {
            try worker.settle()
            clock.advance(by: .seconds(1))
        }
        #expect(
            trace.all == [
                "a block line \(line + 1)", "a block line \(line + 2)",
                "a block line \(line + 3)", "a perform line \(line + 4)",
                "a perform line \(line + 5)",
            ])
    }

    @Test func `knows where message ports and command buffers were made`() throws {
        let worker = try WorkerThread(name: "ledger")
        let trace = Trace()
        let line: UInt = #line
        let port = MessagePort<Int> { _ in trace.note(Self.running) }
        let squares = MessagePort<Question<Int, Int>>(answering: { number in
            trace.note(Self.running)
            return number * number
        })
        let buffer = CommandBuffer<Int> { _ in trace.note(Self.running) }
        port.add(to: worker.runLoop)
        squares.add(to: worker.runLoop)
        buffer.add(to: worker.runLoop)
        worker.isMeasured = true
        try worker.settle()
        port.send(1)
        try worker.settle()
        #expect(try squares.askAndWait(3) == 9)
        buffer.add(1)
        buffer.fire()
        try worker.settle()
        #expect(
            trace.all == [
                "a port line \(line + 1)", "a port line \(line + 2)", "a source line \(line + 6)",
            ])
    }

    @Test func `knows it of a pool's work, and of what waited for its delay`() throws {
        let clock = ManualClock()
        let worker = try WorkerThread(name: "later", clock: clock)
        worker.isMeasured = true
        let trace = Trace()
        let log = Selector<Trace, String>("log") { trace, _ in trace.note(Self.running) }
        let line: UInt = #line
        try worker.perform(log, on: trace, with: "", afterDelay: .seconds(5))
        worker.waitUntil { $0.contains("1 timers") }
        clock.advance(by: .seconds(6))
        try worker.settle()
        // Late by one second.
        #expect(worker.runLoop.measurements?.submitToStart.max == .seconds(1))

        let pool = try WorkerPool(name: "pool", count: 2)
        let ran = [Latch(), Latch()]
        pool.members[1].isMeasured = true
        try pool.members[1].settle()
        try pool.post(onThread: "pool/2") {
            trace.note(Self.running)
            ran[0].open()
        }
        ran[0].wait()
        pool.members[1].isMeasured = false
        try pool.post(onThread: "pool/2") {
            trace.note(Self.running)
            ran[1].open()
        }
        ran[1].wait()
        #expect(
            trace.all == ["a perform line \(line + 1)", "a perform line \(line + 12)", "unknown"])
    }

    @Test func `runs in order what was submitted before and after it was switched on`() throws {
        let worker = try WorkerThread(name: "ledger")
        let trace = Trace()
        let gate = try worker.hold()
        try worker.post { trace.note("before") }
        worker.isMeasured = true
        try worker.post { trace.note("noted") }
        worker.isMeasured = false
        try worker.post { trace.note("after") }
        gate.open()
        try worker.settle()
        #expect(trace.all == ["before", "noted", "after"])
    }

    @Test func `takes back and refuses what carries a note`() async throws {
        let worker = try WorkerThread(name: "ledger")
        worker.isMeasured = true
        let gate = try worker.hold()
        let ticket = try worker.enqueue { Issue.record("it was cancelled") }
        let told = Shared<(any Error)?>(nil)
        let task = Task {
            do { let _: Void = try await worker.submit { Issue.record("it was refused") } } catch {
                told.set(error)
            }
        }
        while worker.waitingCount < 2 { await Task.yield() }
        #expect(worker.cancel(ticket))
        worker.stop(.finishCurrent)
        gate.open()
        await task.value
        #expect(told.value as? SubmitError == .stopped(thread: "ledger"))
    }

    @Test func `counts no start of what was cancelled`() throws {
        let worker = try WorkerThread(name: "ledger")
        worker.isMeasured = true
        let gate = try worker.hold()
        worker.cancel(try worker.enqueue { Issue.record("it was cancelled") })
        gate.open()
        try worker.submitAndWait {}
        #expect(worker.runLoop.measurements?.submitToStart.count == 2)
    }

    @Test func `calls steps of tasks what they are`() async throws {
        let worker = try WorkerThread(name: "actors")
        worker.isMeasured = true
        let seen = await Task(executorPreference: worker.executor) { Self.running }.value
        #expect(seen == "a step of a task line 0")
    }

    @Test func `tells how much waits, measured or not`() throws {
        let worker = try WorkerThread(name: "ledger")
        let gate = try worker.hold()
        #expect(worker.waitingCount == 0)
        for count in 1...200 {
            try worker.post {}
            #expect(worker.waitingCount == count)
        }
        let text = Shared("")
        let told = Latch()
        worker.describe { description in
            text.set(description)
            told.open()
        }
        gate.open()
        told.wait()
        #expect(text.value.contains("\n  submitted, waiting: "))
        try worker.settle()
        #expect(worker.waitingCount == 0)
    }
}
