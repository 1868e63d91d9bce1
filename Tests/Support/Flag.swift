// A flag that is set until somebody clears it, from any thread.

internal import Synchronization

/// A flag between threads.
package final class Flag: Sendable {
    private let value = Atomic<Bool>(true)

    package init() {}

    package var isSet: Bool { value.load(ordering: .acquiring) }

    package func clear() { value.store(false, ordering: .releasing) }
}
