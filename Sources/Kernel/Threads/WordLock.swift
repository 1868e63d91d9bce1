// A lock of four bytes, for objects of which there may be a million: the standard library's Mutex
// looks up its type's metadata whenever such an object goes, which costs more than the object.
//
// Values of the word: 0 free · 1 held, nobody waits · 2 held, somebody may wait.
// Edge: unlock's exchange(0) releases what was written under the lock; lock's exchange acquires it.
// After U. Drepper, "Futexes Are Tricky" (2011), the second of its mutexes.

internal import CLinux
internal import Synchronization

/// A lock that is part of the object which it guards.
///
/// - Source: futex(2).
package struct WordLock: ~Copyable, Sendable {
    private let word = Atomic<UInt32>(0)

    package init() {}

    /// Runs `body` while no other thread holds the lock.
    ///
    /// - Thread: any thread that does not hold it.
    /// - Blocks: while another thread holds it; keep what is done under it short.
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { wait() }
        defer { unlock() }
        return try body()
    }

    private borrowing func wait() {
        while word.exchange(2, ordering: .acquiring) != 0 {
            // Woken, or changed before the kernel looked, or a signal: all look again.
            _ = unsafe clinux_futex_wait(address, 2, nil)
        }
    }

    private borrowing func unlock() {
        if word.exchange(0, ordering: .releasing) == 2 {
            _ = unsafe clinux_futex_wake(address, 1)
        }
    }

    private var address: UnsafeRawPointer {
        // SAFETY: the lock is part of a class, which never moves, and an Atomic is the bare word.
        unsafe withUnsafePointer(to: word) { unsafe UnsafeRawPointer($0) }
    }
}
