// Handing closures to a worker thread: order, answers, refusals, limits.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

private struct Mishap: Error, Equatable {
    let number: Int
}

@Suite struct `Submitting to a worker thread` {
    @Test(.timeLimit(.minutes(2)))
    func `what takes long can ask whether its thread was told to stop`() throws {
        let worker = try WorkerThread(name: "long")
        let begun = Latch()
        try worker.post {
            #expect(!WorkerThread.isCurrentStopped)
            begun.open()
            while !WorkerThread.isCurrentStopped { SystemThread.yield() }
        }
        begun.wait()
        #expect(!WorkerThread.isCurrentStopped)
        worker.stop()
        worker.join()
        #expect(!WorkerThread.isCurrentStopped)
    }

    @Test(.timeLimit(.minutes(2)))
    func `row 19: waiting on the thread itself runs in place, elsewhere it waits`() throws {
        let worker = try WorkerThread(name: "place")
        let trace = Trace()
        try worker.submitAndWait { [unowned worker] in
            trace.note("outer begins")
            try worker.post { trace.note("later") }
            try worker.submitAndWait { trace.note("in place") }
            trace.note("outer ends")
        }
        trace.note("caller goes on")
        try worker.submitAndWait {}
        let words = trace.all
        #expect(words.prefix(3) == ["outer begins", "in place", "outer ends"])
        #expect(Set(words.suffix(2)) == ["later", "caller goes on"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `row 19: not waiting returns at once, though the thread is busy`() throws {
        let worker = try WorkerThread(name: "busy")
        let trace = Trace()
        let gate = try worker.hold()
        try worker.post { trace.note("run") }
        trace.note("submitted")
        gate.open()
        try worker.submitAndWait {}
        #expect(trace.all == ["submitted", "run"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `row 20: what several threads send runs one after another, in order of each`() throws {
        let worker = try WorkerThread(name: "ordered")
        let seen = Shared<[[Int]]>(Array(repeating: [], count: 4))
        let isBusy = Shared(false)
        let overlaps = Shared(0)
        let senders = try (0..<4).map { try WorkerThread(name: "sender \($0)") }
        for (index, sender) in senders.enumerated() {
            try sender.post {
                for number in 0..<500 {
                    _ = refusal {
                        try worker.post {
                            if isBusy.value { overlaps.change { $0 += 1 } }
                            isBusy.set(true)
                            seen.change { $0[index].append(number) }
                            isBusy.set(false)
                        }
                    }
                }
            }
        }
        for sender in senders {
            sender.stop(.finishQueued)
            sender.join()
        }
        worker.stop(.finishQueued)
        worker.join()
        #expect(seen.value == Array(repeating: Array(0..<500), count: 4))
        #expect(overlaps.value == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `what a closure throws reaches whoever waits`() async throws {
        let worker = try WorkerThread(name: "throwing")
        await #expect(throws: Mishap(number: 1)) {
            try await worker.submit { throw Mishap(number: 1) }
        }
        #expect(throws: Mishap(number: 2)) {
            try worker.submitAndWait { throw Mishap(number: 2) }
        }
        #expect(throws: Mishap(number: 3)) {
            try worker.submitAndWait { [unowned worker] in
                try worker.submitAndWait { throw Mishap(number: 3) }
            }
        }
        #expect(try await worker.submit { 4 } == 4)
    }

    @Test(.timeLimit(.minutes(2)))
    func `every submit after a stop is refused, waiting or not`() async throws {
        let worker = try WorkerThread(name: "stopped")
        let gate = try worker.hold()
        worker.stop(.finishQueued)
        let expected = SubmitError.stopped(thread: "stopped")
        let target = Token()
        let selector = Selector<Token, Int>("nothing") { _, _ in }
        #expect(refusal { try worker.post {} } == expected)
        #expect(refusal { try worker.submitAndWait {} } == expected)
        #expect(refusal { try worker.perform(selector, on: target, with: 1) } == expected)
        #expect(
            refusal { try worker.perform(selector, on: target, with: 1, modes: [.job]) }
                == expected)
        #expect(
            refusal { try worker.perform(selector, on: target, with: 1, afterDelay: .zero) }
                == expected)
        await #expect(throws: expected) { try await worker.submit { 1 } }
        gate.open()
        worker.join()
        #expect(refusal { try worker.submitAndWait {} } == expected)
        await #expect(throws: expected) { try await worker.submit { 1 } }
    }

    @Test(.timeLimit(.minutes(2)))
    func `who waits for a thread that stops is told so`() async throws {
        let worker = try WorkerThread(name: "refusing")
        let waiter = try WorkerThread(name: "waiter")
        let answers = Shared<[SubmitError?]>([])
        worker.pause()
        worker.waitUntilRunning(in: .paused)
        try waiter.enqueue {
            let answer = refusal { try worker.submitAndWait {} }
            answers.change { $0.append(answer) }
        }
        // The queue's source says so once the request is in it.
        worker.waitUntil { $0.contains("signalled") }
        let task = Task { try await worker.submit { 1 } }
        worker.stop(.finishCurrent)
        await #expect(throws: SubmitError.stopped(thread: "refusing")) { try await task.value }
        worker.join()
        waiter.stop(.finishQueued)
        waiter.join()
        #expect(answers.value == [.stopped(thread: "refusing")])
    }

    @Test(.timeLimit(.minutes(2)))
    func `as much waits as the limit says, and one more is refused`() throws {
        let worker = try WorkerThread(name: "small", maxQueued: 3)
        let trace = Trace()
        let gate = try worker.hold()
        for number in 1...3 { try worker.post { trace.note("\(number)") } }
        let full = SubmitError.full(thread: "small", limit: 3)
        #expect(refusal { try worker.post { trace.note("4") } } == full)
        #expect(refusal { try worker.submitAndWait { trace.note("5") } } == full)
        gate.open()
        worker.waitUntil { !$0.contains("signalled") }
        try worker.submitAndWait { trace.note("6") }
        #expect(trace.all == ["1", "2", "3", "6"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a full thread takes exactly as many as its limit from many senders`() throws {
        let worker = try WorkerThread(name: "contended", maxQueued: 100)
        let ran = Shared(0)
        let accepted = Shared(0)
        let gate = try worker.hold()
        let senders = try (0..<4).map { try WorkerThread(name: "sender \($0)") }
        for sender in senders {
            try sender.post {
                for _ in 0..<100 {
                    let refused = refusal { try worker.post { ran.change { $0 += 1 } } }
                    if refused == nil { accepted.change { $0 += 1 } }
                }
            }
        }
        for sender in senders {
            sender.stop(.finishQueued)
            sender.join()
        }
        gate.open()
        worker.stop(.finishQueued)
        worker.join()
        #expect(accepted.value == 100)
        #expect(ran.value == 100)
    }

    @Test(.timeLimit(.minutes(2)))
    func `work that submits work goes on between timers and stops when told`() throws {
        let worker = try WorkerThread(name: "chain")
        let count = Shared(0)
        @Sendable func again() {
            count.change { $0 += 1 }
            _ = refusal { try worker.post { again() } }
        }
        try worker.post { again() }
        let fired = Latch()
        worker.runLoop.add(ThreadRunLoop.Timer(after: .zero) { _ in fired.open() })
        fired.wait()
        worker.stop(.finishQueued)
        worker.join()
        #expect(count.value > 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a run nested in a closure goes on with the closures behind it`() throws {
        let worker = try WorkerThread(name: "nested")
        let trace = Trace()
        let gate = try worker.hold()
        try worker.post {
            trace.note("begin")
            _ = ThreadRunLoop.current.run(mode: .default, until: .distantPast)
            trace.note("end")
        }
        try worker.post { trace.note("behind") }
        gate.open()
        // A stop that came before the nested run would end that at once.
        try worker.submitAndWait {}
        worker.stop(.finishQueued)
        worker.join()
        #expect(trace.all == ["begin", "behind", "end"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a closure with a delay runs at its date, unless it is taken back`() throws {
        let clock = ManualClock()
        let worker = try WorkerThread(name: "later", maxQueued: 2, clock: clock)
        let trace = Trace()
        let note: @Sendable (String) -> Void = { trace.note("\($0) at \(clock.elapsed)") }
        try worker.enqueue(after: .seconds(2)) { note("second") }
        let token = Token()
        let watched = WeakReference(token)
        let ticket = try worker.enqueue(after: .seconds(1)) { [token] in note("\(token)") }
        #expect(refusal { try worker.enqueue(after: .zero) {} } == .full(thread: "later", limit: 2))
        let other = try WorkerThread(name: "other", clock: clock)
        #expect(!other.cancel(ticket))
        #expect(worker.cancel(ticket))
        #expect(!worker.cancel(ticket))
        // Its place is free at once.
        let first = try worker.enqueue(after: .seconds(1)) { note("first") }
        clock.advance(by: .seconds(1))
        try worker.settle()
        #expect(!worker.cancel(first))
        clock.advance(by: .seconds(1))
        try worker.settle()
        #expect(trace.all == ["first at 1.0 seconds", "second at 2.0 seconds"])
        #expect(watched.object === token)
        let never = try worker.enqueue(after: .seconds(1)) { note("never") }
        worker.stop(.finishQueued)
        worker.join()
        #expect(worker.abandonedCount == 1)
        #expect(!worker.cancel(never))
        #expect(refusal { try worker.enqueue(after: .zero) {} } == .stopped(thread: "later"))
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `a delayed closure that never runs lets go of what it holds`(isTakenBack: Bool) throws {
        let worker = try WorkerThread(name: "later", clock: ManualClock())
        var token: Token? = Token()
        let watched = WeakReference(try #require(token))
        let ticket = try worker.enqueue(after: .seconds(1)) { [token] in _ = token }
        token = nil
        try worker.settle()
        #expect(watched.object != nil)
        if isTakenBack {
            worker.cancel(ticket)
        } else {
            worker.stop()
            worker.join()
        }
        #expect(watched.object == nil)
        _ = ticket
    }

    private struct Answer: Equatable, Sendable {
        let number: Int
        let text: String
        let lists: [[Int8]]
        var more: (Int, Int, Int, Int) = (1, 2, 3, 4)

        static func == (left: Answer, right: Answer) -> Bool {
            left.number == right.number && left.text == right.text && left.lists == right.lists
                && left.more == right.more
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `results of any size are handed over once, awaited or waited for`() async throws {
        let worker = try WorkerThread(name: "results")
        let expected = Answer(number: 1, text: "a longer text", lists: [[1, 2], [3]])
        for _ in 0..<100 {
            #expect(try worker.submitAndWait { expected } == expected)
            #expect(try worker.submitAndWait { Int?.none } == nil)
            let answer: Answer = try await worker.submit { expected }
            #expect(answer == expected)
            let nothing: Int? = try await worker.submit { Int?.none }
            #expect(nothing == nil)
        }
        let waited = WeakReference(try worker.submitAndWait { Token() })
        #expect(waited.object == nil)
        let token: Token = try await worker.submit { Token() }
        let awaited = WeakReference(token)
        #expect(awaited.object === token)
        worker.stop()
        worker.join()
    }

    @Test(.timeLimit(.minutes(2)))
    func `nothing accepted is lost between senders and a stop`() throws {
        for round in 0..<20 {
            let worker = try WorkerThread(name: "race")
            let ran = Shared(0)
            let accepted = Shared(0)
            let started = Latch()
            let sender = try WorkerThread(name: "sender")
            try sender.post {
                for number in 0..<1_000 {
                    if number == 50 { started.open() }
                    let refused = refusal { try worker.post { ran.change { $0 += 1 } } }
                    if refused != nil { return started.open() }
                    accepted.change { $0 += 1 }
                }
            }
            started.wait()
            worker.stop(round % 2 == 0 ? .finishQueued : .finishCurrent)
            worker.join()
            sender.stop(.finishQueued)
            sender.join()
            #expect(ran.value + worker.abandonedCount == accepted.value)
        }
    }
}
