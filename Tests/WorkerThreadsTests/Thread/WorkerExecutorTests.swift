// Swift's tasks and actors on a worker thread, also while it serves a job and after its end.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import Testing
import WorkerThreads

/// An actor that lives on a worker thread.
private actor Resident {
    nonisolated let worker: WorkerThread
    private(set) var count = 0

    init(_ worker: WorkerThread) { self.worker = worker }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe worker.executor.asUnownedSerialExecutor()
    }

    func increment() -> String? {
        count += 1
        return WorkerThread.currentName
    }

    func incrementSlowly() async {
        let before = count
        await Task.yield()
        count = max(count, before) + 1
    }

    nonisolated func assumed() -> Int { assumeIsolated { $0.count } }
}

/// An actor that its thread's executor ends with, and whose last step is its end.
private actor Owner {
    private let worker: WorkerThread
    /// Goes after the thread's handle.
    private let last: AtItsEnd

    /// - Parameter tell: told whether the executor is there still when all that the actor kept has
    ///   gone.
    init(tell: @escaping @Sendable (Bool) -> Void) throws {
        worker = try WorkerThread(name: "owned")
        let executor = WeakReference(worker.executor)
        last = AtItsEnd { tell(executor.object != nil) }
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe worker.executor.asUnownedSerialExecutor()
    }

    nonisolated func endThread() {
        worker.stop()
        worker.join()
    }

    isolated deinit {}
}

private final class AtItsEnd: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    deinit { body() }
}

/// An actor that notices when it is in two places at once.
private actor Single {
    nonisolated let worker: WorkerThread
    private let presentCount = Atomic<Int>(0)
    private(set) var wasTwice = false

    init(_ worker: WorkerThread) { self.worker = worker }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe worker.executor.asUnownedSerialExecutor()
    }

    func stay(_ body: () -> Void) {
        if presentCount.add(1, ordering: .sequentiallyConsistent).newValue > 1 { wasTwice = true }
        body()
        presentCount.subtract(1, ordering: .sequentiallyConsistent)
    }
}

@Suite struct `Worker executor` {
    @Test(.timeLimit(.minutes(2)))
    func `a task that prefers the thread runs on it, also after it was suspended`() async throws {
        let worker = try WorkerThread(name: "tasks")
        let names = await Task(executorPreference: worker.executor) {
            let first = WorkerThread.currentName
            await Task.yield()
            let second = WorkerThread.currentName
            async let child = WorkerThread.currentName
            return [first, second, await child]
        }.value
        #expect(names == ["tasks", "tasks", "tasks"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `an actor lives on the thread, and what runs there may assume its isolation`() async throws
    {
        let worker = try WorkerThread(name: "actor")
        let resident = Resident(worker)
        #expect(await resident.increment() == "actor")
        await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { _ = await resident.increment() } }
        }
        #expect(await resident.count == 101)
        #expect(try await worker.submit { resident.assumed() } == 101)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a job that is served meanwhile can wait for a task on its own thread`() async throws {
        let worker = try WorkerThread(name: "served")
        let trace = Trace()
        let name = try await worker.submit {
            let core = WorkerCore.current
            let answer = Shared<String?>(nil)
            guard let core else { return answer.value }
            Task(executorPreference: core.executor) {
                await Task.yield()
                trace.note("task in \(core.loop.currentMode?.name ?? "no mode")")
                answer.set(WorkerThread.currentName)
                core.loop.stop()
            }
            core.serveJob { answer.value != nil }
            trace.note("job done")
            return answer.value
        }
        #expect(name == "served")
        #expect(trace.all == ["task in job", "job done"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a run nested in one task's step goes on with the steps behind it`() async throws {
        let worker = try WorkerThread(name: "steps")
        let trace = Trace()
        let gate = try worker.hold()
        let first = Task(executorPreference: worker.executor) {
            guard let core = WorkerCore.current else { return }
            trace.note("first begins")
            serve(core, until: { trace.all.contains("second") })
            trace.note("first ends")
        }
        let second = Task(executorPreference: worker.executor) {
            trace.note("second")
            WorkerCore.current?.loop.stop()
        }
        gate.open()
        await first.value
        await second.value
        #expect(trace.all == ["first begins", "second", "first ends"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `tasks wait while the thread is paused`() async throws {
        let worker = try WorkerThread(name: "paused")
        let trace = Trace()
        worker.pause()
        worker.waitUntilRunning(in: .paused)
        let task = Task(executorPreference: worker.executor) { trace.note("task") }
        _ = worker.described()
        #expect(trace.all.isEmpty)
        worker.resume()
        await task.value
        #expect(trace.all == ["task"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a pause in one task's step holds the steps behind it, in a nested run as well`()
        async throws
    {
        let worker = try WorkerThread(name: "paused-inside")
        let trace = Trace()
        let gate = try worker.hold()
        let first = Task(executorPreference: worker.executor) {
            worker.pause()
            runTwice(worker)
            trace.note("first")
        }
        let others = ["second", "third"].map { name in
            Task(executorPreference: worker.executor) { trace.note(name) }
        }
        gate.open()
        await first.value
        worker.waitUntilRunning(in: .paused)
        _ = worker.described()
        #expect(trace.all == ["first"])
        worker.resume()
        for task in others { await task.value }
        #expect(trace.all == ["first", "second", "third"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a run that is nested in the pause itself begins nothing that waits`() async throws {
        let worker = try WorkerThread(name: "nested-in-pause")
        let trace = Trace()
        worker.pause()
        worker.waitUntilRunning(in: .paused)
        _ = try worker.enqueue { trace.note("submitted") }
        let task = Task(executorPreference: worker.executor) { trace.note("task") }
        worker.runLoop.performAndWait(inModes: [.paused]) {
            runTwice(worker)
            trace.note("nested")
        }
        #expect(trace.all == ["nested"])
        worker.resume()
        await task.value
        try await worker.submit {}
        #expect(Set(trace.all) == ["nested", "submitted", "task"])
    }

