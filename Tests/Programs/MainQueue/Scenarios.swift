// Scenarios of the main loop, in words that ours and CoreFoundation's both understand.

import Dispatch
import Foundation
import RunLoopsTesting
import Support

/// A run loop of the main thread.
protocol MainLoop: Sendable {
    /// Notes each run in a mode, as `entry MODE` and `exit MODE`.
    func observe(_ mode: String)
    /// Keeps a mode alive with a source that is never signalled.
    func keepAlive(_ mode: String)
    func addCommonMode(_ mode: String)
    /// Queues a block for a mode and wakes the loop; from any thread.
    func perform(_ mode: String, _ body: @escaping @Sendable () -> Void)
    /// Runs the loop, and notes how it ended.
    func run(_ mode: String, seconds: Double, afterSource: Bool)
    func stop()
}

extension MainLoop {
    func run(_ mode: String, seconds: Double = 60) {
        run(mode, seconds: seconds, afterSource: false)
    }
}

typealias Scenario = @MainActor (any MainLoop, Trace) -> Void

/// Short enough to wait for, and long enough for what is ready to be handled.
private let moment = 0.05

@MainActor let scenarios: [String: Scenario] = [
    "order": order, "threads": threads, "modes": modes, "inside": inside,
    "after-source": afterSource,
    "never-finished": neverFinished, "late-common": lateCommon, "hops": hops,
    "own-calls": ownCalls, "early": early, "idle": idle, "signals": signals,
    "isolated": isolated, "left": left,
]

/// Main dispatch work and main actor work queued before the run, in order.
@MainActor private func order(_ loop: any MainLoop, _ trace: Trace) {
    loop.observe("default")
    DispatchQueue.main.async { trace.note("dispatch 1") }
    Task { @MainActor in trace.note("actor 2") }
    DispatchQueue.main.async {
        trace.note("dispatch 3")
        DispatchQueue.main.async {
            trace.note("dispatch 4")
            loop.stop()
        }
    }
    loop.run("default")
}

/// Work from other threads wakes the loop; each thread's keeps its order.
@MainActor private func threads(_ loop: any MainLoop, _ trace: Trace) {
    let counter = Counter()
    for thread in 0..<4 {
        Thread {
            for number in 0..<250 {
                DispatchQueue.main.async {
                    precondition(Thread.isMainThread)
                    MainActor.assertIsolated()
                    if last[thread] != number - 1 { trace.note("\(thread): \(number) out of turn") }
                    last[thread] = number
                    if counter.increment() == 1_000 { loop.stop() }
                }
            }
        }.start()
    }
    while counter.count < 1_000 { loop.run("default") }
    trace.note("served \(counter.count)")
}

@MainActor private var last = [Int](repeating: -1, count: 4)

/// A run nested in a callout serves the queue in a common mode, and holds it in any other.
@MainActor private func modes(_ loop: any MainLoop, _ trace: Trace) {
    for mode in ["default", "tracking", "private"] { loop.observe(mode) }
    loop.addCommonMode("tracking")
    loop.keepAlive("private")
    loop.perform("default") {
        DispatchQueue.main.async {
            trace.note("dispatch 1")
            loop.stop()
        }
        loop.run("private", seconds: moment)
        loop.run("tracking")
        DispatchQueue.main.async {
            trace.note("dispatch 2")
            loop.stop()
        }
    }
    loop.run("default")
}

/// A run inside the main queue's own work: the queue is not served, and does not keep it alive.
@MainActor private func inside(_ loop: any MainLoop, _ trace: Trace) {
    for mode in ["default", "tracking"] { loop.observe(mode) }
    loop.addCommonMode("tracking")
    DispatchQueue.main.async {
        trace.note("dispatch 1")
        DispatchQueue.main.async {
            trace.note("dispatch 2")
            loop.stop()
        }
        loop.run("default")
        loop.keepAlive("tracking")
        loop.run("tracking", seconds: moment)
        loop.perform("tracking") {
            trace.note("block")
            loop.run("default", seconds: moment)
        }
        loop.run("tracking", seconds: moment)
        trace.note("dispatch 1 ends")
    }
    loop.run("default")
    loop.run("default", seconds: moment)
}

/// The main queue counts as a source.
@MainActor private func afterSource(_ loop: any MainLoop, _ trace: Trace) {
    loop.observe("default")
    DispatchQueue.main.async { trace.note("dispatch 1") }
    loop.run("default", seconds: 60, afterSource: true)
    DispatchQueue.global().async { DispatchQueue.main.async { trace.note("dispatch 2") } }
    loop.run("default", seconds: 60, afterSource: true)
    loop.run("default", seconds: moment, afterSource: true)
}

/// Row 5: a common mode of the main loop is alive with nothing in it, any other is not.
@MainActor private func neverFinished(_ loop: any MainLoop, _ trace: Trace) {
    for mode in ["default", "private"] { loop.observe(mode) }
    loop.run("default", seconds: moment)
    loop.run("default", seconds: 0)
    loop.run("private", seconds: moment)
}

/// A mode that becomes common later serves the queue from then on.
@MainActor private func lateCommon(_ loop: any MainLoop, _ trace: Trace) {
    for mode in ["default", "late"] { loop.observe(mode) }
    loop.run("late", seconds: moment)
    loop.run("default", seconds: moment)
    loop.addCommonMode("late")
    DispatchQueue.main.async {
        trace.note("dispatch 1")
        loop.stop()
    }
    loop.run("late")
}

/// A task goes to and fro between the main actor and others.
@MainActor private func hops(_ loop: any MainLoop, _ trace: Trace) {
    let elsewhere = Elsewhere()
    Task { @MainActor in
        var sum = 0
        for number in 1...100 {
            sum = await elsewhere.add(number, to: sum)
            precondition(Thread.isMainThread)
        }
        await Task.yield()
        trace.note("sum \(sum)")
        loop.stop()
    }
    Task.detached {
        await MainActor.run { precondition(Thread.isMainThread) }
    }
    loop.run("default")
}

/// A dispatch source for a signal, as the article on porting has it.
@MainActor private func signals(_ loop: any MainLoop, _ trace: Trace) {
    signal(SIGUSR1, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .main)
    source.setEventHandler {
        precondition(Thread.isMainThread)
        trace.note("signal")
        loop.stop()
    }
    source.setRegistrationHandler { kill(getpid(), SIGUSR1) }
    source.resume()
    loop.run("default")
    source.cancel()
}

private actor Elsewhere {
    func add(_ number: Int, to sum: Int) -> Int { sum + number }
}
