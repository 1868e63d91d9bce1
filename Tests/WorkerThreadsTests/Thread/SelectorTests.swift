// The perform-selector family: in modes, waiting, after a delay, and cancelled.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

/// A target that notes what was performed on it.
private final class Performer: Sendable {
    let trace: Trace

    init(_ trace: Trace) { self.trace = trace }

    static let note = Selector<Performer, Int>("note") { target, number in
        target.trace.note("note \(number)")
    }
    static let count = Selector<Performer, Int>("count") { target, number in
        target.trace.note("count \(number)")
    }
}

/// An argument that is equal to others, and cancels performs on it when it is
/// hashed, is compared, or ends.
private final class Equal: Sendable, Hashable {
    let worker: WorkerThread

    init(_ worker: WorkerThread) { self.worker = worker }

    deinit { worker.cancelPreviousPerforms(target: self) }

    static func == (one: Equal, other: Equal) -> Bool {
        one.worker.cancelPreviousPerforms(target: one)
        return true
    }

    func hash(into hasher: inout Hasher) { worker.cancelPreviousPerforms(target: self) }

    static let meet = Selector<Performer, Equal>("meet") { target, _ in target.trace.note("meet") }
}

/// A worker whose loop goes by a clock that stands still.
private func stillWorker() throws -> (WorkerThread, ManualClock) {
    let clock = ManualClock()
    return (try WorkerThread(name: "still", poller: SystemPoller(clock: clock)), clock)
}

