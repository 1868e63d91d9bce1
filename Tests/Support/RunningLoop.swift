// A thread that only runs its loop, for tests on the real kernel.

internal import Kernel
package import RunLoops

/// A run loop that another thread keeps running until it is told to stop.
package final class RunningLoop: Sendable {
    package let loop: ThreadRunLoop
    private let thread: TestThread

    /// Starts a thread and waits until its loop is about to run.
    package init(thread name: String) throws {
        let made = LoopBox()
        let ready = Latch()
        thread = try TestThread(name: name) {
            let loop = ThreadRunLoop.current
            // Its mode must not be empty: a source that is never signalled.
            loop.add(ThreadRunLoop.Source {})
            made.loop = loop
            ready.open()
            _ = loop.run()
        }
        ready.wait()
        guard let loop = made.loop else { preconditionFailure("it was set before it was ready") }
        self.loop = loop
    }

    /// Ends the run, and with it the thread.
    package func end() {
        loop.perform { [loop] in loop.stop() }
        thread.join()
    }
}
