// Closures that wait for an end: a loop's, called last of all, when it is empty, or that of another
// thing that ends once.

internal import Synchronization

/// Closures that are called once something has ended.
package final class EndObservers: Sendable {
    private struct State {
        var waiting: [ObjectIdentifier: @Sendable () -> Void] = [:]
        var hasEnded = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Has a closure called at the end.
    ///
    /// - Parameters:
    ///   - owner: whose it is, by which it is removed; each has one.
    ///   - body: called on the thread that ends, or ends something; a loop has no owner thread by
    ///     then.
    /// - Returns: false when it has ended: the closure is not called.
    /// - Thread: any thread.
    package func add(_ owner: AnyObject, _ body: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            if !state.hasEnded { state.waiting[ObjectIdentifier(owner)] = body }
            return !state.hasEnded
        }
    }

    /// Has an owner's closure called no longer, unless it is on its way.
    ///
    /// - Thread: any thread.
    package func remove(_ owner: AnyObject) {
        let removed = state.withLock { $0.waiting.removeValue(forKey: ObjectIdentifier(owner)) }
        // Let go of without the lock.
        withExtendedLifetime(removed) {}
    }

    /// Calls those that wait, in no particular order.
    package func end() {
        let left = state.withLock { state in
            state.hasEnded = true
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for body in left { body() }
    }
}
