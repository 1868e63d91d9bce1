// The whole loop as text.

import Kernel
import RunLoops
import RunLoopsTesting
import Testing

@Suite struct `Description of a loop` {
    @Test func `it names the modes with all that is in them, and what runs`() throws {
        let text = try withScriptedLoop { loop, _ in
            let trace = Trace()
            let source = ThreadRunLoop.Source(order: 3, perform: {}, fileID: "A.swift", line: 1)
            loop.add(source)
            source.signal()
            let alive = ThreadRunLoop.Port(handler: { _, _ in }, fileID: "A.swift", line: 2)
            try? loop.add(alive, to: "job")
            loop.add(
                ThreadRunLoop.Timer(at: Instant(nanoseconds: 2_000_000_000), every: .seconds(1)) {
                    _ in
                }, to: "job")
            loop.add(
                ThreadRunLoop.Timer(after: .seconds(1), tolerance: .seconds(3)) { _ in }, to: "job")
            _ = loop.schedule(after: .seconds(4), in: "job") {}
            let port = ThreadRunLoop.Port(
                watching: 5, handler: { _, _ in }, fileID: "A.swift", line: 3)
            try? loop.add(port, to: "job")
            let observer = ThreadRunLoop.Observer(
                .entry, order: -7, handler: { _, _ in }, fileID: "A.swift", line: 4)
            loop.add(observer, to: .common)
            loop.addCommonMode("tracking")
            loop.add(ThreadRunLoop.Timer(at: .distantFuture) { _ in }, to: "tracking")
            loop.perform(inModes: ["never"]) {}
            loop.perform(inModes: ["job"]) { trace.note("\(loop)") }
            _ = loop.run(mode: "job", until: .distantPast)
            return trace.all.first ?? ""
        }
        #expect(
            text == """
                run loop: 1 passes, 0 sleeps, 0 wake-ups, 0 sources, 0 ports, 0 timers, 0 blocks
                  running: job · common modes: default, tracking · blocks waiting: 1
                  mode default
                    source order 3, signalled, made at A.swift:1
                    observer order -7 of entry, made at A.swift:4
                  mode job
                    port order 0, made at A.swift:2
                    port order 0 on descriptor 5 for readable, made at A.swift:3
                    3 timers, the next in 1.0 seconds
                      in 1.0 seconds, once, or up to 3.0 seconds later
                      in 2.0 seconds, every 1.0 seconds
                      in 4.0 seconds, a time-out
                  mode tracking
                    1 timers, never due
                      never due, once
                    observer order -7 of entry, made at A.swift:4
                """)
    }

    @Test func `it counts the blocks that wait behind the one that asks`() throws {
        let texts = try withScriptedLoop { loop, _ in
            let trace = Trace()
            loop.perform(inModes: ["never"]) {}
            for _ in 1...3 { loop.perform { trace.note("\(loop)") } }
            _ = loop.run(until: .distantPast)
            return trace.all
        }
        for (count, text) in zip([3, 2, 1], texts) {
            #expect(text.contains(" · blocks waiting: \(count)\n"))
        }
        #expect(texts.count == 3)
    }

    @Test func `of very many it tells the first, and how many more there are`() throws {
        let text = try withScriptedLoop { loop, _ in
            for number in 1...1_000 {
                _ = loop.schedule(after: .seconds(number)) {}
                loop.add(ThreadRunLoop.Observer(order: number) { _, _ in })
            }
            return loop.describe()
        }
        let lines = text.split(separator: "\n")
        #expect(lines.count { $0.hasSuffix("and 984 more") } == 2)
        #expect(lines.contains("      in 16.0 seconds, a time-out"))
        #expect(lines.count < 50)
    }

    @Test func `another thread is told what it may know`() throws {
        let text = try withScriptedLoop { loop, _ in
            loop.keepAlive()
            return try onNewThread { "\(loop)" }
        }
        #expect(
            text == """
                run loop: 0 passes, 0 sleeps, 0 wake-ups, 0 sources, 0 ports, 0 timers, 0 blocks; \
                its own thread tells what is in it
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
