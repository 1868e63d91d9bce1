// Actors and tasks on a thread that is no worker, but runs its loop.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

/// An actor that lives on a loop's thread.
private actor Resident {
    private let executor: WorkerExecutor
    private let loop: ThreadRunLoop

    init(on executor: WorkerExecutor, _ loop: ThreadRunLoop) {
        self.executor = executor
        self.loop = loop
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    var isAtHome: Bool { loop.isOnThread }
}

@Suite(.timeLimit(.minutes(2))) struct `The executor of a plain loop` {
    @Test func `runs actors and tasks on the loop's thread`() async throws {
        let running = try RunningLoop(thread: "plain")
        let loop = running.loop
        let executor = WorkerExecutor(loop: loop)
        let resident = Resident(on: executor, loop)
        #expect(await resident.isAtHome)
        let places = await Task(executorPreference: executor) {
            let before = loop.isOnThread
            await Task.yield()
            try? await Task.sleep(for: .milliseconds(1))
            return [before, loop.isOnThread]
        }.value
        #expect(places == [true, true])
        running.end()
    }

    @Test func `lets tasks go on when the loop has ended, or had ended before`() async throws {
        let running = try RunningLoop(thread: "plain")
        let loop = running.loop
        let executor = WorkerExecutor(loop: loop)
        let gate = AsyncStream.makeStream(of: Void.self)
        let begun = AsyncStream.makeStream(of: Void.self)
        let task = Task(executorPreference: executor) {
            begun.continuation.finish()
            for await _ in gate.stream {}
            return loop.isOnThread
        }
        for await _ in begun.stream {}
        running.end()
        gate.continuation.finish()
        #expect(await task.value == false)
        let late = WorkerExecutor(loop: loop)
        #expect(await Task(executorPreference: late) { 42 }.value == 42)
    }

    @Test func `goes with its loop`() async throws {
        let running = try RunningLoop(thread: "plain")
        weak var executor: WorkerExecutor?
        do {
            let made = WorkerExecutor(loop: running.loop)
            _ = await Task(executorPreference: made) {}.value
            executor = made
        }
        #expect(executor != nil)
        running.end()
        // The last task may let go of it a moment after its end.
        while executor != nil { await Task.yield() }
    }
}
