// Row 24: what a pass autoreleased lives until that pass ends, and nothing is held while the thread
// sleeps. Scopes, pages and threads besides.

import Kernel
import RunLoops
import Support
import Synchronization
import RunLoopsTesting
import Testing

private let round = ["before-timers", "before-sources"]

@Suite struct `Release pools` {
    @Test func `row 24: what a pass autoreleased goes before the sleep, after all observers`()
        throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let source = ThreadRunLoop.Source {
                ReleasePool.autorelease(Mortal("object", trace))
                trace.note("perform")
            }
            loop.add(source)
            loop.observe(trace)
            loop.add(
                ThreadRunLoop.Observer(.beforeWaiting, order: .init(Int32.max) - 1) { _, _ in
                    trace.note("last but one")
                })
            poller.at(.seconds(1)) { trace.note("asleep, holding \(ReleasePool.heldCount)") }
            source.signal()
            _ = loop.run(for: .seconds(2))
            source.invalidate()
        }
        #expect(
            trace.all == ["entry"] + round + ["perform"] + round
                + ["before-waiting", "last but one", "object gone", "asleep, holding 0"]
                + ["after-waiting", "exit"])
    }

    @Test func `row 24: what was autoreleased after the sleep goes before the next`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            loop.add(
                ThreadRunLoop.Timer(at: Instant(nanoseconds: 1_000_000_000), every: .seconds(1)) {
                    _ in
                    ReleasePool.autorelease(Mortal("object", trace))
                    trace.note("timer")
                })
            loop.observe(trace)
            for time in [1_500, 2_500] {
                poller.at(.milliseconds(time)) { trace.note("holding \(ReleasePool.heldCount)") }
            }
            _ = loop.run(for: .milliseconds(2_700))
        }
        let pass = ["timer"] + round + ["before-waiting", "object gone", "holding 0"]
        #expect(
            trace.all == ["entry"] + round + ["before-waiting", "after-waiting"] + pass
                + ["after-waiting"] + pass + ["after-waiting", "exit"])
    }

    @Test func `row 24: what the last pass autoreleased goes when the run ends`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.observe(trace)
            loop.perform { ReleasePool.autorelease(Mortal("object", trace)) }
            _ = loop.run(until: .distantPast)
            trace.note("run has ended")
        }
        #expect(trace.all == ["entry"] + round + ["exit", "object gone", "run has ended"])
    }

    @Test
    func `what an observer of the exit autoreleases goes with the run, and later runs have pools`()
        throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            for mode in ["first", "second"] as [ThreadRunLoop.Mode] { loop.keepAlive(mode) }
            loop.add(
                ThreadRunLoop.Observer(.exit) { _, _ in
                    ReleasePool.autorelease(Mortal("first", trace))
                }, to: "first")
            _ = loop.run(mode: "first", until: .distantPast)
            trace.note("returned")
            loop.add(
                ThreadRunLoop.Observer(.beforeTimers, repeats: false) { _, _ in
                    ReleasePool.autorelease(Mortal("second", trace))
                }, to: "second")
            poller.at(.seconds(1)) { trace.note("asleep, holding \(ReleasePool.heldCount)") }
            _ = loop.run(mode: "second", for: .seconds(2))
        }
        #expect(
            trace.all == ["first gone", "returned", "second gone", "asleep, holding 0"])
    }

    @Test(arguments: [true, false])
    func `row 24: a nested run has a pool of its own, in common modes and in others`(
        isCommon: Bool
    ) throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            if isCommon { loop.addCommonMode("inner") }
            loop.keepAlive("inner")
            loop.perform {
                ReleasePool.autorelease(Mortal("outer", trace))
                loop.perform(inModes: ["inner"]) {
                    ReleasePool.autorelease(Mortal("inner", trace))
                    trace.note("inner block")
                }
                poller.whileAsleep { trace.note("asleep, holding \(ReleasePool.heldCount)") }
                loop.perform(inModes: ["inner"]) { [unowned loop] in loop.wakeUp() }
                _ = loop.run(mode: "inner", for: .seconds(1))
                trace.note("inner run has ended")
                ReleasePool.autorelease(Mortal("outer 2", trace))
            }
            _ = loop.run(until: .distantPast)
        }
        #expect(
            trace.all == [
                "inner block", "inner gone", "asleep, holding 1", "inner run has ended",
                "outer 2 gone", "outer gone",
            ])
    }

    @Test func `a busy loop that never sleeps holds no more than a page and a pass`() throws {
        let most = try withScriptedLoop { loop, _ in
            let box = SourceBox()
            let source = ThreadRunLoop.Source {
                for _ in 0..<200 { ReleasePool.autorelease(box) }
                box.note(ReleasePool.heldCount)
                if !box.signal(atMost: 100) { loop.stop() }
            }
            box.source = source
            loop.add(source)
            source.signal()
            _ = loop.run()
            #expect(loop.counters.sleepCount == 0 && loop.counters.sourceCount == 100)
            return box.most
        }
        #expect((511...(511 + 200)).contains(most))
    }

    @Test func `scopes nest, and end with what they hold, also by an error`() throws {
        let trace = Trace()
        try onNewThread {
            ReleasePool.with {
                ReleasePool.autorelease(Mortal("outer 1", trace))
                ReleasePool.with {
                    ReleasePool.autorelease(Mortal("inner 1", trace))
                    ReleasePool.autorelease(Mortal("inner 2", trace))
                    trace.note("in")
                }
                trace.note("between")
                do throws(Failure) {
                    try ReleasePool.with { () throws(Failure) in
                        ReleasePool.autorelease(Mortal("thrown", trace))
                        throw Failure()
                    }
                } catch { trace.note("caught") }
                ReleasePool.autorelease(Mortal("outer 2", trace))
            }
            trace.note("holding \(ReleasePool.heldCount)")
        }
        #expect(
            trace.all == [
                "in", "inner 2 gone", "inner 1 gone", "between", "thrown gone", "caught",
                "outer 2 gone", "outer 1 gone", "holding 0",
            ])
    }

    @Test func `an object given twice is released twice, and what its end autoreleases too`() throws
    {
        let trace = Trace()
        try onNewThread {
            ReleasePool.with {
                let object = ReleasePool.autorelease(
                    Mortal("first", trace) { ReleasePool.autorelease(Mortal("second", trace)) })
                ReleasePool.autorelease(object)
                trace.note("holding \(ReleasePool.heldCount)")
            }
            trace.note("holding \(ReleasePool.heldCount)")
        }
        #expect(trace.all == ["holding 2", "first gone", "second gone", "holding 0"])
    }

    @Test func `a page holds 511 objects, and one empty page is kept`() throws {
        let pages = try onNewThread {
            let object = SourceBox()
            var pages = [ReleasePool.pageCount]
            ReleasePool.with {
                for _ in 0..<511 { ReleasePool.autorelease(object) }
                pages.append(ReleasePool.pageCount)
                ReleasePool.with {
                    ReleasePool.autorelease(object)
                    pages.append(ReleasePool.pageCount)
                }
                pages.append(ReleasePool.pageCount)
                ReleasePool.with { for _ in 0..<5_110 { ReleasePool.autorelease(object) } }
                pages.append(ReleasePool.pageCount)
            }
            pages.append(ReleasePool.pageCount)
            return pages
        }
        #expect(pages == [0, 1, 2, 2, 2, 1])
    }

    @Test func `a loop that never uses one has no observer for it`() throws {
        let texts = try withScriptedLoop { loop, _ in
            let box = TextBox()
            loop.perform { box.add(loop.describe()) }
            loop.perform {
                ReleasePool.autorelease(box)
                box.add(loop.describe())
            }
            _ = loop.run(until: .distantPast)
            return box.texts
        }
        #expect(texts.map { $0.contains("observer") } == [false, true])
        let last = try #require(texts.last)
        #expect(last.contains("    observer order -2147483647 of entry+before-timers, made at"))
        #expect(last.contains("    observer order 2147483647 of before-waiting+exit"))
    }

    @Test func `a thread's end releases what it holds, and what that autoreleases`() throws {
        let trace = Trace()
        try onNewThread {
            ReleasePool.autorelease(
                Mortal("first", trace) { ReleasePool.autorelease(Mortal("second", trace)) })
            let loop = ThreadRunLoop.current
            loop.perform { trace.note("run") }
            _ = loop.run(until: .distantPast)
            ReleasePool.autorelease(Mortal("third", trace))
        }
        #expect(trace.all == ["run", "third gone", "first gone", "second gone"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `row 24: on the real kernel a sleeping thread holds nothing`() throws {
        let gone = Latch()
        let running = try RunningLoop(thread: "pooled")
        let loop = running.loop
        let trace = Trace()
        // Nothing comes after it, so only the sleep can release it.
        loop.perform { ReleasePool.autorelease(Mortal("object", trace) { gone.open() }) }
        gone.wait()
        running.end()
        #expect(trace.all == ["object gone"])
    }
}

