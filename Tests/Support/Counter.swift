// A number that any thread may increment.

internal import Synchronization

/// A counter between threads.
package final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    package init() {}

    /// The number of increments; writes before a counted increment are visible.
    package var count: Int { value.load(ordering: .acquiring) }

    /// Adds one.
    ///
    /// - Returns: the new count.
    @discardableResult
    package func increment() -> Int {
        value.add(1, ordering: .acquiringAndReleasing).newValue
    }
}
