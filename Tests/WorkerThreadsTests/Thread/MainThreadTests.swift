// Selectors on a thread that runs its loop without being a worker. On the main thread itself they
// are tested in a program of its own, since a test runner's main thread is not ours.

import Kernel
import RunLoops
import Support
import RunLoopsTesting
import Testing
import WorkerThreads

@Suite struct `Selectors on a thread's loop` {
    @Test(.timeLimit(.minutes(2)))
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

    @Test func `are performed after a delay in their modes, and cancelled as asked`() throws {
        let trace = Trace()
        let note = Selector<Trace, String>("note") { $0.note($1) }
        let other = Selector<Trace, String>("other") { $0.note($1) }
        let bare = Selector<Trace, NoArgument>("bare") { $0.note("bare") }
        let counts = try withScriptedLoop { loop, poller in
            let stranger = Trace()
            try loop.perform(note, on: trace, with: "late", afterDelay: .seconds(3))
            try loop.perform(bare, on: trace, afterDelay: .seconds(2))
            try loop.perform(bare, on: trace)
            try loop.perform(note, on: trace, with: "soon", afterDelay: .seconds(1))
            try loop.perform(note, on: trace, with: "x", afterDelay: .seconds(1))
            try loop.perform(other, on: trace, with: "x", afterDelay: .seconds(1))
            try loop.perform(note, on: trace, with: "held", afterDelay: .zero, modes: ["other"])
            let counts = [
                loop.cancelPreviousPerforms(target: stranger),
                loop.cancelPreviousPerforms(target: trace, selector: "note", argument: "x"),
                loop.cancelPreviousPerforms(target: trace, selector: "other"),
            ]
            _ = loop.run(for: .seconds(9))
            trace.note("\(poller.manualClock.elapsed)")
            _ = loop.run(mode: "other", until: .distantPast)
            return counts
        }
        #expect(counts == [0, 1, 1])
        #expect(trace.all == ["bare", "soon", "bare", "late", "3.0 seconds", "held"])
    }

    @Test func `that wait for a delay are a worker's, whichever of the two is asked`() throws {
        let clock = ManualClock()
        let worker = try WorkerThread(name: "both", clock: clock)
        let trace = Trace()
        let note = Selector<Trace, String>("note") { $0.note($1) }
        try worker.perform(note, on: trace, with: "1", afterDelay: .seconds(1))
        try worker.runLoop.perform(note, on: trace, with: "2", afterDelay: .seconds(1))
        #expect(worker.runLoop.cancelPreviousPerforms(target: trace, argument: "1") == 1)
        #expect(worker.cancelPreviousPerforms(target: trace) == 1)
        try worker.runLoop.perform(note, on: trace, with: "3", afterDelay: .seconds(9))
        worker.stop(.finishQueued)
        worker.join()
        #expect(worker.abandonedCount == 1)
        #expect(trace.all == [])
    }

    @Test func `after a delay are refused once the thread has ended`() throws {
        let loop = try onNewThread { ThreadRunLoop.current }
        let never = Selector<Trace, NoArgument>("never") { _ in Issue.record("nobody is left") }
        #expect(throws: SubmitError.stopped(thread: "of this run loop")) {
            try loop.perform(never, on: Trace(), afterDelay: .zero)
        }
        #expect(loop.cancelPreviousPerforms(target: Trace()) == 0)
    }

    @Test func `after a delay go with the thread, and what they hold, whoever keeps its loop`()
        throws
    {
        let target = Trace()
        let never = Selector<Trace, Argument>("never") { _, _ in Issue.record("it is too early") }
        let (loop, argument) = try onNewThread {
            let loop = ThreadRunLoop.current
            let argument = Argument()
            #expect(throws: Never.self) {
                try loop.perform(never, on: target, with: argument, afterDelay: .seconds(3_600))
            }
            return (loop, WeakReference(argument))
        }
        #expect(argument.object == nil)
        #expect(loop.cancelPreviousPerforms(target: target) == 0)
    }
}

/// An argument whose end can be watched.
private final class Argument: Sendable, Hashable {
    static func == (one: Argument, other: Argument) -> Bool { one === other }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
