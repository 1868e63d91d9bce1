// Deadlines: of a closure's beginning, of a wait for the end, of a stop. Time passes by a clock
// that the test moves, whose timers a thread of its own keeps.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

/// A clock for tasks that a test moves.
private struct Timekeeper {
    let manual = ManualClock()
    let thread: WorkerThread

    init() throws { thread = try WorkerThread(name: "time", clock: manual) }

    var clock: ThreadRunLoop.TimerClock { thread.clock }

    func inSeconds(_ seconds: Int64) -> Instant { clock.now.advanced(by: .seconds(seconds)) }
}

@Suite(.timeLimit(.minutes(2))) struct `A deadline` {
    @Test func `that passes while the thread is busy ends the waiting, and nothing runs`()
        async throws
    {
        let (worker, time) = (try WorkerThread(name: "busy"), try Timekeeper())
        let gate = try worker.hold()
        let ran = Flag(false)
        let deadline = time.inSeconds(5)
        let asked = Task { [clock = time.clock] in
            try await worker.submit(before: deadline, clock: clock) { ran.set() }
        }
        while worker.waitingCount == 0 { await Task.yield() }
        time.manual.advance(by: .seconds(5))
        // The thread is held still: only the deadline can have ended this.
        await #expect(throws: SubmitError.late(thread: "busy")) { try await asked.value }
        gate.open()
        try await worker.submit {}
        #expect(!ran.isSet)
    }

    @Test func `that has passed when the turn comes lets nothing begin`() async throws {
        let (worker, time) = (try WorkerThread(name: "slow"), try Timekeeper())
        let gate = try worker.hold()
        let ran = Flag(false)
        let deadline = time.inSeconds(5)
        // Its thread keeps time and is busy: only the turn can tell of the limit.
        let keeper = try time.thread.hold()
        let asked = Task { [clock = time.clock] in
            try await worker.submit(before: deadline, clock: clock) { ran.set() }
        }
        while worker.waitingCount == 0 { await Task.yield() }
        time.manual.advance(by: .seconds(5))
        gate.open()
        await #expect(throws: SubmitError.late(thread: "slow")) { try await asked.value }
        keeper.open()
        #expect(!ran.isSet)
    }

    @Test func `that is past queues nothing, and one to come changes nothing`() async throws {
        let (worker, time) = (try WorkerThread(name: "idle"), try Timekeeper())
        let pool = try WorkerPool(name: "pool", count: 2)
        let (past, soon) = (time.inSeconds(0), time.inSeconds(5))
        await #expect(throws: SubmitError.late(thread: "idle")) {
            try await worker.submit(before: past, clock: time.clock) {}
        }
        await #expect(throws: SubmitError.late(thread: "pool")) {
            try await pool.submit(before: past, clock: time.clock) {}
        }
        #expect(try await worker.submit(before: soon, clock: time.clock) { 42 } == 42)
        #expect(try await pool.submit(before: soon, clock: time.clock) { 42 } == 42)
        let (now, later) = (ContinuousClock.now, ContinuousClock.now + .seconds(3_600))
        await #expect(throws: SubmitError.self) { try await worker.submit(before: now) {} }
        await #expect(throws: SubmitError.self) { try await pool.submit(before: now) {} }
        #expect(try await worker.submit(before: later) { 42 } == 42)
        #expect(try await pool.submit(before: later) { 42 } == 42)
        let name = try await worker.submit(before: later) {
            await Task.yield()
            return WorkerThread.currentName
        }
        #expect(name == "idle")
    }

    @Test func `of a pool's item takes it out of the queue at once`() async throws {
        let (pool, time) = (try WorkerPool(name: "pool", maxQueued: 1), try Timekeeper())
        let gate = Gate()
        try pool.post { gate.pass() }
        gate.reached.wait()
        let deadline = time.inSeconds(5)
        let asked = Task { [clock = time.clock] in
            try await pool.submit(before: deadline, clock: clock) { 42 }
        }
        while pool.waitingCount == 0 { await Task.yield() }
        time.manual.advance(by: .seconds(5))
        await #expect(throws: SubmitError.late(thread: "pool")) { try await asked.value }
        // The item's sender is told before its place is free.
        while pool.waitingCount > 0 { await Task.yield() }
        try pool.post {}
        gate.open()
    }

    @Test func `of an asynchronous closure is for its beginning`() async throws {
        let (worker, time) = (try WorkerThread(name: "idle"), try Timekeeper())
        let pool = try WorkerPool(name: "pool", threads: ["a", "b"])
        let (past, soon) = (time.inSeconds(0), time.inSeconds(5))
        let begun = Flag(false)
        await #expect(throws: SubmitError.late(thread: "idle")) {
            try await worker.submit(before: past, clock: time.clock) { () async in begun.set() }
        }
        await #expect(throws: SubmitError.late(thread: "pool")) {
            try await pool.submit(before: past, clock: time.clock) { () async in begun.set() }
        }
        let (now, later) = (ContinuousClock.now, ContinuousClock.now + .seconds(3_600))
        await #expect(throws: SubmitError.late(thread: "b")) {
            try await pool.submit(before: now, onThread: "b") { () async in begun.set() }
        }
        #expect(!begun.isSet)
        // It goes on past its deadline, on the member that has begun it.
        let name = try await pool.submit(before: soon, clock: time.clock, onThread: "b") {
            time.manual.advance(by: .seconds(10))
            await Task.yield()
            return WorkerThread.currentName
        }
        #expect(name == "b")
        let other = try await pool.submit(before: later, onThread: "a") {
            await Task.yield()
            return WorkerThread.currentName
        }
        #expect(other == "a")
    }

    @Test func `of a busy pool's asynchronous closure ends the waiting`() async throws {
        let (pool, time) = (try WorkerPool(name: "pool"), try Timekeeper())
        let gate = Gate()
        try pool.post { gate.pass() }
        gate.reached.wait()
        let deadline = time.inSeconds(5)
        let begun = Flag(false)
        let asked = Task { [clock = time.clock] in
            try await pool.submit(before: deadline, clock: clock) { () async in begun.set() }
        }
        while pool.waitingCount == 0 { await Task.yield() }
        time.manual.advance(by: .seconds(5))
        await #expect(throws: SubmitError.late(thread: "pool")) { try await asked.value }
        gate.open()
        try await pool.submit {}
        #expect(!begun.isSet)
    }

    @Test func `of a wait for a pool's end gives up, or tells of the end`() throws {
        let pool = try WorkerPool(name: "lasting", threads: ["a", "b"])
        let gate = Gate()
        try pool.post(onThread: "b") { gate.pass() }
        gate.reached.wait()
        #expect(!pool.join(until: .now))
        pool.stop()
        // One member is there still.
        #expect(!pool.join(until: .now + .milliseconds(1)))
        gate.open()
        #expect(pool.join(until: .now + .seconds(3_600)))
        #expect(pool.join(until: .now))
        #expect(pool.members.allSatisfy { $0.hasEnded })
    }

    @Test func `of a wait for a pool's end does not count a member that was replaced`() throws {
        let pool = try WorkerPool(name: "lasting", count: 1)
        let gate = Gate()
        try pool.post { gate.pass() }
        gate.reached.wait()
        let replaced = try pool.replaceMember(named: "lasting")
        pool.stop()
        #expect(pool.join(until: .now + .seconds(3_600)))
        #expect(replaced?.old.hasEnded == false)
        gate.open()
    }

    @Test func `of a wait for the end gives up, or tells of the end`() throws {
        let worker = try WorkerThread(name: "lasting")
        #expect(!worker.join(until: .now))
        #expect(!worker.join(until: .now + .milliseconds(1)))
        worker.stop()
        #expect(worker.join(until: .now + .seconds(3_600)))
        #expect(worker.join(until: .now))
        #expect(worker.hasEnded)
    }

    @Test func `of a stop lets queued work run until it passes, and refuses the rest`()
        async throws
    {
        let time = try Timekeeper()
        let worker = try WorkerThread(name: "leaving")
        let trace = Trace()
        let (first, second) = (Gate(), Gate())
        try worker.post { first.pass() }
        try worker.post {
            trace.note("in time")
            second.pass()
        }
        try worker.post { trace.note("too late") }
        worker.stop(.finishQueued, within: .seconds(25), clock: time.clock)
        first.open()
        second.reached.wait()
        time.manual.advance(by: .seconds(25))
        while worker.stopPolicy != .finishCurrent { await Task.yield() }
        second.open()
        worker.join()
        #expect(trace.all == ["in time"])
        #expect(worker.abandonedCount == 1)
    }

    @Test func `of a stop that comes in time changes nothing`() throws {
        let pool = try WorkerPool(name: "leaving", count: 2)
        let ran = Counter()
        for _ in 0..<10 { try pool.post { ran.increment() } }
        pool.stop(.finishQueued, within: .seconds(3_600))
        pool.join()
        #expect(ran.count == 10)
    }
}
