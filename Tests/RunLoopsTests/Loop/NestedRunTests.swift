// Runs nested in callouts: they lose nothing of the run around them, which misses nothing either.

import Kernel
import RunLoops
import RunLoopsTesting
import Testing

/// A source that runs the loop as it enters a mode, and has all runs stopped in there.
private func sourceThatStopsAll() -> ThreadRunLoop.Source {
    ThreadRunLoop.Source(
        schedule: { loop, _ in
            loop.perform { loop.stopAllRuns() }
            #expect(loop.run(for: .seconds(1)) == .stopped)
        }, perform: {})
}

@Suite struct `Nested runs` {
    @Test func `a source signalled and woken during a nested run performs without another wake`()
        throws
    {
        // The nested run begins in a block, or in an observer as the last thing before the sleep.
        for fromObserver in [false, true] {
            let trace = Trace()
            try withScriptedLoop { loop, poller in
                let source = ThreadRunLoop.Source { trace.note("perform") }
                loop.add(source)
                loop.keepAlive("inner")
                @Sendable func nest() {
                    guard loop.currentMode == .default, trace.all.isEmpty else { return }
                    trace.note("nested")
                    poller.whileAsleep {
                        source.signal()
                        loop.wakeUp()
                    }
                    #expect(loop.run(mode: "inner", for: .seconds(1)) == .timedOut)
                }
                if fromObserver {
                    loop.add(ThreadRunLoop.Observer(.beforeWaiting) { _, _ in nest() })
                } else {
                    loop.perform { nest() }
                }
                let result = loop.run(for: .seconds(100), returnAfterSourceHandled: true)
                #expect(result == .handledSource)
                #expect(loop.now == Instant(nanoseconds: 1_000_000_000))
            }
            #expect(trace.all == ["nested", "perform"])
        }
    }

    @Test func `a block that arrives during a nested run runs without another wake`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            loop.keepAlive()
            loop.keepAlive("inner")
            loop.perform {
                poller.whileAsleep { loop.perform { trace.note("outer block at \(loop.now)") } }
                #expect(loop.run(mode: "inner", for: .seconds(1)) == .timedOut)
                trace.note("nested done")
            }
            #expect(loop.run(for: .seconds(100)) == .timedOut)
        }
        #expect(trace.all == ["nested done", "outer block at 1.000000000s"])
    }

    @Test func `a stop in what others have asked for before a run ends that run`() throws {
        try withScriptedLoop { loop, _ in
            let stopper = ThreadRunLoop.Source(
                schedule: { loop, _ in loop.stop() }, perform: {})
            try onNewThread { loop.add(stopper) }
            #expect(loop.run(for: .seconds(9)) == .stopped)
            #expect(loop.now == Instant(nanoseconds: 0))
            #expect(loop.run(for: .seconds(9)) == .timedOut)
        }
    }

    @Test func `a stop of all runs ends the run that has nested one before its first pass`() throws
    {
        try withScriptedLoop { loop, _ in
            let nesting = sourceThatStopsAll()
            try onNewThread { loop.add(nesting) }
            #expect(loop.run(for: .seconds(9)) == .stopped)
            #expect(loop.now == Instant(nanoseconds: 0))
        }
    }

    @Test func `a stop of all runs that comes between two passes ends the run without a wake-up`()
        throws
    {
        try withScriptedLoop { loop, _ in
            let nesting = sourceThatStopsAll()
            // The timer's block is the last of its pass, and what it asks for comes behind that.
            let timer = ThreadRunLoop.Timer(after: .zero) { _ in
                loop.perform {
                    #expect(throws: Never.self) { try onNewThread { loop.add(nesting) } }
                }
            }
            loop.add(timer)
            loop.keepAlive()
            #expect(loop.run(for: .seconds(9)) == .stopped)
            #expect(loop.now == Instant(nanoseconds: 0))
        }
    }

    @Test func `a block may wait in a nested run for one that was queued with it`() throws {
        for mode: ThreadRunLoop.Mode in [.default, "inner"] {
            let trace = Trace()
            try withScriptedLoop { loop, _ in
                loop.keepAlive()
                loop.keepAlive("inner")
                loop.perform {
                    trace.note("first begins")
                    #expect(loop.run(mode: mode, for: .seconds(9)) == .stopped)
                    trace.note("first ends")
                }
                loop.perform(inModes: [mode]) {
                    trace.note("second")
                    loop.stop()
                }
                loop.perform { trace.note("third") }
                #expect(loop.run(for: .seconds(1)) == .timedOut)
            }
            let expected =
                mode == .default
                ? ["first begins", "second", "third", "first ends"]
                : ["first begins", "second", "first ends", "third"]
            #expect(trace.all == expected)
        }
    }

    @Test func `a stop meant for the outer run survives a nested one`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.keepAlive()
            loop.keepAlive("inner")
            loop.perform {
                loop.stop()
                trace.note("inner \(loop.run(mode: "inner", for: .seconds(1)))")
            }
            trace.note("outer \(loop.run(for: .seconds(9)))")
        }
        #expect(trace.all == ["inner timedOut", "outer stopped"])
    }

    @Test func `stopping all runs ends each, and the next run is none of them`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            for mode: ThreadRunLoop.Mode in [.default, "a", "b"] { loop.keepAlive(mode) }
            loop.perform {
                loop.perform(inModes: ["a"]) {
                    loop.perform(inModes: ["b"]) { loop.stopAllRuns() }
                    trace.note("b \(loop.run(mode: "b", for: .seconds(9)))")
                }
                trace.note("a \(loop.run(mode: "a", for: .seconds(9)))")
            }
            trace.note("default \(loop.run(for: .seconds(9)))")
            trace.note("next \(loop.run(for: .seconds(9)))")
        }
        #expect(trace.all == ["b stopped", "a stopped", "default stopped", "next timedOut"])
    }

    @Test func `a source performed by a nested run is not performed again by the outer`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let second = ThreadRunLoop.Source(order: 2) { trace.note("second") }
            let first = ThreadRunLoop.Source(order: 1) {
                trace.note("first begins")
                _ = loop.run(until: .distantPast)
                trace.note("first ends")
            }
            loop.add(first)
            loop.add(second)
            first.signal()
            second.signal()
            _ = loop.run(until: .distantPast)
        }
        #expect(trace.all == ["first begins", "second", "first ends"])
    }

    @Test func `an observer is not told again while it is being told`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.keepAlive()
            loop.add(
                ThreadRunLoop.Observer(.beforeTimers) { _, _ in
                    trace.note("begin")
                    _ = loop.run(until: .distantPast)
                    trace.note("end")
                })
            _ = loop.run(until: .distantPast)
        }
        #expect(trace.all == ["begin", "end"])
    }
}