/// An object that notes its end.
private final class Mortal: Sendable {
    private let name: String
    private let trace: Trace
    private let last: @Sendable () -> Void

    init(_ name: String, _ trace: Trace, last: @escaping @Sendable () -> Void = {}) {
        self.name = name
        self.trace = trace
        self.last = last
    }

    deinit {
        trace.note("\(name) gone")
        last()
    }
}

/// A source that signals itself so often, and the most that was held meanwhile.
private final class SourceBox: @unchecked Sendable {
    // SAFETY: touched on one loop's thread only.
    weak var source: ThreadRunLoop.Source?
    private(set) var most = 0
    private var count = 0

    func signal(atMost limit: Int) -> Bool {
        count += 1
        if count < limit { source?.signal() }
        return count < limit
    }

    func note(_ held: Int) { most = max(most, held) }
}

private final class TextBox: Sendable {
    private let stored = Mutex<[String]>([])

    func add(_ text: String) { stored.withLock { $0.append(text) } }

    var texts: [String] { stored.withLock { $0 } }
}

private struct Failure: Error {

    @Test(arguments: [false, true])
    func `what an observer of the waiting autoreleases goes before the sleep`(isFirst: Bool) throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            loop.keepAlive()
            // Else the observers that empty the pool are added in the round that tells of the
            // sleep.
            if !isFirst {
                loop.perform { ReleasePool.autorelease(Mortal("earlier", trace)) }
                loop.stepOnePass()
            }
            loop.add(
                ThreadRunLoop.Observer(.beforeWaiting, repeats: false, order: .max) { _, _ in
                    ReleasePool.autorelease(Mortal("object", trace))
                })
            poller.at(.seconds(1)) { trace.note("asleep, holding \(ReleasePool.heldCount)") }
            _ = loop.run(for: .seconds(2))
        }
        #expect(
            trace.all == (isFirst ? [] : ["earlier gone"]) + ["object gone", "asleep, holding 0"])
    }
}
