// Figures of a measured loop, by a clock that only the test moves.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing

@Suite(.timeLimit(.minutes(2))) struct `Measuring a loop` {
    @Test func `is off at first, and then it notes nothing`() throws {
        let (before, running) = try withScriptedLoop { loop, poller in
            let trace = Trace()
            loop.perform {
                poller.manualClock.advance(by: .seconds(1))
                trace.note(loop.runningCallout.map { "\($0)" } ?? "unknown")
            }
            _ = loop.run(for: .seconds(5))
            return (loop.measurements == nil, trace.all)
        }
        #expect(before)
        #expect(running == ["unknown"])
    }

    @Test func `tells sleep from work`() throws {
        let line: UInt = #line + 3
        let measured = try withScriptedLoop { loop, poller in
            loop.isMeasured = true
            loop.add(
                ThreadRunLoop.Timer(at: Instant(nanoseconds: 2_000_000_000)) { _ in
                    poller.manualClock.advance(by: .milliseconds(300))
                })
            loop.keepAlive()
            poller.at(.seconds(4)) { loop.stop() }
            _ = loop.run()
            return loop.measurements
        }
        let all = try #require(measured)
        #expect(all.asleep == .milliseconds(3_700))
        #expect(all.busy == .milliseconds(300))
        #expect(all.longestCallout?.kind == .timer)
        #expect(all.longestCallout?.duration == .milliseconds(300))
        #expect(
            all.longestCallout?.postedFrom
                == CodeLocation(fileID: "RunLoopsTests/MeasuringTests.swift", line: line))
    }

    @Test func `names where a source or port was made, and where a timer was added`() throws {
        let line: UInt = #line
        let notes = try withScriptedLoop { loop, _ in
            let trace = Trace()
            let note: @Sendable () -> Void = {
                trace.note(loop.runningCallout?.postedFrom.map { "\($0.line)" } ?? "unknown")
            }
            let source = ThreadRunLoop.Source { note() }
            loop.add(source)
            let port = ThreadRunLoop.Port { _, _ in note() }
            try loop.add(port)
            let early = ThreadRunLoop.Timer(at: .distantPast) { _ in note() }
            loop.add(early)
            // From here on: what was made before knows its place, what was added does not.
            loop.isMeasured = true
            let timer = ThreadRunLoop.Timer(at: .distantPast) { _ in note() }
            loop.add(timer)
            loop.add(timer, to: "other")
            source.signal()
            port.signal()
            _ = loop.run(until: .distantPast)
            return trace.all
        }
        #expect(notes == ["\(line + 6)", "unknown", "\(line + 15)", "\(line + 8)"])
    }

    @Test func `what another thread asked for is a change while it is done`() throws {
        let there = try RunningLoop(thread: "there")
        let trace = Trace()
        there.loop.isMeasured = true
        let note: ThreadRunLoop.Source.Registration = { loop, _ in
            trace.note(loop.runningCallout.map { "\($0)" } ?? "unknown")
        }
        let source = ThreadRunLoop.Source(schedule: note, cancel: note) {}
        there.loop.add(source)
        there.loop.performAndWait {}
        source.invalidate()
        there.loop.performAndWait {}
        #expect(trace.all == ["a change to the items", "a change to the items"])
        there.loop.add(ThreadRunLoop.Source(cancel: note) {})
        there.end()
        #expect(trace.all.count == 3 && trace.all.last == "a change to the items")
    }

    @Test func `names where a time-out was scheduled, and where an observer was made`() throws {
        let line: UInt = #line
        let notes = try withScriptedLoop { loop, _ in
            let trace = Trace()
            let note: @Sendable (String) -> Void = { what in
                let place = loop.runningCallout?.postedFrom.map { "\($0.line - line)" }
                trace.note("\(what) \(place ?? "unknown")")
            }
            loop.add(ThreadRunLoop.Observer(.entry) { _, _ in note("observer") })
            loop.schedule(after: .zero) { note("early") }
            // From here on: what was made before knows its place, what was scheduled does not.
            loop.isMeasured = true
            loop.schedule(after: .zero) { note("after") }
            loop.schedule(at: .distantPast, in: "other") { note("at") }
            let late = loop.schedule(after: .seconds(9)) { note("put off") }
            _ = loop.reschedule(late, at: .distantPast)
            _ = loop.run(until: .distantPast)
            _ = loop.run(mode: "other", until: .distantPast)
            return trace.all
        }
        #expect(notes == ["observer 7", "put off 13", "early unknown", "after 11", "at 12"])
    }

    @Test func `a time-out is told of no longer once its loop is not measured any more`() throws {
        let places = try withScriptedLoop { loop, _ in
            let trace = Trace()
            loop.isMeasured = true
            loop.schedule(after: .seconds(1)) { trace.note("\(loop.runningCallout == nil)") }
            loop.isMeasured = false
            _ = loop.run()
            return trace.all
        }
        #expect(places == ["true"])
    }

    @Test func `counts the sleeps that a wake-up ended`() throws {
        let counters = try withScriptedLoop { loop, poller in
            loop.keepAlive()
            poller.at(.seconds(1)) { loop.wakeUp() }
            poller.at(.seconds(2)) { loop.wakeUp() }
            // The third sleep ends by the deadline.
            _ = loop.run(for: .seconds(3))
            return loop.counters
        }
        #expect(counters.sleepCount == 3)
        #expect(counters.wakeUpCount == 2)
    }

    @Test func `names where the longest block was posted and how long it had waited`() throws {
        let line: UInt = #line + 5
        let measured = try withScriptedLoop { loop, poller in
            let clock = poller.manualClock
            loop.isMeasured = true
            loop.perform { clock.advance(by: .seconds(1)) }
            loop.perform { clock.advance(by: .seconds(7)) }
            loop.perform { clock.advance(by: .seconds(2)) }
            _ = loop.run(until: .distantPast)
            return loop.measurements
        }
        let all = try #require(measured)
        #expect(all.longestCallout?.duration == .seconds(7))
        #expect(all.longestCallout?.kind == .block)
        #expect(
            all.longestCallout?.postedFrom
                == CodeLocation(fileID: "RunLoopsTests/MeasuringTests.swift", line: line))
        #expect(all.submitToStart.count == 3)
        #expect(all.submitToStart.max == .seconds(8))
        #expect(all.submitToStart.mean == .seconds(3))
        #expect(all.submitToStart.percentile(0) < .seconds(1))
    }

    @Test func `says what runs, also inside of what runs`() throws {
        let notes = try withScriptedLoop { loop, _ in
            let trace = Trace()
            let note: @Sendable (String) -> Void = { when in
                trace.note("\(when): \(loop.runningCallout?.kind.description ?? "nothing")")
            }
            loop.isMeasured = true
            loop.add(ThreadRunLoop.Observer(.entry, repeats: false) { _, _ in note("observer") })
            loop.add(ThreadRunLoop.Timer(at: .distantPast) { _ in note("timer") })
            let port = ThreadRunLoop.Port { _, _ in note("port") }
            try loop.add(port)
            port.signal()
            let source = ThreadRunLoop.Source {
                note("source")
                loop.perform(inModes: ["inner"]) { note("block") }
                _ = loop.run(mode: "inner", until: .distantPast)
                note("source again")
            }
            loop.add(source)
            source.signal()
            _ = loop.run(until: .distantPast)
            note("afterwards")
            return trace.all
        }
        #expect(
            notes == [
                "observer: an observer", "source: a source", "block: a block",
                "source again: a source", "timer: a timer", "port: a port", "afterwards: nothing",
            ])
    }

    @Test func `a callout that runs the loop does not count for as long as that`() throws {
        let measured = try withScriptedLoop { loop, poller in
            let clock = poller.manualClock
            loop.isMeasured = true
            loop.keepAlive("inner")
            loop.perform {
                clock.advance(by: .seconds(1))
                _ = loop.run(mode: "inner", for: .seconds(60))
                clock.advance(by: .seconds(2))
            }
            _ = loop.run(until: .distantPast)
            return loop.measurements
        }
        #expect(measured?.longestCallout?.duration == .seconds(2))
        #expect(measured?.asleep == .seconds(60))
        #expect(measured?.busy == .seconds(3))
    }

    @Test func `keeps what it has when it is switched off, and goes on when on again`() throws {
        let texts = try withScriptedLoop { loop, poller in
            let clock = poller.manualClock
            var texts: [String] = []
            loop.keepAlive()
            for isOn in [true, false, true] {
                loop.isMeasured = isOn
                loop.perform { clock.advance(by: .seconds(1)) }
                _ = loop.run(until: .distantPast)
                // Between the runs the thread's work is unknown: it counts as busy.
                guard let all = loop.measurements else { continue }
                texts.append("\(all.busy) \(all.submitToStart.count)")
            }
            return texts
        }
        #expect(texts == ["1.0 seconds 1", "1.0 seconds 1", "2.0 seconds 2"])
    }

    @Test func `a sleep counts in full, though measuring is switched off and on again in it`()
        throws
    {
        let measured = try withScriptedLoop { loop, poller in
            loop.isMeasured = true
            loop.keepAlive()
            poller.at(.seconds(10)) {
                loop.isMeasured = false
                loop.isMeasured = true
            }
            _ = loop.run(for: .seconds(30))
            return loop.measurements
        }
        #expect(measured?.asleep == .seconds(30))
        #expect(measured?.busy == .zero)
    }

    @Test func `does not know a callout that has run the loop while nothing was measured`() throws {
        let (running, measured) = try withScriptedLoop { loop, _ in
            let trace = Trace()
            loop.isMeasured = true
            loop.keepAlive("inner")
            loop.perform {
                loop.isMeasured = false
                _ = loop.run(mode: "inner", for: .seconds(3_600))
                loop.isMeasured = true
                trace.note(loop.runningCallout.map { "\($0)" } ?? "unknown")
            }
            _ = loop.run(until: .distantPast)
            return (trace.all, loop.measurements)
        }
        #expect(running == ["unknown"])
        #expect(measured?.busy == .zero)
        #expect(measured?.longestCallout?.duration ?? .zero == .zero)
    }

    @Test func `counts to a block what the end of that which it holds takes`() throws {
        let measured = try withScriptedLoop { loop, poller in
            loop.isMeasured = true
            let clock = poller.manualClock
            hold(Slow { clock.advance(by: .seconds(5)) }, in: loop)
            _ = loop.run(until: .distantPast)
            return loop.measurements
        }
        #expect(measured?.longestCallout?.kind == .block)
        #expect(measured?.longestCallout?.duration == .seconds(5))
    }

    @Test func `is part of the description`() throws {
        let text = try withScriptedLoop { loop, poller in
            loop.isMeasured = true
            loop.perform { poller.manualClock.advance(by: .seconds(3)) }
            _ = loop.run(until: .distantPast)
            return loop.describe()
        }
        #expect(text.contains("\n  measured: yes · asleep 0.0 seconds · busy 3.0 seconds\n"))
        #expect(text.contains("\n  longest callout: 3.0 seconds in a block, posted from RunLoopsT"))
        #expect(text.contains("\n  submit to start: 1 times · p50 0.0 seconds · p99 0.0 seconds"))
    }

    @Test func `what runs is read whole by other threads while it changes`() throws {
        let told = Latch()
        let place = LoopBox()
        let ready = Latch()
        let runner = try TestThread(name: "runs") {
            let loop = ThreadRunLoop.current
            loop.isMeasured = true
            place.loop = loop
            ready.open()
            while !told.isOpen {
                loop.perform({}, fileID: "Odd/One.swift", line: 1)
                loop.perform({}, fileID: "Even/TheOther.swift", line: 2)
                _ = loop.run(until: .distantPast)
            }
        }
        ready.wait()
        let loop = try #require(place.loop)
        var odd = 0
        var even = 0
        while odd < 200 || even < 200 {
            guard let location = loop.runningCallout?.postedFrom else { continue }
            let text = location.description
            if text == "Odd/One.swift:1" { odd += 1 } else { even += 1 }
            guard text == "Odd/One.swift:1" || text == "Even/TheOther.swift:2" else {
                Issue.record("a location of two: \(text)")
                break
            }
        }
        told.open()
        runner.join()
    }
}

