// A door that opens once, in four bytes of the object that it belongs to: threads wait in front of
// it until somebody opens it.
//
// Values of the word: 0 closed, nobody waits · 1 open · 2 closed, somebody may wait.
// Edge: open's exchange(1) releases what was written before it; wait's load of 1 acquires it.

internal import CLinux
internal import Glibc
internal import Synchronization

/// A one-shot event between threads, as part of an object that all of them hold.
///
/// - Source: futex(2).
package struct WordLatch: ~Copyable, Sendable {
    private let word = Atomic<UInt32>(0)

    package init() {}

    /// Opens the door for everybody who waits and whoever comes later.
    ///
    /// - Thread: any thread; opening twice is the same as once.
    package borrowing func open() {
        if word.exchange(1, ordering: .acquiringAndReleasing) == 2 {
            _ = unsafe clinux_futex_wake(address, .max)
        }
    }

    /// Whether the door is open.
    package var isOpen: Bool { word.load(ordering: .acquiring) == 1 }

    /// Waits until the door is open.
    ///
    /// - Thread: any thread.
    /// - Blocks: until somebody opens it.
    package borrowing func wait() {
        while true {
            let (_, seen) = word.compareExchange(
                expected: 0, desired: 2, ordering: .acquiring)
            if seen == 1 { return }
            let result = unsafe clinux_futex_wait(address, 2, nil)
            require(
                result == 0 || result == -EAGAIN || result == -EINTR,
                "futex wait failed with errno \(-result)")
        }
    }

    /// Waits until the door is open, or until an instant.
    ///
    /// - Returns: whether it is open. False too if the wait was interrupted: then ask again.
    /// - Thread: any thread.
    /// - Blocks: until the door is opened, at most until the deadline.
    @discardableResult
    package borrowing func wait(until deadline: Instant) -> Bool {
        let (_, seen) = word.compareExchange(expected: 0, desired: 2, ordering: .acquiring)
        if seen == 1 { return true }
        let nanoseconds = max(0, deadline.nanoseconds)
        var time = timespec(
            tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        let result = unsafe clinux_futex_wait(address, 2, &time)
        require(
            result == 0 || result == -EAGAIN || result == -EINTR || result == -ETIMEDOUT,
            "futex wait failed with errno \(-result)")
        return isOpen
    }

    private var address: UnsafeRawPointer {
        // SAFETY: the latch is part of a class, which never moves, and an Atomic is the bare word.
        unsafe withUnsafePointer(to: word) { unsafe UnsafeRawPointer($0) }
    }
}
