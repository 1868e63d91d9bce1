// A door that opens once, for threads that share nothing else. Where they share an object, the door
// is best a part of it: WordLatch.swift.

/// A one-shot event between threads.
package final class Latch: Sendable {
    private let door = WordLatch()

    package init() {}

    /// Opens the door for all threads that wait and all that come later.
    ///
    /// - Thread: any thread; opening twice is the same as once.
    package func open() { door.open() }

    /// Whether the door is open.
    package var isOpen: Bool { door.isOpen }

    /// Waits until the door is open.
    ///
    /// - Thread: any thread.
    /// - Blocks: until another thread opens it.
    package func wait() { door.wait() }

    /// Waits until the door is open, or until a date.
    ///
    /// - Returns: whether it is open.
    /// - Thread: any thread.
    /// - Blocks: until the door is opened, at most until the deadline.
    package func wait(until deadline: ContinuousClock.Instant) -> Bool {
        door.wait(until: deadline)
    }
}