@Suite struct `Performing selectors` {
    @Test(.timeLimit(.minutes(2)))
    func `row 19: a perform that waits runs in place on the thread, and blocks elsewhere`() throws {
        let worker = try WorkerThread(name: "selectors")
        let trace = Trace()
        let target = Performer(trace)
        try worker.perform(Performer.note, on: target, with: 1, waitUntilDone: true)
        trace.note("back")
        try worker.submitAndWait { [unowned worker] in
            try worker.perform(Performer.note, on: target, with: 2)
            try worker.perform(Performer.note, on: target, with: 3, waitUntilDone: true)
            try worker.perform(
                Performer.note, on: target, with: 4, waitUntilDone: true, modes: ["elsewhere"])
            trace.note("in place")
        }
        try worker.submitAndWait {}
        #expect(trace.all == ["note 1", "back", "note 3", "note 4", "in place", "note 2"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a perform for no mode at all is none: nobody waits for it, and it takes no room`() throws
    {
        let worker = try WorkerThread(name: "nowhere", maxQueued: 1)
        let trace = Trace()
        let target = Performer(trace)
        for number in 1...3 {
            try worker.perform(Performer.note, on: target, with: number, modes: [])
            try worker.perform(
                Performer.note, on: target, with: number, waitUntilDone: true, modes: [])
            try worker.perform(
                Performer.note, on: target, with: number, afterDelay: .zero, modes: [])
        }
        #expect(worker.runLoop.perform(inModes: [], { trace.note("block") }) == false)
        #expect(worker.runLoop.performAndWait(inModes: [], { trace.note("waits") }) == false)
        try worker.submitAndWait {}
        #expect(trace.all.isEmpty)
        worker.stop()
        worker.join()
        #expect(worker.abandonedCount == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a perform for another mode is held until that mode runs`() throws {
        let worker = try WorkerThread(name: "modes")
        let trace = Trace()
        let target = Performer(trace)
        try worker.perform(Performer.note, on: target, with: 1, modes: [.paused])
        try worker.submitAndWait { trace.note("default") }
        #expect(trace.all == ["default"])
        worker.pause()
        try worker.perform(
            Performer.note, on: target, with: 2, waitUntilDone: true, modes: [.paused])
        #expect(trace.all == ["default", "note 1", "note 2"])
        try worker.perform(Performer.note, on: target, with: 3, modes: [.default, "x"])
        #expect(trace.all.count == 3)
        worker.stop(.finishQueued)
        worker.join()
        #expect(trace.all.last == "note 3")
        #expect(worker.abandonedCount == 0)
    }

    @Test(.timeLimit(.minutes(2)), arguments: [StopPolicy.finishCurrent, .finishQueued])
    func `who waits for a perform in a mode that never runs is told when the thread ends`(
        policy: StopPolicy
    ) throws {
        let worker = try WorkerThread(name: "modes", maxQueued: 1)
        let target = Performer(Trace())
        let waiter = try WorkerThread(name: "waiter")
        let answer = Shared<SubmitError?>(nil)
        try waiter.post {
            answer.set(
                refusal {
                    try worker.perform(
                        Performer.note, on: target, with: 1, waitUntilDone: true, modes: ["never"])
                })
        }
        worker.waitUntil { $0.contains("blocks waiting: 1") }
        #expect(
            refusal { try worker.perform(Performer.note, on: target, with: 2, modes: ["never"]) }
                == .full(thread: "modes", limit: 1))
        worker.stop(policy)
        worker.join()
        waiter.stop(.finishQueued)
        waiter.join()
        #expect(answer.value == .stopped(thread: "modes"))
        #expect(target.trace.all.isEmpty)
        #expect(worker.abandonedCount == 1)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a pause from one that is performed holds those behind it, in modes or delayed`() throws {
        let clock = ManualClock()
        let worker = try WorkerThread(name: "held", clock: clock)
        let trace = Trace()
        let target = Performer(trace)
        let pause = Selector<Performer, NoArgument>("pause") { [unowned worker] _ in
            trace.note("pause")
            worker.pause()
        }
        let held = try worker.hold()
        for modes in [[ThreadRunLoop.Mode.common], [.default, "elsewhere"]] {
            try worker.perform(pause, on: target, modes: modes)
            try worker.perform(Performer.note, on: target, with: 1, modes: modes)
            try worker.perform(Performer.note, on: target, with: 2, modes: modes)
        }
        try worker.perform(pause, on: target, afterDelay: .seconds(1))
        try worker.perform(Performer.count, on: target, with: 1, afterDelay: .seconds(1))
        try worker.perform(Performer.count, on: target, with: 2, afterDelay: .seconds(1))
        held.open()
        try worker.settle()
        #expect(trace.take() == ["pause"])
        worker.resume()
        try worker.settle()
        #expect(trace.take() == ["note 1", "note 2", "pause"])
        clock.advance(by: .seconds(1))
        worker.resume()
        try worker.settle()
        #expect(trace.take() == ["note 1", "note 2", "pause"])
        worker.resume()
        try worker.settle()
        #expect(trace.take() == ["count 1", "count 2"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `one that comes due as the thread goes on overtakes none that a pause held back`() throws {
        let (worker, clock) = try stillWorker()
        let trace = Trace()
        let target = Performer(trace)
        let pause = Selector<Performer, NoArgument>("pause") { [unowned worker] _ in
            worker.pause()
        }
        try worker.perform(pause, on: target, afterDelay: .seconds(1))
        try worker.perform(Performer.count, on: target, with: 1, afterDelay: .seconds(2))
        worker.runLoop.add(
            ThreadRunLoop.Timer(after: .seconds(3)) { [unowned worker] _ in worker.resume() })
        try worker.perform(Performer.count, on: target, with: 2, afterDelay: .seconds(4))
        // All of them are in the loop: the timer that resumes it is not served while it is paused.
        try worker.settle()
        clock.advance(by: .seconds(5))
        try worker.settle()
        #expect(trace.take() == ["count 1", "count 2"])
        try worker.perform(Performer.count, on: target, with: 3, afterDelay: .zero)
        try worker.settle()
        #expect(trace.all == ["count 3"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a stop from one that is performed refuses those behind it, in modes or delayed`() throws {
        let (worker, clock) = try stillWorker()
        let trace = Trace()
        let target = Performer(trace)
        let stop = Selector<Performer, NoArgument>("stop") { [unowned worker] _ in
            trace.note("stop")
            worker.stop(.finishCurrent)
        }
        try worker.perform(stop, on: target, afterDelay: .seconds(1))
        try worker.perform(Performer.count, on: target, with: 1, afterDelay: .seconds(1))
        clock.advance(by: .seconds(1))
        worker.join()
        #expect(trace.all == ["stop"])
        #expect(worker.abandonedCount == 1)
    }