    @Test(.timeLimit(.minutes(2)), arguments: [nil, StopPolicy.finishQueued])
    func `what a pause holds in a run that is nested in a job goes on in that run`(
        policy: StopPolicy?
    ) async throws {
        let worker = try WorkerThread(name: "nested-in-job")
        let trace = Trace()
        let isNested = Latch()
        let isJobDone = Flag()
        try worker.enqueue {
            guard let core = WorkerCore.current else { return }
            core.loop.perform(inModes: [.job]) {
                core.loop.perform(inModes: [.default]) { isNested.open() }
                while isJobDone.isSet { _ = core.loop.run(mode: .default) }
                core.loop.stop()
            }
            core.serveJob { !isJobDone.isSet }
        }
        isNested.wait()
        worker.pause()
        _ = worker.described()
        try worker.enqueue { trace.note("submitted") }
        let task = Task(executorPreference: worker.executor) { trace.note("task") }
        for _ in 0..<3 { _ = worker.described() }
        #expect(trace.all.isEmpty)
        if let policy { worker.stop(policy) } else { worker.resume() }
        for _ in 0..<3 { _ = worker.described() }
        #expect(Set(trace.all) == ["submitted", "task"])
        worker.runLoop.perform(inModes: [.default]) {
            isJobDone.clear()
            ThreadRunLoop.current.stop()
        }
        await task.value
        worker.stop(.finishQueued)
        worker.join()
        #expect(Set(trace.all) == ["submitted", "task"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `tasks that outlive their thread finish, one step at a time`() async throws {
        let worker = try WorkerThread(name: "outlived")
        let resident = Resident(worker)
        #expect(await resident.increment() == "outlived")
        worker.stop()
        worker.join()
        await withTaskGroup { group in
            for _ in 0..<200 { group.addTask { _ = await resident.increment() } }
        }
        #expect(await resident.count == 201)
        await withTaskGroup { group in
            for _ in 0..<50 { group.addTask { await resident.incrementSlowly() } }
        }
        #expect(await resident.count >= 202)
        #expect(await assumedInside(resident) >= 202)
    }

