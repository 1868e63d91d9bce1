// Taking back what was submitted: by ticket, or by cancelling the task that waits for it.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import RunLoopsTesting
import Testing
import WorkerThreads

/// How a submit ended, as its sender sees it.
private enum Ending: Hashable {
    case result, cancelled, stopped, other
}

private func ending(of body: () async throws -> Void) async -> Ending {
    do {
        try await body()
        return .result
    } catch is CancellationError {
        return .cancelled
    } catch SubmitError.stopped {
        return .stopped
    } catch {
        return .other
    }
}

@Suite struct `Cancelling what was submitted` {
    @Test(.timeLimit(.minutes(2)))
    func `a cancelled task's closure never runs, and the task is told while the thread is busy`()
        async throws
    {
        let worker = try WorkerThread(name: "busy")
        let gate = try worker.hold()
        let ran = Flag()
        let task = Task { try await worker.submit { ran.clear() } }
        task.cancel()
        // The thread stands at the gate until the task has ended.
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        try await worker.submit {}
        #expect(ran.isSet)
    }

    @Test(.timeLimit(.minutes(2)))
    func `what a cancelled closure holds is let go of at once`() async throws {
        let worker = try WorkerThread(name: "busy")
        let gate = try worker.hold()
        var token: Token? = Token()
        let watched = WeakReference(try #require(token))
        let task = Task { [token] in try await worker.submit { _ = token } }
        token = nil
        task.cancel()
        _ = await task.result
        while watched.object != nil { await Task.yield() }
        gate.open()
    }

    @Test(.timeLimit(.minutes(2)))
    func `a closure that has begun runs to its end, and its result is returned`() async throws {
        let worker = try WorkerThread(name: "begun")
        let gate = Gate()
        let task = Task {
            try await worker.submit {
                gate.pass()
                return 7
            }
        }
        while !gate.reached.isOpen { await Task.yield() }
        task.cancel()
        gate.open()
        #expect(try await task.value == 7)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a task that was cancelled before submits nothing, not even to a stopped thread`()
        async throws
    {
        let worker = try WorkerThread(name: "before")
        let ran = Flag()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await ending { try await worker.submit { ran.clear() } }
        }
        task.cancel()
        #expect(await task.value == .cancelled)
        try await worker.submit {}
        #expect(ran.isSet)
        worker.stop()
        #expect(await ending { try await worker.submit {} } == .stopped)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a pool's place is free as soon as the task that waits is cancelled`() async throws {
        let pool = try WorkerPool(name: "small", maxQueued: 1)
        let gate = try pool.members[0].hold()
        let ran = Flag()
        let task = Task { try await pool.submit { ran.clear() } }
        while pool.waitingCount == 0 { await Task.yield() }
        #expect(refusal { _ = try pool.enqueue {} } == .full(thread: "small", limit: 1))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        while pool.waitingCount != 0 { await Task.yield() }
        try pool.enqueue {}
        gate.open()
        pool.stop(.finishQueued)
        pool.join()
        #expect(ran.isSet)
        #expect(pool.abandonedCount == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a ticket takes its closure back once, and only on its own thread`() throws {
        let worker = try WorkerThread(name: "tickets")
        let other = try WorkerThread(name: "other")
        let trace = Trace()
        let gate = try worker.hold()
        let ticket = try worker.enqueue { trace.note("cancelled") }
        let kept = try worker.enqueue { trace.note("kept") }
        #expect(!other.cancel(ticket))
        #expect(worker.cancel(ticket))
        #expect(!worker.cancel(ticket))
        gate.open()
        try worker.submitAndWait {}
        #expect(!worker.cancel(kept))
        #expect(trace.all == ["kept"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `what was cancelled is not counted among what a stop abandons`() throws {
        let worker = try WorkerThread(name: "abandoning")
        let gate = try worker.hold()
        let tickets = try (0..<5).map { _ in try worker.enqueue {} }
        #expect(worker.cancel(tickets[1]))
        worker.stop(.finishCurrent)
        gate.open()
        worker.join()
        #expect(worker.abandonedCount == 4)
        #expect(!worker.cancel(tickets[2]))
    }

    @Test(.timeLimit(.minutes(2)), arguments: [StopPolicy.finishCurrent, .finishQueued])
    func `run, cancel and stop meet: one wins, its closure ran if and only if it was run`(
        policy: StopPolicy
    ) async throws {
        for round in 0..<60 {
            let worker = try WorkerThread(name: "race")
            let pool = try WorkerPool(name: "race")
            let ran = Shared<Set<Int>>([])
            let tasks = (0..<40).map { number in
                Task.detached {
                    await ending {
                        let body: @Sendable () -> Void = { ran.change { $0.insert(number) } }
                        if number % 4 == 3 { return try await pool.submit(body) }
                        try await worker.submit(body)
                    }
                }
            }
            let canceller = Task.detached {
                for task in tasks[(round % 20)...].shuffled() { task.cancel() }
            }
            if round % 3 != 0 { await Task.yield() }
            worker.stop(policy)
            pool.stop(policy)
            var endings: [Ending] = []
            for task in tasks { endings.append(await task.value) }
            await canceller.value
            worker.join()
            pool.join()
            let results = endings.indices.filter { endings[$0] == .result }
            #expect(ran.value == Set(results), "round \(round)")
            #expect(!endings.contains(.other), "round \(round)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `cancelling says true if and only if the closure never runs, under contention`() throws {
        let worker = try WorkerThread(name: "contended")
        let count = 3_000
        let ran = (0..<count).map { _ in Counter() }
        let tickets = try ran.map { counter in try worker.enqueue { counter.increment() } }
        let cancelled = (0..<count).map { _ in Counter() }
        let cancellers = try (0..<2).map { index in
            try TestThread(name: "canceller \(index)") {
                for number in stride(from: count - 1 - index, through: 0, by: -3)
                where worker.cancel(tickets[number]) {
                    cancelled[number].increment()
                }
            }
        }
        for canceller in cancellers { canceller.join() }
        worker.stop(.finishQueued)
        worker.join()
        for number in 0..<count { #expect(ran[number].count + cancelled[number].count == 1) }
    }

    private enum Local {
        @TaskLocal static var name = "none"
    }

    @Test(.timeLimit(.minutes(2)))
    func `a submitted closure is no part of the task that waits for it`() async throws {
        let worker = try WorkerThread(name: "apart")
        let seen = try await Local.$name.withValue("mine") {
            try await worker.submit {
                let isInTask = unsafe withUnsafeCurrentTask { unsafe $0 != nil }
                return "\(Local.name) \(isInTask) \(Task.isCancelled)"
            }
        }
        #expect(seen == "none false false")
        worker.stop()
        worker.join()
    }
}
