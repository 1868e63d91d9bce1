// The samples of "Testing with the manual clock" for loops without a worker.

import RunLoops
import RunLoopsTesting
import Testing
import WorkerThreads

@Suite struct LoopTests {
    // sample: script
    @Test func `a day of ticks and one late message`() throws {
        let words = try withScriptedLoop { loop, poller in
            let trace = Trace()
            let hour = Duration.seconds(3_600)
            let clock = poller.manualClock
            let ticks = ThreadRunLoop.Timer(at: loop.now.advanced(by: hour), every: hour) { timer in
                trace.note("tick at \(clock.elapsed / hour) h")
                if clock.elapsed >= hour * 3 { timer.invalidate() }
            }
            let port = ThreadRunLoop.Port(watching: 7) { _, _ in
                trace.note("read at \(clock.elapsed / hour) h")
                poller.setReady(7, [])
            }
            loop.add(ticks)
            try loop.add(port)
            poller.at(hour * 1.5) { poller.setReady(7, .readable) }
            poller.at(hour * 4) { loop.stop() }
            _ = loop.run()
            return trace.all
        }
        #expect(words == ["tick at 1.0 h", "read at 1.5 h", "tick at 2.0 h", "tick at 3.0 h"])
    }
    // end

    // sample: sleeps
    @Test func `two timers within their tolerance share one wake-up`() throws {
        let sleeps = try withScriptedLoop { loop, poller in
            let start = loop.now
            for seconds in [10, 12] {
                let date = start.advanced(by: .seconds(seconds))
                loop.add(ThreadRunLoop.Timer(at: date, tolerance: .seconds(5)) { _ in })
            }
            _ = loop.run()
            return poller.sleeps
        }
        #expect(sleeps.map(\.ended) == [.seconds(15)])
        #expect(sleeps.map(\.end) == [.deadline])
    }
    // end

    // sample: step
    @Test func `what a callout signals is for the next pass`() throws {
        let passes = try withScriptedLoop { loop, _ in
            let second = ThreadRunLoop.Source {}
            let first = ThreadRunLoop.Source { second.signal() }
            loop.add(first)
            loop.add(second)
            first.signal()
            return (1...3).map { _ in loop.stepOnePass() }
        }
        #expect(passes.map(\.sourceCount) == [1, 1, 0])
        #expect(passes.map(\.wasIdle) == [false, false, true])
    }
    // end

    // sample: activities
    @Test func `a loop with nothing to do sleeps once`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.keepAlive()
            loop.observe(trace)
            _ = loop.run(for: .seconds(30))
        }
        #expect(
            trace.all == [
                "entry", "before-timers", "before-sources", "before-waiting", "after-waiting",
                "exit",
            ])
    }
    // end
}
