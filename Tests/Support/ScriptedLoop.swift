// A fresh thread with a run loop of its own, for one test.

internal import Kernel
package import RunLoops
internal import Synchronization

/// Runs `body` on a new thread and returns what it returned, once the thread has ended.
package func onNewThread<Result: Sendable>(
    _ body: @escaping @Sendable () -> Result
) throws -> Result {
    let result = Mutex<Result?>(nil)
    let box = Box(result)
    let thread = try SystemThread(name: "test") { box.set(body()) }
    thread.join()
    guard let value = box.value else { throw NoResult() }
    return value
}

/// Runs `body` on a new thread whose run loop sleeps by a script.
package func withScriptedLoop<Result: Sendable>(
    _ body: @escaping @Sendable (ThreadRunLoop, ScriptedPoller) -> Result
) throws -> Result {
    try onNewThread {
        let poller = ScriptedPoller()
        return body(ThreadRunLoop.makeCurrent(poller: poller), poller)
    }
}

/// A test thread ended without a result.
package struct NoResult: Error {}

private final class Box<Value: Sendable>: Sendable {
    private let storage: Mutex<Value?>

    init(_ storage: consuming sending Mutex<Value?>) { self.storage = storage }

    func set(_ value: Value) { storage.withLock { $0 = value } }

    var value: Value? { storage.withLock { $0 } }
}

extension ThreadRunLoop {
    /// Adds an observer that notes every activity of a mode in `trace`.
    package func observe(_ trace: Trace, in mode: Mode = .default, prefix: String = "") {
        add(Observer { _, activity in trace.note(prefix + activity.description) }, to: mode)
    }

    /// Adds a port that does nothing but keep a mode alive.
    package func keepAlive(_ mode: Mode = .default) {
        do {
            try add(Port { _, _ in }, to: mode)
        } catch {
            preconditionFailure("a port without a descriptor asks nothing of the kernel: \(error)")
        }
    }
}
