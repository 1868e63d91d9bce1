// The rows of the project's table "what a run loop must be seen to do", by number: what is
// observed, in which order, on a scripted kernel and a clock that is moved by hand.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing

private let round = ["before-timers", "before-sources"]
private let sleep = ["before-waiting", "after-waiting"]

@Suite struct `Traces of a run` {
    @Test func `row 1: a run without events ends timed out, and can be run again`() throws {
        let trace = Trace()
        let results = try withScriptedLoop { loop, _ in
            loop.keepAlive()
            loop.observe(trace)
            let first = loop.run(for: .seconds(30), returnAfterSourceHandled: true)
            let time = loop.now
            let second = loop.run(for: .seconds(30), returnAfterSourceHandled: true)
            return (first, time, second)
        }
        #expect(results.0 == .timedOut)
        #expect(results.1 == Instant(nanoseconds: 30_000_000_000))
        #expect(results.2 == .timedOut)
        let run = ["entry"] + round + sleep + ["exit"]
        #expect(trace.all == run + run)
    }

    @Test func `row 2: a signalled and woken source performs in the next round`() throws {
        let trace = Trace()
        let result = try withScriptedLoop { loop, poller in
            let source = noting(trace)
            loop.keepAlive()
            loop.add(source)
            loop.observe(trace)
            poller.at(.seconds(1)) {
                source.signal()
                loop.wakeUp()
            }
            let result = loop.run(for: .seconds(30), returnAfterSourceHandled: true)
            source.invalidate()
            return result
        }
        #expect(result == .handledSource)
        #expect(
            trace.all == ["schedule default", "entry"] + round + sleep + round
                + ["perform", "exit", "cancel default"])
    }

    @Test func `row 3: a source signalled without a wake waits for somebody else's`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let source = noting(trace)
            loop.add(source)
            poller.at(.seconds(1)) { source.signal() }
            poller.at(.seconds(5)) {
                trace.note("wake")
                loop.wakeUp()
            }
            #expect(loop.run(for: .seconds(30), returnAfterSourceHandled: true) == .handledSource)
            #expect(loop.now == Instant(nanoseconds: 5_000_000_000))
        }
        #expect(trace.all == ["schedule default", "wake", "perform", "cancel default"])
    }

    @Test func `row 4: the loop never sleeps on handled work`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let source = noting(trace)
            loop.add(source)
            loop.observe(trace)
            source.signal()
            #expect(loop.run(for: .seconds(1)) == .timedOut)
        }
        #expect(
            trace.all == ["schedule default", "entry"] + round + ["perform"] + round + sleep
                + ["exit", "cancel default"])
    }

    @Test func `row 5: observers alone keep nothing alive and are told nothing`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.observe(trace)
            #expect(loop.run(for: .seconds(30)) == .finished)
        }
        #expect(trace.all.isEmpty)
    }

    @Test func `row 6: an empty mode is finished at once, a port keeps it alive`() throws {
        try withScriptedLoop { loop, poller in
            #expect(loop.run(for: .seconds(30)) == .finished)
            #expect(loop.now == Instant(nanoseconds: 0))
            loop.keepAlive()
            let trace = Trace()
            poller.at(.seconds(2)) { loop.perform { trace.note("performed") } }
            #expect(loop.run(for: .seconds(30)) == .timedOut)
            #expect(trace.all == ["performed"])
        }
    }

    @Test func `row 7: after a stop, runForever() enters again until nothing is left`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let port = ThreadRunLoop.Port { _, _ in }
            try? loop.add(port)
            loop.observe(trace)
            poller.at(.seconds(1)) { loop.perform { loop.stop() } }
            poller.at(.seconds(2)) { loop.perform { port.invalidate() } }
            loop.runForever()
        }
        #expect(trace.all.filter { $0 == "entry" }.count == 2)
        #expect(trace.all.last == "exit")
    }

    @Test func `row 8: a flag and a stop on the thread end it`() throws {
        try withScriptedLoop { loop, poller in
            loop.keepAlive()
            let flag = Flag()
            poller.at(.seconds(1)) {
                loop.perform {
                    flag.clear()
                    loop.stop()
                }
            }
            var runs = 0
            while flag.isSet {
                #expect(loop.run(mode: .default) == .stopped)
                runs += 1
            }
            #expect(runs == 1)
        }
    }

    @Test func `row 10: a stop while no run is under way is forgotten`() throws {
        try withScriptedLoop { loop, _ in
            loop.keepAlive()
            loop.stop()
            #expect(loop.run(for: .seconds(3)) == .timedOut)
            #expect(loop.now == Instant(nanoseconds: 3_000_000_000))
        }
    }

    @Test func `row 11: a source of another mode is held until its mode runs again`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let source = noting(trace)
            loop.add(source, to: "A")
            loop.keepAlive("B")
            loop.observe(trace, in: "A", prefix: "A ")
            loop.observe(trace, in: "B", prefix: "B ")
            #expect(loop.run(mode: "A", for: .seconds(1)) == .timedOut)
            poller.at(.milliseconds(1_500)) {
                source.signal()
                loop.wakeUp()
            }
            #expect(loop.run(mode: "B", for: .seconds(1)) == .timedOut)
            let back = loop.run(mode: "A", for: .seconds(1), returnAfterSourceHandled: true)
            #expect(back == .handledSource)
        }
        let ends = trace.all.filter {
            $0.hasSuffix("entry") || $0.hasSuffix("exit") || $0 == "perform"
        }
        #expect(ends == ["A entry", "A exit", "B entry", "B exit", "A entry", "perform", "A exit"])
    }

    @Test func `row 12: common modes share their items, a late one too`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.addCommonMode("A")
            let timer = ThreadRunLoop.Timer(
                at: Instant(nanoseconds: 0), every: .seconds(1)
            ) { _ in trace.note("timer in \(loop.currentMode?.name ?? "none")") }
            loop.add(timer, to: .common)
            loop.add(
                ThreadRunLoop.Observer(.entry) { _, _ in
                    trace.note("entry \(loop.currentMode?.name ?? "none")")
                }, to: .common)
            #expect(loop.run(for: .milliseconds(500)) == .timedOut)
            #expect(loop.run(mode: "A", for: .seconds(1)) == .timedOut)
            loop.addCommonMode("late")
            #expect(loop.run(mode: "late", for: .seconds(1)) == .timedOut)
        }
        #expect(
            trace.all == [
                "entry default", "timer in default", "entry A", "timer in A", "entry late",
                "timer in late",
            ])
    }

    @Test(arguments: [false, true])
    func `row 13: a late timer fires once and stays on its grid`(itself: Bool) throws {
        let dates = try withScriptedLoop { loop, poller in
            let trace = Trace()
            let start = Instant(nanoseconds: 100_000_000)
            let timer = ThreadRunLoop.Timer(at: start, every: .milliseconds(100)) { _ in
                trace.note("\(loop.now.nanoseconds / 1_000_000)")
                if itself && trace.all.count == 2 {
                    poller.manualClock.advance(by: .milliseconds(350))
                }
            }
            loop.add(timer)
            if !itself {
                // From 0 to 0.35 s something else holds up the loop.
                loop.perform { poller.manualClock.advance(by: .milliseconds(350)) }
            }
            _ = loop.run(until: Instant(nanoseconds: 710_000_000))
            return trace.all
        }
        let expected = itself ? ["100", "200", "600", "700"] : ["350", "400", "500", "600", "700"]
        #expect(dates == expected)
    }

    @Test func `row 14: a one-shot timer fires once, is invalid then, and ends the run`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let timer = ThreadRunLoop.Timer(at: Instant(nanoseconds: 1_000)) { timer in
                trace.note("fired, valid: \(timer.isValid)")
            }
            loop.add(timer)
            #expect(loop.run(for: .seconds(9)) == .finished)
            #expect(!timer.isValid)
            #expect(!loop.contains(timer))
            #expect(loop.now == Instant(nanoseconds: 1_000))
        }
        #expect(trace.all == ["fired, valid: true"])
    }

    @Test func `row 15: a timer is no source: the run goes on`() throws {
        try withScriptedLoop { loop, _ in
            loop.keepAlive()
            loop.add(ThreadRunLoop.Timer(at: Instant(nanoseconds: 1_000)) { _ in })
            #expect(loop.run(for: .seconds(9), returnAfterSourceHandled: true) == .timedOut)
        }
    }

    @Test func `row 16: smaller orders first, equal ones in the sequence added`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            for (name, order) in [("c", 2), ("a", -1), ("b1", 0), ("b2", 0), ("d", 2)] {
                let source = ThreadRunLoop.Source(order: order) { trace.note("source \(name)") }
                loop.add(source)
                source.signal()
                loop.add(
                    ThreadRunLoop.Observer(.entry, order: order) { _, _ in
                        trace.note("observer \(name)")
                    })
            }
            _ = loop.run(until: .distantPast)
        }
        let order = ["a", "b1", "b2", "c", "d"]
        #expect(trace.all == order.map { "observer \($0)" } + order.map { "source \($0)" })
    }

    @Test func `row 17: a one-shot observer is told once`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.keepAlive()
            let observer = ThreadRunLoop.Observer(.beforeTimers, repeats: false) { _, activity in
                trace.note(activity.description)
            }
            loop.add(observer)
            _ = loop.run(until: .distantPast)
            _ = loop.run(until: .distantPast)
            #expect(!observer.isValid)
            #expect(!loop.contains(observer))
        }
        #expect(trace.all == ["before-timers"])
    }

    @Test func `row 18: blocks run in order, after before-sources and after the sources`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let source = ThreadRunLoop.Source {
                trace.note("perform")
                loop.perform(inModes: ["A"]) { trace.note("block from source") }
            }
            loop.add(source, to: "A")
            loop.observe(trace, in: "A")
            #expect(loop.enqueue(inModes: ["B"]) { trace.note("block of B") })
            poller.at(.seconds(1)) {
                loop.perform(inModes: ["A"]) { trace.note("block 1") }
                loop.perform(inModes: ["B", "A"]) { trace.note("block 2") }
                source.signal()
            }
            let result = loop.run(mode: "A", for: .seconds(9), returnAfterSourceHandled: true)
            #expect(result == .handledSource)
        }
        // The wake-up's own pass runs the blocks at its end; the source comes in the next.
        #expect(
            trace.all == ["entry"] + round + sleep + ["block 1", "block 2"] + round
                + ["perform", "block from source", "exit"])
    }

    @Test func `row 18: a block for the common modes runs behind one that makes the mode common`()
        throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.keepAlive("A")
            loop.observe(trace, in: "A")
            loop.perform(inModes: ["A"]) {
                trace.note("block 1")
                loop.addCommonMode("A")
            }
            loop.perform(inModes: ["B"]) { trace.note("block of B") }
            loop.perform(inModes: [.common]) { trace.note("block 2") }
            _ = loop.run(mode: "A", until: .distantPast)
        }
        #expect(trace.all == ["entry"] + round + ["block 1", "block 2", "exit"])
    }

    @Test func `row 23: a source is scheduled and cancelled once per mode`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let source = noting(trace)
            loop.addCommonMode("A")
            loop.add(source, to: .common)
            loop.add(source, to: .default)
            loop.add(source, to: "B")
            #expect(loop.contains(source, in: .common) && loop.contains(source, in: "B"))
            loop.remove(source, from: "B")
            source.invalidate()
            source.invalidate()
            #expect(!loop.contains(source) && !loop.contains(source, in: .common))
        }
        let scheduled = trace.all.filter { $0.hasPrefix("schedule") }
        let cancelled = trace.all.filter { $0.hasPrefix("cancel") }
        #expect(scheduled.sorted() == ["schedule A", "schedule B", "schedule default"])
        #expect(cancelled.sorted() == ["cancel A", "cancel B", "cancel default"])
    }

    @Test func `row 12: only what is common leaves the common modes, and can come back`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let source = noting(trace)
            loop.add(source)
            loop.remove(source, from: .common)
            #expect(loop.contains(source), "it was added to one mode, and stays in it")
            loop.add(source, to: .common)
            loop.remove(source)
            loop.add(source, to: .common)
            #expect(loop.contains(source), "added again it is in each common mode again")
            loop.remove(source, from: .common)
            #expect(!loop.contains(source) && !loop.contains(source, in: .common))
        }
        let life = ["schedule default", "cancel default"]
        #expect(trace.all == life + life)
    }

    @Test func `row 25: a stop ends the innermost run only`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            loop.keepAlive("inner")
            loop.observe(trace, in: "inner", prefix: "inner ")
            let source = ThreadRunLoop.Source {
                poller.at(.seconds(1)) { loop.stop() }
                let result = loop.run(mode: "inner")
                trace.note("inner \(result)")
            }
            loop.add(source)
            source.signal()
            let result = loop.run(for: .seconds(5))
            trace.note("outer \(result)")
        }
        #expect(
            trace.all == (["entry"] + round + sleep + ["exit"]).map { "inner \($0)" }
                + ["inner stopped", "outer timedOut"])
    }

    @Test func `row 27: a thread has one loop, made on first use`() throws {
        let loops = try onNewThread { (ThreadRunLoop.current, ThreadRunLoop.current) }
        #expect(loops.0 === loops.1)
        let other = try onNewThread { ThreadRunLoop.current }
        #expect(other !== loops.0)
        weak let gone = try onNewThread { WeakLoop(ThreadRunLoop.current) }.loop
        #expect(gone == nil)
    }

    @Test func `row 28: a wake-up with nothing to do makes one pass`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            loop.keepAlive()
            loop.observe(trace)
            poller.at(.seconds(1)) { loop.wakeUp() }
            #expect(loop.run(for: .seconds(2)) == .timedOut)
        }
        #expect(trace.all == ["entry"] + round + sleep + round + sleep + ["exit"])
    }
}

/// A source that notes its life in a trace.
private func noting(_ trace: Trace) -> ThreadRunLoop.Source {
    ThreadRunLoop.Source(
        schedule: { _, mode in trace.note("schedule \(mode)") },
        cancel: { _, mode in trace.note("cancel \(mode)") },
        perform: { trace.note("perform") })
}

private final class WeakLoop: @unchecked Sendable {
    // SAFETY: weak references may be read from any thread.
    weak var loop: ThreadRunLoop?

    init(_ loop: ThreadRunLoop) { self.loop = loop }
}
