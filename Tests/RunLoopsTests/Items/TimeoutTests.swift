// Time-outs: closures with a date and without an object. In which order they are called, what
// cancels them, and what a handle is worth afterwards.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import Testing

/// The instant so many milliseconds after the scripted clock's start.
private func at(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
}

/// The scripted loop's time in milliseconds.
private func milliseconds(_ loop: ThreadRunLoop) -> Int64 { loop.now.nanoseconds / 1_000_000 }

/// A time-out that closures learn about after it was scheduled.
private final class Kept: Sendable {
    private let timeout = Mutex<ThreadRunLoop.Timeout?>(nil)

    var value: ThreadRunLoop.Timeout? {
        get { timeout.withLock { $0 } }
        set { timeout.withLock { $0 = newValue } }
    }
}

/// Tells when it goes.
private final class Held: Sendable {
    private let tell: @Sendable () -> Void

    init(_ tell: @escaping @Sendable () -> Void) { self.tell = tell }

    deinit { tell() }

    func touch() {}
}

/// A closure that alone holds something which tells when it goes.
private func holding(_ tell: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let held = Held(tell)
    return { held.touch() }
}

@Suite struct `Time-out` {
    @Test func `is called once, when its time has come, and keeps its mode alive until then`()
        throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.schedule(after: .milliseconds(30)) { trace.note("called \(milliseconds(loop))") }
            #expect(loop.nextTimerFireDate() == at(30))
            #expect(loop.run(for: .seconds(1)) == .finished)
            #expect(loop.counters.timerCount == 1)
            #expect(loop.nextTimerFireDate() == nil)
            #expect(loop.run(for: .seconds(1)) == .finished)
        }
        #expect(trace.all == ["called 30"])
    }

    @Test func `is called in one order with the timers of its mode, by date and then arrival`()
        throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            loop.schedule(at: at(30)) { trace.note("d") }
            loop.add(ThreadRunLoop.Timer(at: at(20)) { _ in trace.note("b1") })
            loop.schedule(at: at(20)) { trace.note("b2") }
            loop.add(ThreadRunLoop.Timer(at: at(20)) { _ in trace.note("b3") })
            loop.schedule(at: at(10)) { trace.note("a") }
            poller.manualClock.advance(by: .milliseconds(50))
            #expect(loop.run(until: .distantPast) == .timedOut)
            #expect(loop.counters.timerCount == 5)
        }
        #expect(trace.all == ["a", "b1", "b2", "b3", "d"])
    }

    @Test func `shares a wake-up with its neighbours within its tolerance`() throws {
        let trace = Trace()
        let sleeps = try withScriptedLoop { loop, _ in
            for (name, date, tolerance) in [("a", 100, 50), ("b", 120, 0), ("c", 110, 100)] {
                loop.schedule(at: at(Int64(date)), tolerance: .milliseconds(tolerance)) {
                    trace.note("\(name) \(milliseconds(loop))")
                }
            }
            loop.schedule(at: at(200), tolerance: .seconds(-9)) { trace.note("none") }
            #expect(loop.run(for: .seconds(1)) == .finished)
            return loop.counters.sleepCount
        }
        #expect(trace.all == ["a 120", "c 120", "b 120", "none"])
        #expect(sleeps == 2)
    }

    @Test func `waits for a run in its mode`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.schedule(at: at(10), in: "quiet") { trace.note("quiet \(milliseconds(loop))") }
            loop.schedule(at: at(20)) { trace.note("default") }
            #expect(loop.run(for: .seconds(1)) == .finished)
            #expect(loop.run(mode: "quiet", for: .seconds(1)) == .finished)
        }
        #expect(trace.all == ["default", "quiet 20"])
    }

    @Test func `is not called when it was cancelled, and its mode is empty then`() throws {
        try withScriptedLoop { loop, _ in
            let timeout = loop.schedule(after: .seconds(1)) { Issue.record("it was cancelled") }
            #expect(loop.cancel(timeout))
            #expect(loop.run(for: .seconds(5)) == .finished)
            #expect(milliseconds(loop) == 0)
        }
    }

    @Test func `is cancelled once, and not after it was called`() throws {
        try withScriptedLoop { loop, _ in
            let cancelled = loop.schedule(after: .seconds(1)) {}
            #expect(loop.cancel(cancelled))
            #expect(!loop.cancel(cancelled))
            let called = loop.schedule(after: .seconds(1)) {}
            _ = loop.run(for: .seconds(5))
            #expect(!loop.cancel(called))
            // Their place was given to another, which the old names do not name.
            let new = loop.schedule(after: .seconds(1)) {}
            #expect(!loop.cancel(cancelled) && !loop.cancel(called))
            #expect(new != cancelled && new != called)
            #expect(loop.cancel(new))
        }
    }

    @Test func `of another loop is not cancelled`() throws {
        let foreign = try onNewThread { ThreadRunLoop.current.schedule(after: .seconds(1)) {} }
        try withScriptedLoop { loop, _ in
            let own = loop.schedule(after: .seconds(1)) {}
            #expect(!loop.cancel(foreign))
            #expect(loop.reschedule(foreign, at: at(1)) == nil)
            #expect(loop.cancel(own))
        }
    }

    @Test func `can't be cancelled by itself while it is called`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let kept = Kept()
            kept.value = loop.schedule(after: .milliseconds(1)) {
                guard let timeout = kept.value else { return }
                trace.note("\(loop.cancel(timeout)) \(loop.reschedule(timeout, at: at(9)) == nil)")
            }
            #expect(loop.run(for: .seconds(1)) == .finished)
        }
        #expect(trace.all == ["false true"])
    }

    @Test func `is not called when an earlier one of its round cancels or puts it off`() throws {
        for putsOff in [false, true] {
            let trace = Trace()
            try withScriptedLoop { loop, poller in
                let kept = Kept()
                loop.schedule(at: at(10)) {
                    guard let second = kept.value else { return }
                    if putsOff {
                        #expect(loop.reschedule(second, at: at(70)) != nil)
                    } else {
                        #expect(loop.cancel(second))
                    }
                }
                kept.value = loop.schedule(at: at(20)) { trace.note("\(milliseconds(loop))") }
                poller.manualClock.advance(by: .milliseconds(50))
                #expect(loop.run(for: .seconds(1)) == .finished)
            }
            #expect(trace.all == (putsOff ? ["70"] : []))
        }
    }

    @Test func `that is put off is called by its new date, as the last of that date`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let first = loop.schedule(at: at(10)) { trace.note("first \(milliseconds(loop))") }
            loop.schedule(at: at(30)) { trace.note("second \(milliseconds(loop))") }
            let moved = loop.reschedule(first, at: at(30))
            #expect(moved != nil && moved != first)
            #expect(!loop.cancel(first))
            let again = moved.flatMap { loop.reschedule($0, after: .milliseconds(30)) }
            #expect(again != nil && again != moved)
            #expect(loop.run(for: .seconds(1)) == .finished)
        }
        #expect(trace.all == ["second 30", "first 30"])
    }

    @Test func `that another's call schedules is for the next pass`() throws {
        try withScriptedLoop { loop, _ in
            let trace = Trace()
            loop.schedule(at: .distantPast) {
                loop.schedule(at: .distantPast) { trace.note("second") }
            }
            #expect(loop.run(until: .distantPast) == .timedOut)
            #expect(trace.all.isEmpty)
            #expect(loop.run(until: .distantPast) == .timedOut)
            #expect(trace.all == ["second"])
            #expect(loop.run(until: .distantPast) == .finished)
        }
    }

    @Test func `keeps its mode alive while it is called, and is not called again by a nested run`()
        throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.schedule(after: .milliseconds(10)) {
                trace.note("called")
                trace.note("\(loop.run(for: .milliseconds(5)))")
            }
            trace.note("\(loop.run(for: .seconds(1)))")
        }
        #expect(trace.all == ["called", "timedOut", "finished"])
    }

    @Test func `lets go of what it holds when it was called, cancelled, or its loop has ended`()
        throws
    {
        let trace = Trace()
        try onNewThread {
            let loop = ThreadRunLoop.makeCurrent(poller: ScriptedPoller())
            for name in ["called", "cancelled", "left"] {
                let timeout = loop.schedule(
                    at: name == "called" ? .distantPast : .distantFuture,
                    holding { trace.note(name) })
                if name == "cancelled" { loop.cancel(timeout) }
                _ = loop.run(until: .distantPast)
                trace.note("after \(name)")
            }
        }
        #expect(
            trace.all == [
                "called", "after called", "cancelled", "after cancelled", "after left", "left",
            ])
    }

    @Test func `may hold what cancels and schedules others as it goes`() throws {
        let trace = Trace()
        try onNewThread {
            let loop = ThreadRunLoop.makeCurrent(poller: ScriptedPoller())
            func schedule(_ depth: Int) -> ThreadRunLoop.Timeout {
                let kept = Kept()
                if depth > 0 { kept.value = schedule(depth - 1) }
                return loop.schedule(
                    at: .distantFuture,
                    holding {
                        guard let timeout = kept.value else { return }
                        trace.note("\(depth) \(loop.cancel(timeout))")
                    })
            }
            loop.cancel(schedule(2))
            #expect(loop.run(for: .seconds(1)) == .finished)
            // These go with the loop, whichever of them first.
            _ = schedule(2)
        }
        #expect(trace.all.prefix(2).sorted() == ["1 true", "2 true"])
        #expect(trace.all.count == 4)
    }

    @Test(arguments: [1, 2, 3]) func `of many is called by date or cancelled, each once`(
        seed: UInt64
    ) throws {
        let count = 10_000
        let dates = try withScriptedLoop { loop, poller in
            var random = SeededRandom(seed: seed)
            let called = Confined(Log(), to: loop)
            var timeouts: [ThreadRunLoop.Timeout] = []
            for index in 0..<count {
                let date = Int64.random(in: 0..<1_000, using: &random)
                timeouts.append(
                    loop.schedule(at: at(date)) {
                        called.value.entries.append((index, date, milliseconds(loop)))
                    })
            }
            var cancelled: Set<Int> = []
            for index in (0..<count).shuffled(using: &random).prefix(count / 2) {
                if loop.cancel(timeouts[index]) { cancelled.insert(index) }
            }
            #expect(cancelled.count == count / 2)
            #expect(loop.run(for: .seconds(2)) == .finished)
            let entries = called.value.entries
            #expect(Set(entries.map(\.index)).isDisjoint(with: cancelled))
            #expect(entries.allSatisfy { $0.date == $0.now })
            for (first, second) in zip(entries, entries.dropFirst()) {
                #expect((first.date, first.index) < (second.date, second.index))
            }
            #expect(timeouts.allSatisfy { !loop.cancel($0) })
            return entries.count
        }
        #expect(dates == count / 2, "seed \(seed)")
    }

    @Test func `is counted among the timers of a described loop`() throws {
        let text = try withScriptedLoop { loop, _ in
            loop.schedule(after: .seconds(2)) {}
            loop.add(ThreadRunLoop.Timer(at: at(3_000)) { _ in })
            return loop.describe()
        }
        #expect(text.contains("2 timers, the next in 2.0 seconds"))
    }
}

private final class Log {
    var entries: [(index: Int, date: Int64, now: Int64)] = []
}
