// Holds a thread at a known place until the test lets it go on.

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

    /// Lets whoever waits go on.
    package func open() {
        opened.open()
    }
}
