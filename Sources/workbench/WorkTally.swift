// The posted work: as little as possible, but each piece of it leaves a trace, so that a round can
// prove that all of it was done, and nothing can be optimised away.

internal import Dispatch
internal import Synchronization

/// Counts work done on one thread, and signals when all of it is done.
final class WorkTally: Sendable {
    // Written only by the thread that does the work; atomic so that others may read.
    private let count = Atomic<Int>(0)
    fileprivate let sum = Atomic<UInt64>(0)
    private let expectedCount = Atomic<Int>(0)
    private let done = DispatchSemaphore(value: 0)

    /// The target of closures that capture nothing.
    static let shared = WorkTally()

    /// Starts the count again.
    func reset(expecting expected: Int) {
        count.store(0, ordering: .relaxed)
        sum.store(0, ordering: .relaxed)
        expectedCount.store(expected, ordering: .sequentiallyConsistent)
    }

    /// Counts one piece of work.
    @inline(__always)
    func note(_ index: Int) {
        sum.store(sum.load(ordering: .relaxed) &+ Self.mix(index), ordering: .relaxed)
        let count = count.load(ordering: .relaxed) + 1
        self.count.store(count, ordering: .relaxed)
        if count == expectedCount.load(ordering: .relaxed) { done.signal() }
    }

    /// Waits until the expected work was counted.
    func wait() { done.wait() }

    /// The hash of the counted work, independent of its order.
    var hash: UInt64 { sum.load(ordering: .sequentiallyConsistent) }

    /// The hash that the indices of a range leave.
    static func hash(of range: Range<Int>) -> UInt64 {
        range.reduce(0) { $0 &+ mix($1) }
    }

    @inline(__always)
    private static func mix(_ index: Int) -> UInt64 {
        let bits = UInt64(truncatingIfNeeded: index) &+ 0x9E37_79B9_7F4A_7C15
        return bits &* (bits ^ (bits >> 29))
    }
}

extension WorkTally {
    /// One number that a thread hands to another, for rounds that only need that.
    var value: Int { Int(truncatingIfNeeded: hash) }

    func set(_ value: Int) {
        sum.store(UInt64(truncatingIfNeeded: value), ordering: .sequentiallyConsistent)
    }
}
