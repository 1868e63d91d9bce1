// Row 26 on a scripted kernel: when in a pass the main queue is served, and when not.

import Kernel
import RunLoops
import Support
import RunLoopsTesting
import Testing

private let round = ["before-timers", "before-sources"]
private let sleep = ["before-waiting", "after-waiting"]

@Suite struct `Serving the main queue` {
    @Test func `row 26: it ends the sleep and is handled after the timers, before the blocks`()
        throws
    {
        let trace = Trace()
        try withMainLoop { loop, poller, queue in
            loop.observe(trace)
            loop.add(
                ThreadRunLoop.Timer(at: Instant(nanoseconds: 1_000_000_000)) { _ in
                    trace.note("timer")
                })
            poller.at(.seconds(1)) {
                queue.add { trace.note("work 1") }
                queue.add { trace.note("work 2") }
                loop.perform { trace.note("block") }
            }
            let result = loop.run(for: .seconds(9), returnAfterSourceHandled: true)
            trace.note("\(result)")
        }
        #expect(
            trace.all == ["entry"] + round + sleep
                + ["timer", "work 1", "work 2", "block", "exit", "handledSource"])
    }

    @Test func `row 26: what waits before the run is served without a sleep`() throws {
        let trace = Trace()
        try withMainLoop { loop, _, queue in
            loop.observe(trace)
            queue.add {
                trace.note("work 1")
                queue.add { trace.note("work 2") }
            }
            _ = loop.run(for: .seconds(1))
        }
        #expect(
            trace.all == ["entry"] + round + ["work 1"] + round + ["work 2"] + round + sleep
                + ["exit"])
    }

    @Test func `row 5: on the main loop observers alone are told, and no common mode is finished`()
        throws
    {
        let trace = Trace()
        try withMainLoop { loop, _, _ in
            loop.observe(trace)
            #expect(loop.run(for: .seconds(30)) == .timedOut)
            #expect(loop.now == Instant(nanoseconds: 30_000_000_000))
            #expect(loop.run(mode: "private", for: .seconds(30)) == .finished)
        }
        #expect(trace.all == ["entry"] + round + sleep + ["exit"])
    }

    @Test func `a run in another mode holds its work, one nested in a common mode serves it`()
        throws
    {
        let trace = Trace()
        try withMainLoop { loop, poller, queue in
            loop.keepAlive("private")
            loop.addCommonMode("tracking")
            loop.perform {
                queue.add { trace.note("work") }
                trace.note("private \(loop.run(mode: "private", for: .seconds(1)))")
                let result = loop.run(
                    mode: "tracking", for: .seconds(1), returnAfterSourceHandled: true)
                trace.note("tracking \(result)")
            }
            _ = loop.run(for: .seconds(5))
        }
        #expect(trace.all == ["private timedOut", "work", "tracking handledSource"])
    }

    @Test func `a run inside its work does not serve it, nor live for it`() throws {
        let trace = Trace()
        try withMainLoop { loop, poller, queue in
            queue.add {
                queue.add { trace.note("work 2") }
                trace.note("inner \(loop.run(for: .seconds(1)))")
                loop.perform { trace.note("innermost \(loop.run(for: .seconds(1)))") }
                trace.note("inner \(loop.run(for: .seconds(2)))")
                trace.note("work 1 ends")
            }
            trace.note("outer \(loop.run(for: .seconds(9)))")
        }
        #expect(
            trace.all == [
                "inner finished", "innermost finished", "inner finished", "work 1 ends",
                "work 2", "outer timedOut",
            ])
    }

    @Test func `loops of other threads know nothing of it`() throws {
        let text = try withScriptedLoop { loop, _ in
            loop.keepAlive()
            _ = loop.run(until: .distantPast)
            return loop.describe()
        }
        #expect(!text.contains("main dispatch queue"))
    }
}

/// A main queue that a test fills, on a scripted kernel.
private final class ScriptedQueue: MainQueue, @unchecked Sendable {
    // SAFETY: touched on one thread only: that of the scripted loop.
    let descriptor: CInt = 99
    private let poller: ScriptedPoller
    private var work: [() -> Void] = []
    private var isDraining = false

    init(_ poller: ScriptedPoller) { self.poller = poller }

    func add(_ body: @escaping () -> Void) {
        work.append(body)
        poller.setReady(descriptor, .readable)
    }

    func drain() {
        poller.setReady(descriptor, [])
        precondition(!isDraining, "libdispatch does not begin work inside other work")
        isDraining = true
        let taken = work
        work = []
        for body in taken { body() }
        isDraining = false
    }
}

private func withMainLoop<Result: Sendable>(
    _ body: @escaping @Sendable (ThreadRunLoop, ScriptedPoller, ScriptedQueue) -> Result
) throws -> Result {
    try onNewThread {
        let poller = ScriptedPoller()
        let queue = ScriptedQueue(poller)
        let loop = ThreadRunLoop.makeCurrent(poller: poller, mainQueue: queue)
        return body(loop, poller, queue)
    }
}
