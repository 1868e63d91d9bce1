// Leases: a timer or an observer is in its loop for as long as its lease lives.

import RunLoops
import RunLoopsTesting
import Testing

@Suite struct `A lease` {
    @Test func `ends its timer and its observer with its scope`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            do {
                let ticking = loop.lease(
                    ThreadRunLoop.Timer(after: .seconds(1), every: .seconds(1)) { _ in
                        trace.note("tick")
                    })
                let watching = loop.lease(
                    ThreadRunLoop.Observer(.exit) { _, _ in trace.note("exit") })
                #expect(loop.run(for: .milliseconds(2_500)) == .timedOut)
                ticking.end()
                watching.end()
            }
            #expect(loop.run() == .finished)
        }
        #expect(trace.all == ["tick", "tick", "exit"])
    }

    @Test func `that is given up leaves its timer in the loop`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let timer = ThreadRunLoop.Timer(after: .seconds(1)) { _ in trace.note("fired") }
            do {
                let lease = loop.lease(timer, in: "A")
                lease.keepItem()
            }
            #expect(loop.run(mode: "A") == .finished)
        }
        #expect(trace.all == ["fired"])
    }
}

@Suite struct `A date of the continuous clock` {
    @Test func `is as far from a loop's now as from its own`() throws {
        try withScriptedLoop { loop, poller in
            loop.add(ThreadRunLoop.Source {})
            let before = loop.now
            let result = loop.run(until: ContinuousClock.now + .seconds(60))
            #expect(result == .timedOut)
            let passed = before.duration(to: loop.now)
            // A moment passes between the two looks at the continuous clock.
            #expect(passed > .seconds(1) && passed <= .seconds(60))
            #expect(loop.run(until: .now) == .timedOut)
        }
    }

    @Test func `is a date to schedule a closure for`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let now = ContinuousClock.now
            loop.schedule(at: now + .seconds(3_600)) { trace.note("later") }
            loop.schedule(at: now - .seconds(1)) { trace.note("past") }
            let before = loop.now
            _ = loop.run(until: .distantPast)
            #expect(trace.all == ["past"])
            _ = loop.run()
            let passed = before.duration(to: loop.now)
            // A moment passes between the two looks at the continuous clock.
            #expect(passed > .seconds(1) && passed <= .seconds(3_600))
        }
        #expect(trace.all == ["past", "later"])
    }

    @Test func `is an instant, and the date of a timer`() {
        let hour = ContinuousClock.now + .seconds(3_600)
        let timer = ThreadRunLoop.Timer(at: hour) { _ in }
        let left = Instant(ContinuousClock.now).duration(to: timer.fireDate)
        #expect(left > .seconds(3_000) && left <= .seconds(3_600))
    }
}
