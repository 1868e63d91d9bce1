// The life of a worker thread: it holds, goes on, finishes or refuses, and is gone afterwards.

import Glibc
import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

@Suite struct `Worker thread` {
    @Test(.timeLimit(.minutes(2)))
    func `row 9: letting go of a thread ends it, and everything of it goes away`() throws {
        let ended = Latch()
        var worker: WorkerThread? = try WorkerThread(name: "left")
        let handle = WeakReference(try #require(worker))
        let loop = WeakReference(try #require(worker).runLoop)
        worker?.runLoop.add(
            ThreadRunLoop.Source(cancel: { _, _ in ended.open() }, perform: {}))
        worker = nil
        #expect(handle.object == nil)
        ended.wait()
        // The loop's last act on its thread is to cancel its sources; then nothing holds it.
        while loop.object != nil {}
    }

    @Test(.timeLimit(.minutes(2)))
    func `a thread that looks for work before it sleeps does all of it, and ends`() throws {
        let worker = try WorkerThread(name: "spinning", spinLimit: .microseconds(100))
        var sum = 0
        for number in 0..<2_000 {
            sum += try worker.submitAndWait { number }
            // Now and then it is asleep when the next one comes.
            while number % 100 == 0, !worker.runLoop.isWaiting {}
        }
        #expect(sum == 1_999_000)
        worker.stop()
        worker.join()
    }

    @Test func `a thread that would look for work for ever is refused`() async {
        await #expect(processExitsWith: .failure) {
            _ = try WorkerThread(name: "spinning", spinLimit: .milliseconds(11))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `whoever ends the thread under what it has taken is told what to do`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let worker = try WorkerThread(name: "cut off")
            _ = try worker.enqueue { pthread_exit(nil) }
            worker.join()
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(text.contains("what ran on thread cut off has ended it"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `nothing is left of a thread that the system could not start`() throws {
        let poller: WeakReference<SystemPoller>
        do {
            let made = SystemPoller()
            poller = WeakReference(made)
            // As much as all that a process can address.
            #expect(throws: SystemError.self) {
                try WorkerThread(name: "huge", stackByteCount: 1 << 47, poller: made)
            }
        }
        #expect(poller.object == nil)
    }

    @Test(.timeLimit(.minutes(2)))
    func `the last handle may be let go of on the thread itself, by a job`() throws {
        let gone = Latch()
        let gate = Gate()
        var worker: WorkerThread? = try WorkerThread(name: "inside")
        let loop = WeakReference(try #require(worker).runLoop)
        let handle = Shared(worker)
        worker?.runLoop.add(ThreadRunLoop.Source(cancel: { _, _ in gone.open() }, perform: {}))
        try worker?.post {
            gate.pass()
            handle.set(nil)
        }
        gate.reached.wait()
        worker = nil
        gate.open()
        gone.wait()
        while loop.object != nil {}
    }

    @Test(.timeLimit(.minutes(2)))
    func `a handle let go of while a job runs lets finish all that was taken`() throws {
        let trace = Trace()
        let gone = Latch()
        var worker: WorkerThread? = try WorkerThread(name: "busy")
        worker?.runLoop.add(ThreadRunLoop.Source(cancel: { _, _ in gone.open() }, perform: {}))
        let gate = Gate()
        try worker?.post {
            gate.pass()
            trace.note("finished")
        }
        try worker?.post { trace.note("and the next") }
        gate.reached.wait()
        worker = nil
        gate.open()
        gone.wait()
        #expect(trace.all == ["finished", "and the next"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a handle let go of after a stop does not hurry it`() throws {
        let trace = Trace()
        let gone = Latch()
        var worker: WorkerThread? = try WorkerThread(name: "finishing")
        worker?.runLoop.add(ThreadRunLoop.Source(cancel: { _, _ in gone.open() }, perform: {}))
        let gate = try worker?.hold()
        try worker?.post { trace.note("queued") }
        worker?.stop(.finishQueued)
        worker = nil
        gate?.open()
        gone.wait()
        #expect(trace.all == ["queued"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `what jobs, sources and timers held is let go of when the thread ends`() throws {
        let worker = try WorkerThread(name: "holder")
        let watched = try { () throws -> [WeakReference<Token>] in
            let tokens = (0..<4).map { _ in Token() }
            let gate = try worker.hold()
            worker.runLoop.add(ThreadRunLoop.Source { _ = tokens[0] })
            worker.runLoop.add(ThreadRunLoop.Timer(after: .seconds(900)) { _ in _ = tokens[1] })
            try worker.post { _ = tokens[2] }
            let selector = Selector<Token, Int>("late") { _, _ in }
            try worker.perform(selector, on: tokens[3], with: 1, afterDelay: .seconds(900))
            worker.stop(.finishCurrent)
            gate.open()
            return tokens.map { WeakReference($0) }
        }()
        worker.join()
        #expect(watched.allSatisfy { $0.object == nil })
        #expect(worker.abandonedCount == 2)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a pause holds everything, and a resume goes on in order`() throws {
        let worker = try WorkerThread(name: "paused")
        let trace = Trace()
        let gate = try worker.hold()
        for number in 1...3 { try worker.post { trace.note("\(number)") } }
        worker.pause()
        #expect(worker.isPaused)
        for number in 4...6 { try worker.post { trace.note("\(number)") } }
        gate.open()
        worker.waitUntilRunning(in: .paused)
        #expect(trace.all.isEmpty)
        worker.resume()
        #expect(!worker.isPaused)
        try worker.submitAndWait {}
        #expect(trace.all == ["1", "2", "3", "4", "5", "6"])
        worker.stop()
        worker.join()
        #expect(worker.abandonedCount == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `many pauses and resumes under load lose and reorder nothing`() throws {
        let worker = try WorkerThread(name: "flapping")
        let seen = Shared<[Int]>([])
        try onPlainThread {
            for number in 0..<2_000 {
                _ = refusal { try worker.post { seen.change { $0.append(number) } } }
                if number % 20 == 0 { worker.pause() }
                if number % 20 == 10 { worker.resume() }
            }
        }
        worker.resume()
        worker.stop(.finishQueued)
        worker.join()
        #expect(seen.value == Array(0..<2_000))
    }

    @Test(.timeLimit(.minutes(2)))
    func `a stop that finishes what is queued runs all of it, also of a paused thread`() throws {
        let worker = try WorkerThread(name: "drained")
        let trace = Trace()
        worker.pause()
        for number in 1...3 { try worker.post { trace.note("\(number)") } }
        worker.stop(.finishQueued)
        #expect(refusal { try worker.post {} } == .stopped(thread: "drained"))
        worker.join()
        #expect(trace.all == ["1", "2", "3"])
        #expect(worker.abandonedCount == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a stop that finishes what runs abandons the rest, and counts it`() throws {
        let worker = try WorkerThread(name: "abandoned")
        let trace = Trace()
        let gate = try worker.hold()
        for number in 1...3 { try worker.post { trace.note("\(number)") } }
        worker.stop(.finishCurrent)
        #expect(refusal { try worker.post {} } == .stopped(thread: "abandoned"))
        gate.open()
        worker.join()
        #expect(trace.all.isEmpty)
        #expect(worker.abandonedCount == 3)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a stop can be hurried while the thread finishes what was queued`() throws {
        let worker = try WorkerThread(name: "hurried")
        let trace = Trace()
        let gate = Gate()
        worker.pause()
        try worker.post { gate.pass() }
        try worker.post { trace.note("never") }
        worker.stop(.finishQueued)
        gate.reached.wait()
        worker.stop(.finishCurrent)
        gate.open()
        worker.join()
        #expect(trace.all.isEmpty)
        #expect(worker.abandonedCount == 1)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a job may stop its own thread`() throws {
        let worker = try WorkerThread(name: "own")
        let trace = Trace()
        let gate = try worker.hold()
        try worker.post { [unowned worker] in worker.stop(.finishCurrent) }
        try worker.post { trace.note("never") }
        gate.open()
        worker.join()
        #expect(trace.all.isEmpty)
    }

    @Test(.timeLimit(.minutes(2)), arguments: [StopPolicy.finishCurrent, .finishQueued])
    func `a stop heard in a run that a job has nested ends the thread too`(
        policy: StopPolicy
    ) throws {
        let worker = try WorkerThread(name: "nested")
        let nested = Latch()
        let results = Shared<[ThreadRunLoop.RunResult]>([])
        let timer = ThreadRunLoop.Timer(after: .zero) { _ in
            let loop = ThreadRunLoop.current
            loop.perform { nested.open() }
            let result = loop.run(mode: .default)
            results.change { $0.append(result) }
        }
        worker.runLoop.add(timer)
        nested.wait()
        worker.stop(policy)
        worker.join()
        #expect(results.value == [.stopped])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a pause heard in a run that a job has nested holds the thread too`() throws {
        let worker = try WorkerThread(name: "nested")
        let trace = Trace()
        let nested = Latch()
        worker.runLoop.add(
            ThreadRunLoop.Timer(after: .zero) { _ in
                ThreadRunLoop.current.perform { nested.open() }
                _ = ThreadRunLoop.current.run(mode: .default)
            })
        nested.wait()
        worker.pause()
        try worker.post { trace.note("run") }
        worker.waitUntilRunning(in: .paused)
        #expect(trace.all.isEmpty)
        worker.resume()
        try worker.submitAndWait { trace.note("last") }
        #expect(trace.all == ["run", "last"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `somebody else's stop of the loop leaves the thread alive`() throws {
        let worker = try WorkerThread(name: "immortal")
        for _ in 0..<10 { worker.runLoop.stop() }
        #expect(try worker.submitAndWait { 42 } == 42)
    }

    @Test(.timeLimit(.minutes(2)))
    func `several threads may wait for its end, and it is gone for all of them`() throws {
        let worker = try WorkerThread(name: "joined")
        let count = Shared(0)
        let cancelled = Shared(false)
        worker.runLoop.add(
            ThreadRunLoop.Source(cancel: { _, _ in cancelled.set(true) }, perform: {}))
        var threads: [WorkerThread] = []
        for number in 1...4 {
            let waiter = try WorkerThread(name: "waiter \(number)")
            try waiter.post {
                worker.join()
                if cancelled.value { count.change { $0 += 1 } }
            }
            threads.append(waiter)
        }
        worker.stop()
        worker.join()
        worker.join()
        for waiter in threads {
            waiter.stop(.finishQueued)
            waiter.join()
        }
        #expect(count.value == 4)
    }

    @Test(.timeLimit(.minutes(2)))
    func `an ended thread is not mistaken for a later one with its number`() throws {
        let first = try WorkerThread(name: "first")
        first.stop()
        first.join()
        // The system reuses the number of an ended thread at once.
        for number in 0..<4 {
            let later = try WorkerThread(name: "later \(number)")
            let outcome = try later.submitAndWait {
                first.join()
                let refused = refusal { try first.submitAndWait {} }
                return (refused, first.isCurrent, first.runLoop.isOnThread)
            }
            #expect(outcome.0 == .stopped(thread: "first"))
            #expect(!outcome.1 && !outcome.2)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `it knows its name, its thread and its end`() throws {
        let worker = try WorkerThread(name: "a name longer than fifteen bytes")
        #expect(worker.name == "a name longer than fifteen bytes")
        #expect(!worker.isCurrent && !worker.isStopped && !worker.hasEnded)
        #expect(WorkerThread.currentName == nil)
        let inside = try worker.submitAndWait { [unowned worker] in
            (worker.isCurrent, WorkerThread.currentName, worker.runLoop === ThreadRunLoop.current)
        }
        #expect(inside.0 && inside.2)
        #expect(inside.1 == worker.name)
        worker.stop()
        #expect(worker.isStopped)
        worker.join()
        #expect(worker.hasEnded)
        #expect(!worker.describe { _ in })
    }

    @Test(.timeLimit(.minutes(2)))
    func `its description is given while it is paused`() throws {
        let worker = try WorkerThread(name: "described")
        worker.pause()
        worker.waitUntilRunning(in: .paused)
        #expect(worker.described().contains("mode paused"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `a description that was promised is given, whenever the thread ends`() throws {
        for _ in 0..<50 {
            let worker = try WorkerThread(name: "promised")
            let answered = Latch()
            worker.stop()
            if worker.describe({ _ in answered.open() }) { answered.wait() }
            worker.join()
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `a run nested in work goes on with what waits after a pause`(isPool: Bool) throws {
        let pool = try WorkerPool(name: "nested")
        let worker = try #require(pool.members.first)
        let submit: (@escaping @Sendable () -> Void) throws -> Void = { body in
            if isPool { try pool.post(body) } else { try worker.post(body) }
        }
        let nested = Latch()
        let flag = Flag()
        let ended = Latch()
        try submit {
            let loop = ThreadRunLoop.current
            loop.perform { nested.open() }
            while flag.isSet { _ = loop.run(mode: .default, for: .seconds(1_000)) }
            ended.open()
        }
        nested.wait()
        pool.pause()
        // Answered in the nested run.
        _ = worker.described()
        let held = Flag()
        try submit { held.clear() }
        _ = worker.described()
        #expect(held.isSet)
        pool.resume()
        try submit {
            flag.clear()
            ThreadRunLoop.current.stop()
        }
        ended.wait()
        #expect(!held.isSet)
        pool.stop(.finishQueued)
        pool.join()
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `a run nested in work finishes what was queued before a stop`(wasPaused: Bool) throws {
        let worker = try WorkerThread(name: "nested")
        let nested = Latch()
        let flag = Flag()
        let trace = Trace()
        try worker.post {
            let loop = ThreadRunLoop.current
            loop.perform { nested.open() }
            while flag.isSet {
                _ = loop.run(for: .seconds(1_000), returnAfterSourceHandled: true)
            }
            trace.note("nested")
        }
        nested.wait()
        if wasPaused { worker.pause() }
        // Answered in the nested run.
        _ = worker.described()
        try worker.post {
            trace.note("awaited")
            flag.clear()
        }
        worker.stop(.finishQueued)
        worker.join()
        #expect(trace.all == ["awaited", "nested"])
        #expect(worker.abandonedCount == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `what its loop has taken before a stop is finished too`() throws {
        let worker = try WorkerThread(name: "finishes")
        let trace = Trace()
        let buffer = CommandBuffer<Int> { trace.note("commands \($0)") }
        buffer.add(to: worker.runLoop)
        let gate = try worker.hold()
        #expect(worker.runLoop.perform { trace.note("block") })
        buffer.add(1)
        buffer.fire()
        try worker.post { trace.note("submitted") }
        worker.stop(.finishQueued)
        gate.open()
        worker.join()
        #expect(trace.all.sorted() == ["block", "commands [1]", "submitted"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `its end is told when nothing is left in its loop, and not on it`() async throws {
        let worker = try WorkerThread(name: "owner")
        let gone = Flag()
        let bound = try await worker.submit {
            ThreadBound(ClearsAtItsEnd(gone), to: ThreadRunLoop.current)
        }
        let waiting = Task(executorPreference: worker.executor) { [worker] in
            try await worker.ended()
            worker.join()
            return (gone.isSet, worker.isCurrent)
        }
        // It waits: the thread has nothing else to do.
        while !worker.runLoop.isWaiting {}
        worker.stop()
        #expect(try await waiting.value == (false, false))
        withExtendedLifetime(bound) {}
    }

    @Test(.timeLimit(.minutes(2)))
    func `a task waits for its end, and for that of a pool, until it is cancelled`() async throws {
        let worker = try WorkerThread(name: "ends")
        let trace = Trace()
        let impatient = Task { try await worker.ended() }
        impatient.cancel()
        await #expect(throws: CancellationError.self) { try await impatient.value }
        let waiting = Task(executorPreference: worker.executor) { [unowned worker] in
            try await worker.ended()
            return worker.hasEnded
        }
        for number in 1...3 { try worker.enqueue { trace.note("\(number)") } }
        worker.stop(.finishQueued)
        try await worker.ended()
        #expect(trace.all == ["1", "2", "3"])
        #expect(worker.hasEnded)
        #expect(try await waiting.value)
        try await worker.ended()

        let pool = try WorkerPool(name: "ends", count: 2)
        pool.stop()
        try await pool.ended()
        #expect(pool.members.allSatisfy { $0.hasEnded })
    }
}

/// Clears a flag when it goes.
private final class ClearsAtItsEnd {
    private let flag: Flag

    init(_ flag: Flag) { self.flag = flag }

    deinit { flag.clear() }
}
