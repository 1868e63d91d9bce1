// A worker on a clock that is moved by hand, and waiting until it has settled.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

@Suite struct `A worker on a manual clock` {
    @Test(.timeLimit(.minutes(2)))
    func `has settled when all that was submitted and all that is due has run`() throws {
        let clock = ManualClock()
        let worker = try WorkerThread(name: "settles", clock: clock)
        let trace = Trace()
        for round in 1...200 {
            let date = worker.runLoop.now.advanced(by: .seconds(1))
            let timer = ThreadRunLoop.Timer(at: date) { [unowned worker] _ in
                trace.note("timer")
                try? worker.post { trace.note("submitted by the timer") }
            }
            worker.runLoop.add(timer)
            try worker.post { trace.note("submitted") }
            try worker.settle()
            #expect(trace.take() == ["submitted"], "round \(round)")
            clock.advance(by: .seconds(1))
            try worker.settle()
            #expect(trace.take() == ["timer", "submitted by the timer"], "round \(round)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `has fired what was added and due before its loop got there`() throws {
        for round in 1...200 {
            let clock = ManualClock()
            let worker = try WorkerThread(name: "early", clock: clock)
            let trace = Trace()
            let date = worker.runLoop.now.advanced(by: .seconds(1))
            worker.runLoop.add(ThreadRunLoop.Timer(at: date) { _ in trace.note("timer") })
            clock.advance(by: .seconds(1))
            try worker.settle()
            #expect(trace.all == ["timer"], "round \(round)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `that is busy for longer has not settled, and is named`() throws {
        let worker = try WorkerThread(name: "busy", clock: ManualClock())
        let gate = Gate()
        try worker.post { gate.pass() }
        #expect(throws: NotSettled(thread: "busy", limit: .milliseconds(1))) {
            try worker.settle(within: .milliseconds(1))
        }
        gate.open()
        try worker.settle()
    }

    @Test(.timeLimit(.minutes(2)))
    func `that is paused, or has ended, has settled`() throws {
        let clock = ManualClock()
        let worker = try WorkerThread(name: "paused", clock: clock)
        let trace = Trace()
        worker.pause()
        try worker.settle()
        worker.runLoop.add(ThreadRunLoop.Timer(at: worker.runLoop.now) { _ in trace.note("timer") })
        try worker.post { trace.note("submitted") }
        clock.advance(by: .seconds(1))
        try worker.settle()
        #expect(trace.all == [])
        worker.resume()
        try worker.settle()
        #expect(trace.all.sorted() == ["submitted", "timer"])
        worker.stop(.finishQueued)
        try worker.settle()
        worker.join()
        try worker.settle()
    }

    @Test(.timeLimit(.minutes(2)))
    func `a thread of one's own can go by the clock too`() throws {
        let clock = ManualClock()
        let box = LoopBox()
        let trace = Trace()
        let ready = Latch()
        let thread = try TestThread(name: "own") {
            let loop = ThreadRunLoop.makeCurrent(clock: clock)
            let date = loop.now.advanced(by: .seconds(3_600))
            loop.add(ThreadRunLoop.Timer(at: date) { _ in trace.note("an hour") })
            box.loop = loop
            ready.open()
            trace.note("\(loop.run())")
        }
        ready.wait()
        #expect(box.loop != nil)
        clock.advance(by: .seconds(3_600))
        thread.join()
        #expect(trace.all == ["an hour", "finished"])
    }
}

@Suite struct `Manual clock` {
    @Test func `never goes back`() {
        let clock = ManualClock()
        clock.advance(by: .seconds(5))
        clock.advance(by: .seconds(-3))
        clock.move(to: Instant(nanoseconds: 1))
        #expect(clock.elapsed == .seconds(5))
        clock.move(to: clock.now().advanced(by: .seconds(1)))
        #expect(clock.elapsed == .seconds(6))
    }

    @Test func `tells everybody who asked of each move`() {
        let clock = ManualClock()
        let counter = Counter()
        clock.whenMoved { counter.increment() }
        clock.whenMoved { counter.increment() }
        clock.advance(by: .seconds(1))
        #expect(counter.count == 2)
    }
}
