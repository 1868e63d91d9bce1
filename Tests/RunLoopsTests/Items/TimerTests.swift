// Timers beyond the table: tolerance, moving a date, and what happens from inside callouts.

import Kernel
import RunLoops
import RunLoopsTesting
import Testing

/// The instant so many milliseconds after the scripted clock's start.
private func at(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
}

/// The scripted loop's time in milliseconds.
private func milliseconds(_ loop: ThreadRunLoop) -> Int64 { loop.now.nanoseconds / 1_000_000 }

@Suite struct `Timer` {
    @Test func `a tolerance lets neighbours share one wake-up`() throws {
        let trace = Trace()
        let sleeps = try withScriptedLoop { loop, _ in
            for (name, date, tolerance) in [("a", 100, 50), ("b", 120, 0), ("c", 110, 100)] {
                let timer = ThreadRunLoop.Timer(
                    at: at(Int64(date)), tolerance: .milliseconds(tolerance)
                ) { _ in trace.note("\(name) \(milliseconds(loop))") }
                loop.add(timer)
            }
            #expect(loop.run(for: .seconds(1)) == .finished)
            return loop.counters.sleepCount
        }
        #expect(trace.all == ["a 120", "c 120", "b 120"])
        #expect(sleeps == 1)
    }

    @Test func `a delay counts from when it is first added, by the loop's clock`() throws {
        let dates = try withScriptedLoop { loop, poller in
            let trace = Trace()
            let note: ThreadRunLoop.Timer.Handler = { _ in trace.note("\(milliseconds(loop))") }
            let early = ThreadRunLoop.Timer(after: .milliseconds(100), handler: note)
            let again = ThreadRunLoop.Timer(
                after: .milliseconds(50), every: .milliseconds(300), handler: note)
            loop.add(again)
            poller.manualClock.advance(by: .milliseconds(30))
            loop.add(early)
            loop.add(again, to: "other")
            #expect(early.fireDate == at(130))
            #expect(again.fireDate == at(50))
            _ = loop.run(until: at(700))
            return trace.all
        }
        #expect(dates == ["50", "130", "350", "650"])
    }

