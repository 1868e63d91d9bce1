// A flag that any thread may clear.

internal import Synchronization

/// A flag between threads.
package final class Flag: Sendable {
    private let value = Atomic<Bool>(true)

    /// - Parameter isSet: whether it begins set.
    package init(_ isSet: Bool = true) { if !isSet { clear() } }

    package var isSet: Bool { value.load(ordering: .acquiring) }

    package func set() { value.store(true, ordering: .releasing) }

    package func clear() { value.store(false, ordering: .releasing) }
}
