// Sleeping tasks that a loop's timers wake, by the loop's own clock: no test here waits for real.

import Kernel
import RunLoops
import Support
import RunLoopsTesting
import Testing
import WorkerThreads

/// A worker whose loop goes by a clock that stands still.
private func stillWorker() throws -> (WorkerThread, ManualClock) {
    let clock = ManualClock()
    return (try WorkerThread(name: "still", poller: SystemPoller(clock: clock)), clock)
}

/// An actor that lives on a worker thread and sleeps there.
private actor Sleeper {
    nonisolated let worker: WorkerThread
    private(set) var words: [String] = []

    init(_ worker: WorkerThread) { self.worker = worker }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe worker.executor.asUnownedSerialExecutor()
    }

    func sleep(for duration: Duration) async throws {
        words.append("begins on \(WorkerThread.currentName ?? "?")")
        try await worker.sleep(for: duration)
        words.append("ends on \(WorkerThread.currentName ?? "?")")
        assumed()
    }

    nonisolated func assumed() { assumeIsolated { $0.words.append("assumed") } }
}

extension WorkerThread {
    /// Lets the task wait until the thread has so many timers.
    fileprivate func waitForTimers(_ count: Int) async {
        while !described().contains("    \(count) timers, the next") { await Task.yield() }
    }
}

