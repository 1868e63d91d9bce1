// Objects that are let go of when an item ends or leaves, and its callouts as it enters modes.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing

/// An object that holds a timer whose handler holds it.
private final class Owner: @unchecked Sendable {
    // SAFETY: written before another thread knows of it.
    private(set) var timer: ThreadRunLoop.Timer?
    private let gone: Flag

    init(_ gone: Flag) {
        self.gone = gone
        timer = ThreadRunLoop.Timer(after: .seconds(1)) { _ in self.gone.clear() }
    }

    deinit { gone.clear() }
}

@Suite struct `Letting go of an item` {
    @Test(arguments: ["in its mode", "out of it again", "in no loop ever", "elsewhere"])
    func `an invalid one holds nobody, wherever it was`(place: String) throws {
        let gone = Flag()
        try onNewThread {
            let loop = ThreadRunLoop.current
            let owner = Owner(gone)
            guard let timer = owner.timer else { return }
            if place != "in no loop ever" { loop.add(timer) }
            if place == "out of it again" || place == "elsewhere" { loop.remove(timer) }
            #expect(timer.loop == nil || place == "in its mode")
            if place == "elsewhere" { loop.add(timer, to: "another") }
            timer.invalidate()
        }
        #expect(!gone.isSet)
    }

    @Test(.timeLimit(.minutes(2)))
    func `one that left its loop is let go of by that loop's thread`() throws {
        let running = try RunningLoop(thread: "loop")
        let gone = Flag()
        do {
            let timer = try timerThatLeft(running.loop, gone)
            timer.invalidate()
            #expect(running.loop.performAndWait {})
        }
        // The last reference to the request goes behind the block that was waited for.
        #expect(running.loop.performAndWait {})
        #expect(!gone.isSet)
        running.end()
    }

    @Test(.timeLimit(.minutes(2)))
    func `one that left its loop before that ended is let go of at once`() throws {
        let running = try RunningLoop(thread: "loop")
        let gone = Flag()
        do {
            let timer = try timerThatLeft(running.loop, gone)
            running.end()
            timer.invalidate()
        }
        #expect(!gone.isSet)
    }

    /// The timer of an owner that is not held otherwise; it was in a loop's mode, and is not any
    /// more.
    private func timerThatLeft(
        _ loop: ThreadRunLoop, _ gone: Flag
    ) throws -> ThreadRunLoop.Timer {
        let timer = try #require(Owner(gone).timer)
        loop.add(timer)
        loop.remove(timer)
        // Requests to a loop are done in order.
        #expect(loop.performAndWait {})
        #expect(timer.loop == nil)
        return timer
    }

    @Test func `a mode that becomes common as an item enters the common modes gets it too`() throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let source = ThreadRunLoop.Source(
                schedule: { loop, mode in
                    trace.note("\(mode)")
                    loop.addCommonMode("late")
                }, perform: {})
            loop.add(source, to: .common)
            #expect(source.modes == [.default, "late"])
        }
        #expect(trace.all == ["default", "late"])
    }

    @Test func `one that is taken out again as it enters the first common mode is in none`() throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.addCommonMode("second")
            let made = SourceBox()
            let source = ThreadRunLoop.Source(
                schedule: { loop, _ in
                    if let source = made.source { loop.remove(source, from: .common) }
                }, cancel: { trace.note("cancel \($1)") }, perform: {})
            made.source = source
            loop.add(source, to: .common)
            #expect(!loop.contains(source, in: .common))
            #expect(source.isValid && source.modes.isEmpty)
            // It is in no loop that would let go of it at its end, and its callouts keep it.
            source.invalidate()
        }
        #expect(trace.all == ["cancel default"])
    }

    @Test func `one that another takes out as both enter a new common mode is in none`() throws {
        try withScriptedLoop { loop, _ in
            let second = ThreadRunLoop.Source {}
            let first = ThreadRunLoop.Source(
                schedule: { loop, mode in
                    if mode == "late" { loop.remove(second, from: .common) }
                }, perform: {})
            loop.add(first, to: .common)
            loop.add(second, to: .common)
            loop.addCommonMode("late")
            #expect(first.modes == [.default, "late"])
            #expect(second.modes.isEmpty)
        }
    }

    @Test func `one that ends as it enters the first common mode is in none`() throws {
        try withScriptedLoop { loop, _ in
            loop.addCommonMode("second")
            let made = SourceBox()
            let source = ThreadRunLoop.Source(
                schedule: { _, _ in made.source?.invalidate() }, perform: {})
            made.source = source
            loop.add(source, to: .common)
            #expect(!loop.contains(source, in: .common))
            #expect(source.modes.isEmpty)
        }
    }
}

/// Where a source's own callout finds it.
private final class SourceBox: @unchecked Sendable {
    // SAFETY: used on one thread.
    var source: ThreadRunLoop.Source?
}