    @Test func `a delay adds up to what it was, whichever thread adds it and how often`() throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(7))
        let loop = try onNewThread {
            let loop = ThreadRunLoop.makeCurrent(clock: clock)
            let timer = ThreadRunLoop.Timer(after: .seconds(3)) { _ in }
            let add: @Sendable () -> Void = { loop.add(timer, to: "far") }
            for _ in 0..<2 { #expect(throws: Never.self) { try onNewThread(add) } }
            clock.advance(by: .seconds(1))
            add()
            _ = loop.run(until: .distantPast)
            return loop.nextTimerFireDate(in: "far")
        }
        #expect(loop == at(10_000))
    }

    @Test func `a delay that is not under way yet shows a date, which can be set`() throws {
        let timer = ThreadRunLoop.Timer(after: .seconds(100)) { _ in }
        let before = SystemClock().now()
        #expect(timer.fireDate >= before.advanced(by: .seconds(100)))
        timer.fireDate = at(5)
        #expect(timer.fireDate == at(5))
        let date = try withScriptedLoop { loop, _ in
            loop.add(timer)
            return loop.nextTimerFireDate()
        }
        #expect(date == at(5))
        let endless = ThreadRunLoop.Timer(after: .seconds(Int64.max)) { _ in }
        #expect(endless.fireDate == .distantFuture)
    }

    @Test func `whoever moves a timer from another thread is told what to do`() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let timer = ThreadRunLoop.Timer(after: .seconds(1)) { _ in }
            ThreadRunLoop.current.add(timer)
            try onNewThread { timer.fireDate = .distantFuture }
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        let rule = "the fireDate of a timer that is in a loop is for the loop's own thread"
        #expect(text.contains(rule))
        #expect(text.contains("use perform"))
    }

    @Test func `a tolerance alone is used to its end, and does not move the grid`() throws {
        let dates = try withScriptedLoop { loop, _ in
            let trace = Trace()
            let timer = ThreadRunLoop.Timer(
                at: at(100), every: .milliseconds(100), tolerance: .milliseconds(20)
            ) { _ in trace.note("\(milliseconds(loop))") }
            loop.add(timer)
            _ = loop.run(until: at(450))
            return trace.all
        }
        #expect(dates == ["120", "220", "320", "420"])
    }

    @Test func `a tolerance is at most half the interval, and never negative`() {
        let far = ThreadRunLoop.Timer(
            at: at(0), every: .milliseconds(100), tolerance: .seconds(9)
        ) { _ in }
        #expect(far.tolerance == .milliseconds(50))
        let negative = ThreadRunLoop.Timer(at: at(0), tolerance: .seconds(-1)) { _ in }
        #expect(negative.tolerance == .zero)
        let once = ThreadRunLoop.Timer(at: at(0), every: .seconds(-1)) { _ in }
        #expect(once.interval == nil)
    }

    @Test func `its tolerance can be set when it is made, while it waits, and in its own call`()
        throws
    {
        let (dates, sleeps) = try withScriptedLoop { loop, _ in
            let trace = Trace()
            let timer = ThreadRunLoop.Timer(after: .milliseconds(100), every: .milliseconds(100)) {
                timer in
                trace.note("\(milliseconds(loop))")
                if milliseconds(loop) == 220 { timer.tolerance = .zero }
            }
            timer.tolerance = .seconds(9)
            #expect(timer.tolerance == .milliseconds(50))
            loop.add(timer)
            loop.add(timer, to: "other")
            _ = loop.run(mode: "other", until: at(160))
            timer.tolerance = .milliseconds(20)
            #expect(timer.fireDate == at(200))
            _ = loop.run(until: at(450))
            return (trace.all, loop.counters.sleepCount)
        }
        #expect(dates == ["150", "220", "300", "400"])
        #expect(sleeps == 6)
    }

    @Test func `whoever sets its tolerance from another thread is told what to do`() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let timer = ThreadRunLoop.Timer(after: .seconds(1)) { _ in }
            ThreadRunLoop.current.add(timer)
            try onNewThread { timer.tolerance = .seconds(1) }
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(
            text.contains("the tolerance of a timer that is in a loop is for the loop's own thread")
        )
    }

    @Test func `timers that are due together fire by date, equal dates as they were added`() throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            for (name, date) in [("c", 30), ("a", 10), ("b1", 20), ("b2", 20)] {
                loop.add(
                    ThreadRunLoop.Timer(at: at(Int64(date))) { _ in trace.note(name) })
            }
            poller.manualClock.advance(by: .milliseconds(50))
            #expect(loop.run(until: .distantPast) == .timedOut)
        }
        #expect(trace.all == ["a", "b1", "b2", "c"])
    }

    @Test func `its date can be moved from outside, earlier and later`() throws {
        let dates = try withScriptedLoop { loop, poller in
            let trace = Trace()
            let timer = ThreadRunLoop.Timer(at: at(500), every: .milliseconds(100)) { _ in
                trace.note("\(milliseconds(loop))")
            }
            loop.add(timer)
            timer.fireDate = at(30)
            poller.at(.milliseconds(150)) {
                timer.fireDate = at(301)
                loop.wakeUp()
            }
            _ = loop.run(until: at(510))
            #expect(timer.fireDate == at(601))
            return trace.all
        }
        #expect(dates == ["30", "130", "301", "401", "501"])
    }

    @Test func `moved from inside its own call, a later date counts and an earlier does not`()
        throws
    {
        for (moved, expected) in [(450, ["100", "450", "550"]), (50, ["100", "200", "300"])] {
            let dates = try withScriptedLoop { loop, _ in
                let trace = Trace()
                let timer = ThreadRunLoop.Timer(at: at(100), every: .milliseconds(100)) { timer in
                    trace.note("\(milliseconds(loop))")
                    if trace.all.count == 1 { timer.fireDate = at(Int64(moved)) }
                    if trace.all.count == 3 { timer.invalidate() }
                }
                loop.add(timer)
                #expect(loop.run(for: .seconds(2)) == .finished)
                return trace.all
            }
            #expect(dates == expected)
        }
    }

    @Test func `one that an earlier timer's call makes invalid or moves does not fire`() throws {
        for moves in [false, true] {
            let trace = Trace()
            try withScriptedLoop { loop, poller in
                let second = ThreadRunLoop.Timer(at: at(20)) { _ in
                    trace.note("second \(milliseconds(loop))")
                }
                let first = ThreadRunLoop.Timer(at: at(10)) { _ in
                    trace.note("first")
                    if moves { second.fireDate = at(70) } else { second.invalidate() }
                }
                loop.add(first)
                loop.add(second)
                poller.manualClock.advance(by: .milliseconds(50))
                #expect(loop.run(for: .seconds(1)) == .finished)
                #expect(loop.counters.timerCount == (moves ? 2 : 1))
            }
            #expect(trace.all == (moves ? ["first", "second 70"] : ["first"]))
        }
    }

    @Test func `one that a timer's call adds fires in the next pass`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.add(
                ThreadRunLoop.Timer(at: at(0)) { _ in
                    loop.add(ThreadRunLoop.Timer(at: at(0)) { _ in trace.note("added") })
                    trace.note("adding")
                })
            loop.observe(trace)
            #expect(loop.run(for: .seconds(1)) == .finished)
        }
        let fired = trace.all.filter { !$0.contains("waiting") }
        #expect(
            fired == [
                "entry", "before-timers", "before-sources", "adding", "before-timers",
                "before-sources", "added", "exit",
            ])
    }

    @Test func `a run nested in its call does not call it again, but calls the others`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let other = ThreadRunLoop.Timer(at: at(150), every: .milliseconds(100)) { _ in
                trace.note("other \(milliseconds(loop))")
            }
            let timer = ThreadRunLoop.Timer(at: at(100), every: .milliseconds(100)) { timer in
                trace.note("begin \(milliseconds(loop))")
                if trace.all.count == 1 { _ = loop.run(until: at(410)) }
                trace.note("end \(milliseconds(loop))")
            }
            loop.add(timer)
            loop.add(other)
            _ = loop.run(until: at(520))
        }
        #expect(
            trace.all == [
                "begin 100", "other 150", "other 250", "other 350", "end 410", "other 450",
                "begin 500", "end 500",
            ])
    }

    @Test func `from the distant past it fires at once and keeps its grid`() throws {
        let count = try withScriptedLoop { loop, _ in
            let timer = ThreadRunLoop.Timer(at: .distantPast, every: .milliseconds(100)) { _ in }
            loop.add(timer)
            _ = loop.run(until: at(1_000))
            #expect(timer.fireDate > loop.now)
            return loop.counters.timerCount
        }
        #expect(count == 11 || count == 10)
    }

    @Test func `in the distant future it never fires, and keeps the mode alive`() throws {
        try withScriptedLoop { loop, _ in
            let timer = ThreadRunLoop.Timer(at: .distantFuture, every: .seconds(1)) { _ in }
            loop.add(timer)
            #expect(loop.nextTimerFireDate() == .distantFuture)
            #expect(loop.run(for: .seconds(100)) == .timedOut)
            #expect(loop.counters.timerCount == 0)
        }
    }

    @Test(arguments: ["default", "A"] as [ThreadRunLoop.Mode], [0, 1, 2])
    func `in two modes it is found in either, wherever others wait`(
        mode: ThreadRunLoop.Mode, othersInA: Int
    ) throws {
        let trace = Trace()
        let other: ThreadRunLoop.Mode = mode == "A" ? "default" : "A"
        try withScriptedLoop { loop, _ in
            let others = (0..<othersInA).map { number in
                ThreadRunLoop.Timer(at: at(500 + Int64(number))) { _ in trace.note("other") }
            }
            for item in others { loop.add(item, to: "A") }
            let timer = ThreadRunLoop.Timer(at: at(100)) { _ in trace.note("wrong") }
            let moved = ThreadRunLoop.Timer(at: at(100), every: .milliseconds(100)) { _ in
                trace.note("\(loop.currentMode?.name ?? "") \(milliseconds(loop))")
            }
            for item in [timer, moved] {
                loop.add(item)
                loop.add(item, to: "A")
            }
            moved.fireDate = at(150)
            loop.remove(timer, from: other)
            #expect(timer.modes == [mode])
            #expect(loop.nextTimerFireDate(in: other) == at(150))
            #expect(loop.nextTimerFireDate(in: mode) == at(100))
            timer.invalidate()
            #expect(loop.nextTimerFireDate(in: mode) == at(150))
            _ = loop.run(mode: mode, until: at(200))
            #expect(loop.nextTimerFireDate(in: other) == at(250))
            moved.invalidate()
            #expect(moved.modes.isEmpty)
            #expect(loop.run(until: at(300)) == .finished)
        }
        #expect(trace.all == ["\(mode) 150"])
    }

    @Test func `in two modes it fires in whichever runs, once for each date`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let timer = ThreadRunLoop.Timer(at: at(100), every: .milliseconds(100)) { _ in
                trace.note("\(loop.currentMode?.name ?? "") \(milliseconds(loop))")
            }
            loop.add(timer)
            loop.add(timer, to: "A")
            _ = loop.run(until: at(250))
            _ = loop.run(mode: "A", until: at(350))
            loop.remove(timer, from: "A")
            #expect(loop.run(mode: "A", until: at(450)) == .finished)
            _ = loop.run(until: at(450))
        }
        #expect(trace.all == ["default 100", "default 200", "A 300", "default 400"])
    }
}