@Suite struct `Sleeping in a loop` {
    @Test(.timeLimit(.minutes(2)))
    func `an actor on the thread sleeps by the thread's clock and goes on there`() async throws {
        let (worker, clock) = try stillWorker()
        let sleeper = Sleeper(worker)
        let task = Task { try await sleeper.sleep(for: .seconds(3_600)) }
        await worker.waitForTimers(1)
        clock.advance(by: .seconds(3_599))
        try await worker.submit {}
        #expect(await sleeper.words == ["begins on still"])
        clock.advance(by: .seconds(1))
        try await task.value
        #expect(await sleeper.words == ["begins on still", "ends on still", "assumed"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a task that prefers the thread sleeps in its loop, by Task.sleep's clock too`()
        async throws
    {
        let (worker, clock) = try stillWorker()
        let names = Task(executorPreference: worker.executor) {
            var names = [WorkerThread.currentName]
            try await worker.sleep(until: Instant(nanoseconds: 1_000), tolerance: .zero)
            names.append(WorkerThread.currentName)
            try await Task.sleep(for: .seconds(10), clock: worker.clock)
            names.append(WorkerThread.currentName)
            return names
        }
        await worker.waitForTimers(1)
        clock.advance(by: .nanoseconds(1_000))
        while !worker.described().contains("the next in 10.0 seconds") { await Task.yield() }
        clock.advance(by: .seconds(10))
        #expect(try await names.value == ["still", "still", "still"])
        #expect(worker.clock.now == clock.now())
    }

    #if compiler(>=6.3) && compiler(<6.4)
        @Test(.timeLimit(.minutes(2)))
        func `Swift's own sleep comes from the loop, in tasks that prefer the thread`()
            async throws
        {
            let (worker, clock) = try stillWorker()
            let task = Task(executorPreference: worker.executor) {
                try await Task.sleep(for: .seconds(3_600))
                async let child: Void = Task.sleep(for: .seconds(3_600))
                try await child
                return WorkerThread.currentName
            }
            for _ in 1...2 {
                await worker.waitForTimers(1)
                clock.advance(by: .seconds(3_600))
            }
            #expect(try await task.value == "still")
            let cancelled = Task(executorPreference: worker.executor) {
                try await Task.sleep(for: .seconds(3_600))
            }
            await worker.waitForTimers(1)
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a sleep until a date of the continuous clock ends when the loop's clock is there`()
            async throws
        {
            let (worker, clock) = try stillWorker()
            // So far away that it does not pass while a busy machine gets to the tasks.
            let tomorrow = ContinuousClock.now + .seconds(86_400)
            let sleeps = [
                Task { try await worker.sleep(until: tomorrow) },
                Task { try await worker.runLoop.sleep(until: tomorrow) },
            ]
            await worker.waitForTimers(2)
            clock.advance(by: .seconds(86_400))
            for sleep in sleeps { try await sleep.value }
            try await worker.sleep(until: .now)
        }

        @Test(.timeLimit(.minutes(2)))
        func `Swift's own sleep lasts as long as it should when the thread ends meanwhile`()
            async throws
        {
            // Its own clock stands still: only the rest of the time, elsewhere, can end this.
            let (worker, _) = try stillWorker()
            let started = ContinuousClock.now
            let task = Task(executorPreference: worker.executor) {
                try await Task.sleep(for: .milliseconds(30))
            }
            await worker.waitForTimers(1)
            worker.stop()
            worker.join()
            try await task.value
            #expect(ContinuousClock.now - started >= .milliseconds(30))
        }

        @Test(.timeLimit(.minutes(2)))
        func `Swift's own sleep may be as long as can be said, and the thread end meanwhile`()
            async throws
        {
            let (worker, _) = try stillWorker()
            let task = Task(executorPreference: worker.executor) {
                try await Task.sleep(for: .seconds(Int64.max))
            }
            // Its loop's timer has no date that comes.
            while !worker.described().contains("1 timers, never due") { await Task.yield() }
            worker.stop()
            worker.join()
            // The rest of the time passes elsewhere, and has begun to before these have.
            for _ in 0..<100 { await Task.detached {}.value }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    #endif

    @Test(.timeLimit(.minutes(2)))
    func `a sleep is cancelled at once and leaves no timer`() async throws {
        let (worker, _) = try stillWorker()
        let task = Task { try await worker.sleep(for: .seconds(1)) }
        await worker.waitForTimers(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        worker.waitUntilTimersHaveFired()
        let before = Task {
            while !Task.isCancelled { await Task.yield() }
            try await worker.sleep(for: .seconds(1))
        }
        before.cancel()
        await #expect(throws: CancellationError.self) { try await before.value }
        #expect(!worker.described().contains("timers, the next"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `a sleep is told when its thread ends, or has ended`() async throws {
        let (worker, _) = try stillWorker()
        let preferring = Task(executorPreference: worker.executor) {
            try await worker.sleep(for: .seconds(1))
        }
        let elsewhere = Task { try await worker.sleep(for: .seconds(1)) }
        await worker.waitForTimers(2)
        worker.stop()
        worker.join()
        await #expect(throws: LoopEnded.self) { try await preferring.value }
        await #expect(throws: LoopEnded.self) { try await elsewhere.value }
        await #expect(throws: LoopEnded.self) { try await worker.sleep(for: .seconds(1)) }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a sleep ends while a job is served, not while the thread is paused`() async throws {
        let (worker, clock) = try stillWorker()
        let trace = Trace()
        let task = Task(executorPreference: worker.executor) {
            try await worker.sleep(for: .seconds(1))
            trace.note("in \(WorkerCore.current?.loop.currentMode?.name ?? "?")")
            WorkerCore.current?.loop.stop()
        }
        await worker.waitForTimers(1)
        worker.pause()
        worker.waitUntilRunning(in: .paused)
        clock.advance(by: .seconds(1))
        _ = worker.described()
        #expect(trace.all.isEmpty)
        try worker.enqueue { WorkerCore.current?.serveJob { !trace.all.isEmpty } }
        worker.resume()
        try await task.value
        #expect(trace.all.count == 1)
        try await worker.submit {}
    }

    @Test(.timeLimit(.minutes(2)))
    func `ticks come on their grid, once for all that were missed`() async throws {
        let (worker, clock) = try stillWorker()
        let seen = Shared<[Int64]>([])
        let task = Task(executorPreference: worker.executor) {
            for await date in worker.clock.ticks(every: .seconds(10)) {
                seen.change { $0.append(date.nanoseconds / 1_000_000_000) }
                if seen.value.count == 4 { return "left" }
            }
            return "ended"
        }
        for (seconds, count) in [(10, 1), (10, 2), (35, 3), (5, 4)] {
            await worker.waitForTimers(1)
            clock.advance(by: .seconds(seconds))
            while seen.value.count < count { await Task.yield() }
        }
        #expect(await task.value == "left")
        // Late at 55 for 30, 40 and 50; then on the grid at 60.
        #expect(seen.value == [10, 20, 30, 60])
    }

    @Test(.timeLimit(.minutes(2)))
    func `ticks end when the task is cancelled, and when the thread ends`() async throws {
        let (worker, _) = try stillWorker()
        let tasks = (0..<2).map { _ in
            Task {
                for await _ in worker.clock.ticks(every: .seconds(1), tolerance: .seconds(9)) {
                    return false
                }
                return true
            }
        }
        await worker.waitForTimers(2)
        tasks[0].cancel()
        #expect(await tasks[0].value)
        worker.stop()
        #expect(await tasks[1].value)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a time limit on an answer can go by a loop's clock`() async throws {
        let (worker, clock) = try stillWorker()
        let kept = Shared<ReplyPort<Int>?>(nil)
        let port = MessagePort<Question<Int, Int>> { kept.set($0.reply) }
        port.add(to: worker.runLoop)
        let task = Task { try await port.ask(1, timeout: .seconds(5), clock: worker.clock) }
        await worker.waitForTimers(1)
        while kept.value == nil { await Task.yield() }
        clock.advance(by: .seconds(5))
        await #expect(throws: PortError.timedOut) { try await task.value }
        #expect(kept.value?.send(1) == false)
    }

    @Test(.timeLimit(.minutes(2)))
    func `firing, cancelling and the thread's end meet: each sleep ends once`() async throws {
        for round in 0..<20 {
            let worker = try WorkerThread(name: "race")
            let tasks = (0..<40).map { number in
                Task.detached(executorPreference: number % 2 == 0 ? worker.executor : nil) {
                    do {
                        try await worker.sleep(for: .microseconds(number * 20))
                        return true
                    } catch {
                        return error is CancellationError || error is LoopEnded
                    }
                }
            }
            for task in tasks[(20 + round)...] { task.cancel() }
            if round % 2 == 0 { await Task.yield() }
            worker.stop()
            var isRight = true
            for task in tasks {
                let ended = await task.value
                isRight = isRight && ended
            }
            worker.join()
            #expect(isRight, "round \(round)")
        }
    }
}
