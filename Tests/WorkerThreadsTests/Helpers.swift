// Helpers of the suites of worker threads: threads that a test starts and holds, and a look into
// what a thread has got round to.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import WorkerThreads

/// A value between threads.
final class Shared<Value: Sendable>: Sendable {
    private let stored: Mutex<Value>

    init(_ value: Value) { stored = Mutex(value) }

    var value: Value { stored.withLock { $0 } }

    func set(_ value: Value) { stored.withLock { $0 = value } }

    func change(_ body: (inout Value) -> Void) {
        stored.withLock { value in
            var copy = value
            body(&copy)
            value = copy
        }
    }
}

/// Runs `body` on a system thread that is no worker, and waits for it.
func onPlainThread(_ body: @escaping @Sendable () -> Void) throws {
    try onNewThread(body)
}

extension WorkerThread {
    /// The description of the thread's loop, asked for and answered.
    func described() -> String {
        let text = Shared("")
        let answered = Latch()
        guard
            describe({
                text.set($0)
                answered.open()
            })
        else { return "ended" }
        answered.wait()
        return text.value
    }

    /// Waits until the thread says of its loop what the test waits for; a round trip each time.
    func waitUntil(_ isSo: (String) -> Bool) {
        while !isSo(described()) {}
    }

    /// Waits until the thread has done what other threads asked of its loop, and has no timer left.
    ///
    /// Requests are taken in order: once the block runs, items that were added before are there.
    func waitUntilTimersHaveFired() {
        let arrived = Latch()
        runLoop.perform { arrived.open() }
        arrived.wait()
        waitUntil { !$0.contains("timers, the next") }
    }

    /// Waits until the thread's loop runs in `mode`.
    func waitUntilRunning(in mode: ThreadRunLoop.Mode) {
        waitUntil { $0.contains("running: \(mode) ") }
    }

    /// Submits work that reaches a gate, and waits until the thread is there.
    func hold() throws -> Gate {
        let gate = Gate()
        try post { gate.pass() }
        gate.reached.wait()
        return gate
    }
}

/// The error that `body` throws, if it is one of refusal.
func refusal(_ body: () throws -> Void) -> SubmitError? {
    do {
        try body()
        return nil
    } catch {
        return error as? SubmitError
    }
}
