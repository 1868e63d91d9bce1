// Blocks whose sender waits for them.

import Kernel
import RunLoops
import Support
import RunLoopsTesting
import Testing

@Suite struct `A block that its sender waits for` {
    @Test(.timeLimit(.minutes(2)))
    func `has run when the sender goes on`() throws {
        let trace = Trace()
        let running = try RunningLoop(thread: "served")
        let loop = running.loop
        loop.perform { trace.note("first") }
        let hasRun = loop.performAndWait { trace.note("second, on thread: \(loop.isOnThread)") }
        trace.note("third")
        running.end()
        #expect(hasRun)
        #expect(trace.all == ["first", "second, on thread: true", "third"])
    }

    @Test func `runs at once on the thread itself`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            loop.perform { trace.note("queued") }
            let hasRun = loop.performAndWait(inModes: ["never"]) { trace.note("in place") }
            #expect(hasRun)
            _ = loop.run(until: .distantPast)
        }
        #expect(trace.all == ["in place", "queued"])
    }

    @Test func `is refused by a loop whose thread has ended`() throws {
        let loop = try onNewThread { ThreadRunLoop.current }
        #expect(!loop.performAndWait { Issue.record("nobody is left to run it") })
    }

    @Test(.timeLimit(.minutes(2)))
    func `lets the sender go when the thread ends without having run it`() throws {
        let box = LoopBox()
        let ready = Latch()
        let gate = Gate()
        let thread = try TestThread(name: "ending") {
            let loop = ThreadRunLoop.current
            box.loop = loop
            ready.open()
            gate.pass()
            // Taken over by the loop, and left there: its mode never runs.
            loop.perform(inModes: ["other"]) {}
            _ = loop.run(until: .distantPast)
        }
        ready.wait()
        let loop = try #require(box.loop)
        let sender = try TestThread(name: "sender") {
            #expect(!loop.performAndWait(inModes: ["never"]) { Issue.record("in no run's mode") })
        }
        gate.open()
        sender.join()
        thread.join()
    }
}
