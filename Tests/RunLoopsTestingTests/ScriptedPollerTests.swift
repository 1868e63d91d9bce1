// The poller that plays the kernel: its script, its descriptors, what it records, and its end.

import RunLoops
import RunLoopsTesting
import Testing

private struct Oops: Error, Equatable {}

@Suite struct `Scripted poller` {
    @Test func `steps happen by their time, equal ones in the sequence in which they were added`()
        throws
    {
        let words = try withScriptedLoop { loop, poller in
            let trace = Trace()
            loop.keepAlive()
            for (time, word) in [(3, "d"), (1, "a"), (2, "b"), (2, "c"), (1, "a2")] {
                poller.at(.seconds(time)) { trace.note("\(word) \(poller.manualClock.elapsed)") }
            }
            poller.whileAsleep { trace.note("first") }
            _ = loop.run(for: .seconds(10))
            return trace.all
        }
        #expect(
            words == [
                "first", "a 1.0 seconds", "a2 1.0 seconds", "b 2.0 seconds", "c 2.0 seconds",
                "d 3.0 seconds",
            ])
    }

    @Test func `it records what each sleep asked for and why it ended`() throws {
        let sleeps = try withScriptedLoop { loop, poller in
            let port = ThreadRunLoop.Port(watching: 5) { _, _ in poller.setReady(5, []) }
            try loop.add(port)
            poller.at(.seconds(1)) { loop.wakeUp() }
            poller.at(.seconds(2)) { poller.setReady(5, .readable) }
            _ = loop.run(for: .seconds(10))
            return poller.sleeps
        }
        func sleep(_ began: Int, _ ended: Int, _ end: ScriptedPoller.Sleep.End)
            -> ScriptedPoller.Sleep
        {
            ScriptedPoller.Sleep(
                began: .seconds(began), ended: .seconds(ended), deadline: .seconds(10),
                watched: [5: .readable], end: end)
        }
        #expect(sleeps == [sleep(0, 1, .woken), sleep(1, 2, .ready), sleep(2, 10, .deadline)])
    }

    @Test func `a sleep that nothing could end is the test's fault, and is thrown`() throws {
        let sleeps = Trace()
        let error = #expect(throws: ScriptEnded.self) {
            try withScriptedLoop { loop, poller in
                loop.keepAlive("night")
                poller.at(.seconds(2)) {}
                let result = loop.run(mode: "night")
                sleeps.note("\(result), \(poller.sleeps.map(\.end))")
            }
        }
        #expect(error == ScriptEnded(time: .seconds(2), mode: "night"))
        #expect(sleeps.all == ["stopped, [RunLoopsTesting.ScriptedPoller.Sleep.End.scriptEnded]"])
    }

    @Test func `a sleep that nothing could end ends the runs around it too`() throws {
        let trace = Trace()
        #expect(throws: ScriptEnded.self) {
            try withScriptedLoop { loop, _ in
                loop.keepAlive("inner")
                loop.perform { trace.note("inner \(loop.run(mode: "inner"))") }
                loop.keepAlive()
                trace.note("outer \(loop.run())")
            }
        }
        #expect(trace.all == ["inner stopped", "outer stopped"])
    }

    @Test func `what the body throws comes out, and what it returns`() throws {
        #expect(throws: Oops()) { try withScriptedLoop { _, _ in throw Oops() } }
        #expect(try withScriptedLoop { loop, _ in loop.isOnThread })
    }

    @Test func `the other side's end is reported whether asked for or not`() throws {
        let words = try withScriptedLoop { loop, poller in
            let trace = Trace()
            let port = ThreadRunLoop.Port(watching: 5, for: .writable) { port, readiness in
                trace.note("\(readiness.rawValue)")
                port.invalidate()
            }
            try loop.add(port)
            poller.at(.seconds(1)) { poller.setReady(5, .readable) }
            poller.at(.seconds(2)) { poller.setReady(5, [.readable, .closed]) }
            _ = loop.run()
            return trace.all
        }
        #expect(words == ["6"])
    }
}

@Suite struct `One pass` {
    @Test func `tells what it did and does not sleep`() throws {
        let passes = try withScriptedLoop { loop, poller in
            loop.keepAlive()
            let source = ThreadRunLoop.Source {}
            loop.add(source)
            source.signal()
            loop.perform {}
            loop.add(ThreadRunLoop.Timer(at: loop.now) { _ in })
            loop.add(ThreadRunLoop.Timer(at: loop.now.advanced(by: .seconds(1))) { _ in })
            let first = loop.stepOnePass()
            let second = loop.stepOnePass()
            poller.manualClock.advance(by: .seconds(1))
            let third = loop.stepOnePass()
            let asleep = poller.manualClock.elapsed - .seconds(1)
            return (first, second, third, asleep)
        }
        #expect(
            passes.0
                == ThreadRunLoop.Pass(
                    result: .timedOut, sourceCount: 1, portCount: 0, timerCount: 1, blockCount: 1))
        #expect(passes.1.wasIdle)
        #expect(passes.2.timerCount == 1)
        #expect(passes.3 == .zero)
    }

    @Test func `in a mode without anything is none, and says so`() throws {
        let pass = try withScriptedLoop { loop, _ in loop.stepOnePass(mode: "empty") }
        #expect(pass.result == .finished)
        #expect(pass.wasIdle)
    }

    @Test func `tells the last 10,000 sleeps`() throws {
        let (sleeps, count) = try withScriptedLoop { loop, poller in
            loop.keepAlive()
            for _ in 0..<20_001 { loop.run(for: .seconds(1)) }
            return (poller.sleeps, loop.counters.sleepCount)
        }
        #expect(sleeps.count == 10_000)
        #expect(sleeps.last?.began == .seconds(Int64(count) - 1))
    }
}