    @Test(.timeLimit(.minutes(2)))
    func `what begins at once in a step after the thread's end may assume its isolation as well`()
        async throws
    {
        let worker = try WorkerThread(name: "at once")
        let resident = Resident(worker)
        worker.stop()
        worker.join()
        let count = await Task(executorPreference: worker.executor) {
            await Task.immediate { resident.assumed() }.value
        }.value
        #expect(count == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a task that begins after the thread's end does not run inside the call that begins it`()
        async throws
    {
        let worker = try WorkerThread(name: "gone")
        let executor = worker.executor
        worker.stop()
        worker.join()
        let starter = Shared<SystemThread.ID?>(nil)
        let steps = Shared<[SystemThread.ID]>([])
        let tasks = Shared<[Task<Void, Never>]>([])
        try TestThread(name: "starter") {
            starter.set(.current)
            for _ in 0..<3 {
                let task = Task(executorPreference: executor) {
                    steps.change { $0.append(.current) }
                }
                tasks.change { $0.append(task) }
            }
        }.join()
        for task in tasks.value { await task.value }
        #expect(steps.value.count == 3)
        #expect(steps.value.allSatisfy { $0 != starter.value })
    }

    @Test(.timeLimit(.minutes(2)))
    func `tasks that outlive their threads leave room for those that they wait for`() async throws {
        let isToCome = Flag()
        let begun = Counter()
        // As many as there are threads that Swift's tasks share.
        let waiting = try (0..<SystemThread.processorCount).map { _ in
            let worker = try WorkerThread(name: "ended")
            let executor = worker.executor
            worker.stop()
            worker.join()
            return Task(executorPreference: executor) {
                begun.increment()
                while isToCome.isSet { await Task.yield() }
            }
        }
        while begun.count < waiting.count { await Task.yield() }
        isToCome.clear()
        for task in waiting { await task.value }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tasks that wait when the thread stops are finished`() async throws {
        for _ in 0..<20 {
            let worker = try WorkerThread(name: "stopping")
            let gate = try worker.hold()
            let tasks = (0..<10).map { number in
                Task(executorPreference: worker.executor) {
                    await Task.yield()
                    return number
                }
            }
            worker.stop(.finishCurrent)
            gate.open()
            var sum = 0
            for task in tasks { sum += await task.value }
            #expect(sum == 45)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a run nested in a step at the thread's end goes on with the steps behind it`()
        async throws
    {
        let worker = try WorkerThread(name: "last-steps")
        let trace = Trace()
        let gate = try worker.hold()
        let first = Task(executorPreference: worker.executor) {
            runTwice(worker)
            trace.note("first")
        }
        let second = Task(executorPreference: worker.executor) { trace.note("second") }
        worker.stop()
        gate.open()
        await first.value
        await second.value
        #expect(trace.all == ["second", "first"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a step that lets go of the last that keeps the executor runs on it to its end`() throws {
        let isThere = Shared(false)
        let ended = Latch()
        try endAndLetGo { answer in
            isThere.set(answer)
            ended.open()
        }
        ended.wait()
        #expect(isThere.value)
    }

    private func endAndLetGo(_ tell: @escaping @Sendable (Bool) -> Void) throws {
        try Owner(tell: tell).endThread()
    }

    @Test(.timeLimit(.minutes(2)))
    func `an actor is not elsewhere while its thread calls the last of its loop's items`()
        async throws
    {
        let worker = try WorkerThread(name: "last calls")
        let single = Single(worker)
        await single.stay {}
        let entered = Latch()
        let left = Latch()
        let source = ThreadRunLoop.Source(
            cancel: { _, _ in
                single.assumeIsolated {
                    $0.stay {
                        entered.open()
                        left.wait()
                    }
                }
            }, perform: {})
        worker.runLoop.add(source)
        try await worker.submit {}
        worker.stop()
        entered.wait()
        let other = try WorkerThread(name: "visitor")
        let visit = Task(executorPreference: other.executor) { await single.stay {} }
        // Once this has run the visitor has asked to come in, and done so if it may.
        try await other.submit {}
        left.open()
        await visit.value
        #expect(await single.wasTwice == false)
    }

    @Test func `assuming isolation elsewhere traps`() async {
        await #expect(processExitsWith: .failure) {
            let worker = try WorkerThread(name: "elsewhere")
            _ = Resident(worker).assumed()
        }
    }

    private func assumedInside(_ resident: isolated Resident) -> Int { resident.assumed() }
}

/// Runs the thread's loop in mode `default`, as an item does that waits for something in there.
private func runTwice(_ worker: WorkerThread) {
    // A change of life that is heard in a pass ends it.
    for _ in 0..<2 { _ = worker.runLoop.run(mode: .default, until: .distantPast) }
}

private func serve(_ core: WorkerCore, until isDone: () -> Bool) { core.serveJob(until: isDone) }
