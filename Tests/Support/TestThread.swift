// A thread that a test can keep in a list, and the loop that such a thread hands out.

internal import Kernel
package import RunLoops
internal import Synchronization

/// A system thread that can be kept anywhere and joined once or more.
package final class TestThread: Sendable {
    private let thread: Mutex<SystemThread?>

    package init(name: String, body: @escaping @Sendable () -> Void) throws {
        thread = Mutex(try SystemThread(name: name, body: body))
    }

    /// Waits until the thread has ended.
    package func join() {
        let mine = thread.withLock { $0.take() }
        mine?.join()
    }
}

/// The place where a new thread puts its run loop for the test.
package final class LoopBox: Sendable {
    private let stored = Mutex<ThreadRunLoop?>(nil)

    package init() {}

    package var loop: ThreadRunLoop? {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
}