    @Test(.timeLimit(.minutes(2)))
    func `row 21: a delayed perform runs once, at its date`() throws {
        let (worker, clock) = try stillWorker()
        let trace = Trace()
        let target = Performer(trace)
        try worker.perform(Performer.note, on: target, with: 1, afterDelay: .seconds(10))
        clock.advance(by: .seconds(9))
        try worker.submitAndWait {}
        #expect(trace.all.isEmpty)
        clock.advance(by: .seconds(1))
        worker.waitUntilTimersHaveFired()
        #expect(trace.all == ["note 1"])
        clock.advance(by: .seconds(100))
        try worker.submitAndWait {}
        #expect(trace.all == ["note 1"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `row 21: cancelled by target, by selector, by argument; others are untouched`() throws {
        let (worker, clock) = try stillWorker()
        let trace = Trace()
        let target = Performer(trace)
        let other = Performer(trace)
        for number in 1...3 {
            for selector in [Performer.note, Performer.count] {
                try worker.perform(selector, on: target, with: number, afterDelay: .seconds(1))
            }
        }
        try worker.perform(Performer.note, on: other, with: 9, afterDelay: .seconds(1))
        #expect(
            worker.cancelPreviousPerforms(target: target, selector: "note", argument: 2) == 1)
        #expect(worker.cancelPreviousPerforms(target: target, selector: "count") == 3)
        #expect(worker.cancelPreviousPerforms(target: target, selector: "nothing") == 0)
        #expect(
            worker.cancelPreviousPerforms(target: target, selector: "note", argument: "2") == 0)
        clock.advance(by: .seconds(1))
        worker.waitUntilTimersHaveFired()
        #expect(trace.all == ["note 1", "note 3", "note 9"])
        try worker.perform(Performer.note, on: target, with: 4, afterDelay: .seconds(1))
        try worker.perform(Performer.count, on: target, with: 5, afterDelay: .seconds(1))
        #expect(worker.cancelPreviousPerforms(target: target) == 2)
        clock.advance(by: .seconds(2))
        try worker.submitAndWait {}
        #expect(trace.all.count == 3)
    }

    @Test(.timeLimit(.minutes(2)))
    func
        `as many wait for their delay as the limit says; one that is done or cancelled makes room`()
        throws
    {
        let clock = ManualClock()
        let worker = try WorkerThread(
            name: "small", maxQueued: 2, poller: SystemPoller(clock: clock))
        let target = Performer(Trace())
        let other = Performer(target.trace)
        func delay(_ number: Int, on target: Performer) -> SubmitError? {
            refusal {
                try worker.perform(
                    Performer.note, on: target, with: number, afterDelay: .seconds(number))
            }
        }
        let full = SubmitError.full(thread: "small", limit: 2)
        #expect(delay(1, on: target) == nil)
        #expect(delay(2, on: other) == nil)
        #expect(delay(3, on: target) == full)
        #expect(worker.cancelPreviousPerforms(target: other) == 1)
        #expect(delay(4, on: target) == nil)
        #expect(delay(5, on: target) == full)
        clock.advance(by: .seconds(1))
        while target.trace.all.isEmpty { _ = worker.described() }
        #expect(delay(6, on: other) == nil)
        #expect(delay(7, on: other) == full)
        clock.advance(by: .seconds(10))
        worker.waitUntilTimersHaveFired()
        #expect(target.trace.all == ["note 1", "note 4", "note 6"])
        worker.stop()
        worker.join()
        #expect(worker.abandonedCount == 0)
        #expect(delay(8, on: target) == .stopped(thread: "small"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `cancelling looks at the target's performs only, however many wait for others`() throws {
        let (worker, clock) = try stillWorker()
        let trace = Trace()
        let crowd = (0..<200).map { _ in Performer(trace) }
        for (index, target) in crowd.enumerated() {
            // Equal ones too: each is its own perform.
            for number in [index, index, 7] {
                try worker.perform(
                    Performer.note, on: target, with: number, afterDelay: .seconds(1))
            }
        }
        for (index, target) in crowd.enumerated().dropFirst(1) {
            let expected = index == 7 ? 3 : 2
            #expect(
                worker.cancelPreviousPerforms(target: target, selector: "note", argument: index)
                    == expected)
            #expect(worker.cancelPreviousPerforms(target: target) == 3 - expected)
            #expect(worker.cancelPreviousPerforms(target: target) == 0)
        }
        clock.advance(by: .seconds(1))
        worker.waitUntilTimersHaveFired()
        #expect(trace.all.sorted() == ["note 0", "note 0", "note 7"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `what a cancel counts never runs, what it does not count does`() throws {
        let worker = try WorkerThread(name: "racing")
        let runs = Shared(0)
        let bump = Selector<Performer, Int>("bump") { _, _ in runs.change { $0 += 1 } }
        let target = Performer(Trace())
        var cancelled = 0
        for number in 0..<500 {
            try worker.perform(bump, on: target, with: number, afterDelay: .zero)
            cancelled += worker.cancelPreviousPerforms(target: target, argument: number)
        }
        worker.waitUntilTimersHaveFired()
        try worker.submitAndWait {}
        #expect(runs.value + cancelled == 500)
        worker.stop()
        worker.join()
        #expect(worker.abandonedCount == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `an invalid timer never keeps the thread awake`() throws {
        let worker = try WorkerThread(name: "racing")
        let target = Performer(Trace())
        // Cancelled while the thread is adding it, now and then.
        for number in 0..<2_000 {
            try worker.perform(Performer.note, on: target, with: number, afterDelay: .zero)
            worker.cancelPreviousPerforms(target: target)
        }
        worker.waitUntilTimersHaveFired()
        while !worker.runLoop.isWaiting {}
    }

    @Test(.timeLimit(.minutes(2)))
    func `a target is let go of once its perform was cancelled`() throws {
        let (worker, _) = try stillWorker()
        var target: Performer? = Performer(Trace())
        let watched = WeakReference(try #require(target))
        try worker.perform(
            Performer.note, on: try #require(target), with: 1, afterDelay: .seconds(1))
        worker.cancelPreviousPerforms(target: try #require(target))
        target = nil
        worker.waitUntilTimersHaveFired()
        while watched.object != nil {}
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `an argument that ends with its perform may cancel others`(cancels: Bool) throws {
        let (worker, clock) = try stillWorker()
        let target = Performer(Trace())
        for delay in 1...2 {
            try worker.perform(
                Equal.meet, on: target, with: Equal(worker), afterDelay: .seconds(delay))
        }
        clock.advance(by: .seconds(1))
        while target.trace.all.isEmpty { _ = worker.described() }
        if cancels { #expect(worker.cancelPreviousPerforms(target: target) == 1) }
        worker.stop()
        worker.join()
        #expect(target.trace.all == ["meet"])
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["meet", nil])
    func `an argument that is looked for may cancel others`(selector: String?) throws {
        let (worker, _) = try stillWorker()
        let target = Performer(Trace())
        for delay in 1...2 {
            try worker.perform(
                Equal.meet, on: target, with: Equal(worker), afterDelay: .seconds(delay))
        }
        try worker.perform(Performer.note, on: target, with: 1, afterDelay: .seconds(1))
        let cancelledCount = worker.cancelPreviousPerforms(
            target: target, selector: selector, argument: Equal(worker))
        #expect(cancelledCount == 2)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a delayed perform after the thread has ended is refused`() throws {
        let worker = try WorkerThread(name: "ended")
        let target = Performer(Trace())
        try worker.perform(Performer.note, on: target, with: 1, afterDelay: .seconds(1_000))
        worker.stop(.finishQueued)
        worker.join()
        #expect(worker.abandonedCount == 1)
        #expect(worker.cancelPreviousPerforms(target: target) == 0)
    }
}
