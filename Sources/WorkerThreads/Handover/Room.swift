// How many may wait: counted where senders add, from any thread, without a lock.

public import Synchronization

/// A limit, and how many of the places below it are taken.
@usableFromInline
struct Room: ~Copyable, Sendable {
    /// The most that may wait; `Int.max` for as many as memory allows.
    @usableFromInline let limit: Int
    /// Counted only if there is a limit.
    ///
    /// Publishes nothing.
    @usableFromInline let takenCount = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    /// Takes a place.
    ///
    /// - Returns: false when all are taken.
    @inlinable
    func take() -> Bool {
        if limit == .max { return true }
        // Not added first and taken back: meanwhile others would be refused for whom there is a
        // place.
        var taken = takenCount.load(ordering: .relaxed)
        while taken < limit {
            let attempt = takenCount.weakCompareExchange(
                expected: taken, desired: taken + 1, ordering: .relaxed)
            if attempt.exchanged { return true }
            taken = attempt.original
        }
        return false
    }

    /// Gives places back.
    @inlinable
    func giveBack(_ count: Int = 1) {
        if limit != .max { takenCount.subtract(count, ordering: .relaxed) }
    }
}
