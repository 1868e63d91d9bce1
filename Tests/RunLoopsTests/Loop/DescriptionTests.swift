// The whole loop as text.

import Kernel
import RunLoops
import RunLoopsTesting
import Testing

@Suite struct `Description of a loop` {
    @Test func `it names the modes with all that is in them, and what runs`() throws {
        let text = try withScriptedLoop { loop, _ in
            let trace = Trace()
            let source = ThreadRunLoop.Source(order: 3) {}
            loop.add(source)
            source.signal()
            loop.keepAlive("job")
            loop.add(
                ThreadRunLoop.Timer(at: Instant(nanoseconds: 2_000_000_000), every: .seconds(1)) {
                    _ in
                }, to: "job")
            try? loop.add(ThreadRunLoop.Port(watching: 5) { _, _ in }, to: "job")
            loop.add(ThreadRunLoop.Observer(.entry, order: -7) { _, _ in }, to: .common)
            loop.addCommonMode("tracking")
            loop.add(ThreadRunLoop.Timer(at: .distantFuture) { _ in }, to: "tracking")
            loop.perform(inModes: ["never"]) {}
            loop.perform(inModes: ["job"]) { trace.note(loop.describe()) }
            _ = loop.run(mode: "job", until: .distantPast)
            return trace.all.first ?? ""
        }
        #expect(
            text == """
                run loop: 1 passes, 0 sleeps, 0 wake-ups, 0 sources, 0 ports, 0 timers, 0 blocks
                  running: job · common modes: default, tracking · blocks waiting: 1
                  mode default
                    source order 3, signalled
                    observer order -7 of entry
                  mode job
                    port order 0
                    1 ports on descriptors
                    1 timers, the next in 2.0 seconds
                  mode tracking
                    1 timers, never due
                    observer order -7 of entry
                """)
    }

    @Test func `a loop that nothing was done to is short`() throws {
        let text = try withScriptedLoop { loop, _ in loop.describe() }
        #expect(
            text == """
                run loop: 0 passes, 0 sleeps, 0 wake-ups, 0 sources, 0 ports, 0 timers, 0 blocks
                  running: no · common modes: default · blocks waiting: 0
                """)
    }

    @Test func `the counters say what happened`() throws {
        let counters = try withScriptedLoop { loop, poller in
            let source = ThreadRunLoop.Source {}
            loop.add(source)
            source.signal()
            loop.perform {}
            loop.add(ThreadRunLoop.Timer(at: Instant(nanoseconds: 5)) { _ in })
            let port = ThreadRunLoop.Port { _, _ in }
            try? loop.add(port)
            poller.at(.seconds(1)) { port.signal() }
            _ = loop.run(for: .seconds(2))
            return loop.counters
        }
        #expect(counters.sourceCount == 1 && counters.blockCount == 1)
        #expect(counters.timerCount == 1 && counters.portCount == 1)
        #expect(counters.sleepCount == 3)
        #expect(counters.passCount >= 4)
    }
}