/// Something whose end takes a while.
private final class Slow: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}

/// Hands over a block that is all that keeps an object.
private func hold(_ slow: consuming Slow, in loop: ThreadRunLoop) {
    loop.perform { [slow] in _ = slow }
}

/// A guardian that does nothing.
private final class Bystander: LoopGuardian {
    func loopWoke() {}
    func calloutEnded(
        _ callout: ThreadRunLoop.RunningCallout, number: UInt64, after duration: Duration
    ) {}
    func loopEnded() {}
}

@Suite struct `A loop that has ended` {
    @Test func `lets nobody reach its thread, though it was never measured before`() throws {
        let loop = try onNewThread { ThreadRunLoop.current }
        #expect(!loop.madeWatch.setGuardian(Bystander(), limit: .seconds(1)))
        #expect(loop.madeWatch.addresses(during: loop.madeWatch.read().number).isEmpty)
    }

    @Test func `is over when the thread ends, and has counted until then`() throws {
        let clock = ManualClock()
        let loop = try onNewThread {
            let loop = ThreadRunLoop.makeCurrent(clock: clock)
            loop.isMeasured = true
            loop.perform {}
            loop.run(until: .distantPast)
            clock.advance(by: .seconds(2))
            return loop
        }
        clock.advance(by: .seconds(3_600))
        #expect(loop.measurements?.busy == .seconds(2))
    }
}
