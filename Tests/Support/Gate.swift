// Holds a thread at a known place until the test releases it.

package import Kernel

/// A place that one thread reaches and waits at, and that another one opens.
package final class Gate: Sendable {
    /// Opens when a thread has reached the gate.
    package let reached = Latch()
    private let opened = Latch()

    package init() {}

    /// Reaches the gate and waits until it is open.
    package func pass() {
        reached.open()
        opened.wait()
    }

    /// Releases the waiting thread.
    package func open() {
        opened.open()
    }
}
