// Selectors on a thread that runs its loop without being a worker. On the main thread itself they are
// tested in a program of its own, since a test runner's main thread is not ours.

import Kernel
import RunLoops
import Support
import RunLoopsTesting
import Testing
import WorkerThreads

@Suite struct `Selectors on a thread's loop` {
    @Test(.timeLimit(.minutes(20)))
    func `are performed in order, and waited for`() throws {
        let trace = Trace()
        let note = Selector<Trace, String>("note") { $0.note($1) }
        let running = try RunningLoop(thread: "served")
        let loop = running.loop
        try loop.perform(note, on: trace, with: "1")
        try loop.perform(note, on: trace, with: "held", modes: ["other"])
        try loop.perform(note, on: trace, with: "2", waitUntilDone: true)
        #expect(trace.all == ["1", "2"])
        running.end()
    }

    @Test func `run in place where the sender is on the thread and waits`() throws {
        let trace = Trace()
        let note = Selector<Trace, String>("note") { $0.note($1) }
        try withScriptedLoop { loop, _ in
            #expect(throws: Never.self) {
                try loop.perform(note, on: trace, with: "in turn")
                try loop.perform(note, on: trace, with: "in place", waitUntilDone: true)
            }
            _ = loop.run(until: .distantPast)
        }
        #expect(trace.all == ["in place", "in turn"])
    }

    @Test(arguments: [true, false])
    func `are refused once the thread has ended`(waiting: Bool) throws {
        let loop = try onNewThread { ThreadRunLoop.current }
        let never = Selector<Trace, Int>("never") { _, _ in Issue.record("nobody is left") }
        #expect(throws: SubmitError.stopped(thread: "of this run loop")) {
            try loop.perform(never, on: Trace(), with: 0, waitUntilDone: waiting)
        }
    }
}
