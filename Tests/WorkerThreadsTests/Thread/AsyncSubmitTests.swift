// Asynchronous closures on a worker thread: their turn, their thread, their task.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

private enum Caller {
    @TaskLocal static var name = "nobody"
}

private struct Mishap: Error, Equatable {}

@Suite(.timeLimit(.minutes(2))) struct `An asynchronous closure` {
    @Test func `runs on the thread after each of its waits, as part of the calling task`()
        async throws
    {
        let worker = try WorkerThread(name: "tasks")
        let pool = try WorkerPool(name: "pool", threads: ["a", "b"])
        let names = try await Caller.$name.withValue("the test") {
            try await worker.submit {
                let before = WorkerThread.currentName ?? "?"
                await Task.yield()
                return [before, WorkerThread.currentName ?? "?", Caller.name]
            }
        }
        #expect(names == ["tasks", "tasks", "the test"])
        let name = try await pool.submit(onThread: "b") {
            await Task.yield()
            return WorkerThread.currentName
        }
        #expect(name == "b")
        await #expect(throws: Mishap()) {
            try await worker.submit {
                await Task.yield()
                throw Mishap()
            }
        }
    }

    @Test func `waits for its turn, and leaves the thread to others while it waits`()
        async throws
    {
        let worker = try WorkerThread(name: "tasks")
        let trace = Trace()
        let gate = try worker.hold()
        try worker.post { trace.note("before") }
        let arrived = AsyncStream.makeStream(of: Void.self)
        let released = AsyncStream.makeStream(of: Void.self)
        async let asked: Void = worker.submit {
            trace.note("begins")
            arrived.continuation.finish()
            for await _ in released.stream {}
            trace.note("ends")
        }
        gate.open()
        for await _ in arrived.stream {}
        try await worker.submit { trace.note("meanwhile") }
        released.continuation.finish()
        try await asked
        #expect(trace.all == ["before", "begins", "meanwhile", "ends"])
    }

    @Test func `never runs if its task is cancelled before its turn, or the thread stopped`()
        async throws
    {
        let worker = try WorkerThread(name: "tasks")
        let ran = Flag(false)
        let gate = try worker.hold()
        let task = Task {
            try await worker.submit {
                await Task.yield()
                ran.set()
            }
        }
        while worker.waitingCount == 0 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let refused = Task {
            try await worker.submit {
                await Task.yield()
                ran.set()
            }
        }
        while worker.waitingCount < 2 { await Task.yield() }
        worker.stop(.finishCurrent)
        gate.open()
        await #expect(throws: SubmitError.stopped(thread: "tasks")) { try await refused.value }
        #expect(!ran.isSet)
    }

    @Test func `takes and returns what is not Sendable`() async throws {
        final class Pages { var lines: [String] = [] }
        let worker = try WorkerThread(name: "tasks")
        let given = Pages()
        given.lines = ["given"]
        let made = try await worker.submit {
            await Task.yield()
            let made = Pages()
            made.lines = given.lines + ["made"]
            return made
        }
        made.lines.append("here")
        #expect(made.lines == ["given", "made", "here"])
    }
}
