// A lock of four bytes, for objects of which there may be a million: the standard library's Mutex
// looks up its type's metadata whenever such an object goes, which costs more than the object.
//
// Values of the word: 0 free · 1 held, no thread waits · 2 held, some thread may wait.
// WordLock.E1: unlock's exchange(0) releases what was written under the lock; lock's exchange
// acquires it. After U. Drepper, "Futexes Are Tricky" (2011), the second of its mutexes.

public import Synchronization

/// A lock that is part of the object which it guards.
///
/// - Source: futex(2).
@usableFromInline
package struct WordLock: ~Copyable, Sendable {
    @usableFromInline let word = Atomic<UInt32>(0)

    @inlinable
    package init() {}

    /// Takes the lock; give it back soon, with `unlock`.
    ///
    /// - Thread: any thread that does not hold it.
    /// - Blocks: while another thread holds it.
    @inlinable
    package borrowing func lock() {
        if !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { wait() }
    }

    /// Gives the lock back.
    ///
    /// - Thread: the one that holds it.
    /// - Blocks: never.
    @inlinable
    package borrowing func unlock() {
        if word.exchange(0, ordering: .releasing) == 2 { wakeOne() }
    }

    @usableFromInline
    borrowing func wait() {
        while word.exchange(2, ordering: .acquiring) != 0 { _ = word.sleep(while: 2) }
    }

    @usableFromInline
    borrowing func wakeOne() {
        word.wakeSleepers(1)
    }
}
