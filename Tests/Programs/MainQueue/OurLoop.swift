// Our main run loop, and what only it can do.

import Dispatch
import Foundation
import Kernel
import RunLoops
import RunLoopsTesting
import Support
import WorkerThreads

struct OurLoop: MainLoop {
    var loop: ThreadRunLoop { .main }
    private let trace: Trace

    init(_ trace: Trace) { self.trace = trace }

    func observe(_ mode: String) {
        let trace = trace
        let observer = ThreadRunLoop.Observer([.entry, .exit]) { _, activity in
            trace.note("\(activity) \(mode)")
        }
        loop.add(observer, to: ThreadRunLoop.Mode(mode))
    }

    func keepAlive(_ mode: String) {
        loop.add(ThreadRunLoop.Source {}, to: ThreadRunLoop.Mode(mode))
    }

    func addCommonMode(_ mode: String) { loop.addCommonMode(ThreadRunLoop.Mode(mode)) }

    func perform(_ mode: String, _ body: @escaping @Sendable () -> Void) {
        loop.perform(inModes: [ThreadRunLoop.Mode(mode)], body)
    }

    func run(_ mode: String, seconds: Double, afterSource: Bool) {
        let result = loop.run(
            mode: ThreadRunLoop.Mode(mode), for: .seconds(seconds),
            returnAfterSourceHandled: afterSource)
        trace.note("\(mode): \(result)")
    }

    func stop() { loop.stop() }
}

/// All that the main loop calls is on the main actor.
@MainActor func isolated(_ loop: any MainLoop, _ trace: Trace) {
    let main = ThreadRunLoop.main
    let note: @Sendable (String) -> Void = { word in
        MainActor.assumeIsolated { noted += 1 }
        trace.note(word)
    }
    main.add(ThreadRunLoop.Observer(.entry) { _, _ in note("observer") })
    let source = ThreadRunLoop.Source { note("source") }
    main.add(source)
    source.signal()
    let port = MessagePort<Int> { _ in note("port") }
    port.add(to: main)
    port.send(1)
    main.add(ThreadRunLoop.Timer(after: .zero) { _ in note("timer") })
    main.schedule(after: .zero) { note("time-out") }
    main.perform { note("block") }
    loop.run("default", seconds: 0)
    port.invalidate()
    trace.note("\(noted)")
}

@MainActor private var noted = 0

/// Performs on the main thread, from other threads and from itself.
@MainActor func ownCalls(_ loop: any MainLoop, _ trace: Trace) {
    let main = ThreadRunLoop.main
    precondition(main === ThreadRunLoop.current && main.isMain && main.isOnThread)
    let note = Selector<Trace, String>("note") { trace, word in
        trace.note("\(word), on main: \(Thread.isMainThread)")
    }
    do {
        try main.perform(note, on: trace, with: "in place", waitUntilDone: true)
        try main.perform(note, on: trace, with: "in turn")
    } catch { trace.note("\(error)") }
    trace.note("not yet")
    Thread {
        do {
            precondition(ThreadRunLoop.main === main && !main.isOnThread)
            try main.perform(note, on: trace, with: "later 1")
            try main.perform(note, on: trace, with: "later 2")
            try main.perform(note, on: trace, with: "waiting", waitUntilDone: true)
            trace.note("waited, on main: \(Thread.isMainThread)")
            try main.perform(note, on: trace, with: "in A", modes: ["A"])
            main.performAndWait {
                trace.note("last of default")
                main.stop()
            }
        } catch { trace.note("\(error)") }
    }.start()
    loop.run("default")
    trace.note("now A")
    loop.run("A", seconds: 0)
}

/// Another thread asks for the main loop first, and gives it work; the main thread, which has it
/// from there, runs it.
@MainActor func early(_ loop: any MainLoop, _ trace: Trace) {
    let box = LoopBox()
    let done = Gate()
    Thread {
        let main = ThreadRunLoop.main
        precondition(!main.isOnThread && main === ThreadRunLoop.main)
        main.perform { trace.note("early, on main: \(Thread.isMainThread)") }
        main.perform(inModes: [.common]) { main.stop() }
        box.loop = main
        done.pass()
    }.start()
    done.reached.wait()
    trace.note("\(box.loop?.run(mode: .default) ?? .finished)")
    precondition(box.loop === ThreadRunLoop.current && box.loop?.isOnThread == true)
    done.open()
}

/// The main thread leaves without ever having met its loop, which has taken something by then.
@MainActor func left(_ loop: any MainLoop, _ trace: Trace) {
    let isTaken = Latch()
    Thread {
        let captured = giveToken()
        isTaken.open()
        // Until the main thread is gone.
        while ThreadRunLoop.main.perform({}) { sched_yield() }
        print("kept: \(captured.object != nil)")
        print("waited for: \(ThreadRunLoop.main.performAndWait {})")
        exit(0)
    }.start()
    isTaken.wait()
    dispatchMain()
}

/// Gives the main loop a block that captures an object.
private func giveToken() -> WeakReference<Token> {
    let token = Token()
    precondition(ThreadRunLoop.main.perform { _ = token })
    return WeakReference(token)
}

/// A main loop without work sleeps, and all of it in one pass.
@MainActor func idle(_ loop: any MainLoop, _ trace: Trace) {
    let main = ThreadRunLoop.main
    loop.run("default", seconds: 0.3)
    trace.note("\(main.counters.passCount) passes, \(main.counters.sleepCount) sleeps")
    trace.note(main.describe())
}
