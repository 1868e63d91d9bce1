// A door that opens once, in four bytes of the object that it belongs to. Threads wait in front of
// it until another thread opens it.
//
// Values of the word: 0 closed, no thread waits · 1 open · 2 closed, some thread may wait.
// WordLatch.E1: open's exchange(1) releases what was written before it; wait's load of 1 acquires
// it.

internal import Synchronization

/// A one-shot event between threads, as part of an object that all of them hold.
package struct WordLatch: ~Copyable, Sendable {
    private let word = Atomic<UInt32>(0)

    package init() {}

    /// Opens the door for all threads that wait and all that come later.
    ///
    /// - Thread: any thread; opening twice is the same as once.
    package borrowing func open() {
        if word.exchange(1, ordering: .acquiringAndReleasing) == 2 { word.wakeSleepers(.max) }
    }

    /// Whether the door is open.
    package var isOpen: Bool { word.load(ordering: .acquiring) == 1 }

    /// Waits until the door is open.
    ///
    /// - Thread: any thread.
    /// - Blocks: until another thread opens it.
    package borrowing func wait() {
        while isToWait { _ = word.sleep(while: 2) }
    }

    /// Waits until the door is open, or until a date.
    ///
    /// - Returns: whether it is open.
    /// - Thread: any thread.
    /// - Blocks: until the door is opened, at most until the deadline.
    package borrowing func wait(until deadline: ContinuousClock.Instant) -> Bool {
        while isToWait {
            // The kernel waits by a clock that stands still while the machine is suspended: asked
            // again.
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return false }
            _ = word.sleep(while: 2, until: SystemClock().now().advanced(by: left))
        }
        return true
    }

    /// Whether the door is closed; if so, the word says that a thread may wait.
    private var isToWait: Bool {
        word.compareExchange(expected: 0, desired: 2, ordering: .acquiring).original != 1
    }
}
