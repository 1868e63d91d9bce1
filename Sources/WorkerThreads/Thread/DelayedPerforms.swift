// The performs that wait for their delay, found by number when their timer fires and by target,
// selector and argument when they are cancelled. What they do is their timer's to know.

internal import RunLoops
internal import Synchronization

/// The performs of one loop that wait for their delay; there once something has waited.
///
/// A lock decides between the timer that fires and the cancel that comes at the same moment:
/// whoever takes the entry has won.
final class DelayedPerforms: Sendable {
    /// What is performed on a target.
    struct Call: Sendable, Hashable {
        let selector: String
        let argument: AnySendableHashable
    }

    struct Entry {
        let target: ObjectIdentifier
        fileprivate(set) var call: Call
        /// What a ticket names: it holds its closure until it is told that it never runs.
        let request: TicketedPerform?
        var timer: ThreadRunLoop.Timer?
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        /// The numbers of all entries once more, so that a cancel looks at its own only.
        var index: [ObjectIdentifier: [Call: Set<UInt64>]] = [:]
        var nextID: UInt64 = 0
        var isClosed = false

        mutating func insert(_ entry: Entry) -> UInt64 {
            var entry = entry
            // The index's own, so that none of its keys ends under the lock, and with it an argument that
            // may cancel performs in its `deinit`.
            if let calls = index[entry.target], let place = calls.index(forKey: entry.call) {
                entry.call = calls[place].key
            }
            nextID += 1
            entries[nextID] = entry
            index[entry.target, default: [:]][entry.call, default: []].insert(nextID)
            return nextID
        }

        mutating func remove(_ id: UInt64) -> Entry? {
            guard let entry = entries.removeValue(forKey: id) else { return nil }
            index[entry.target]?[entry.call]?.remove(id)
            if index[entry.target]?[entry.call]?.isEmpty == true {
                index[entry.target]?[entry.call] = nil
            }
            if index[entry.target]?.isEmpty == true { index[entry.target] = nil }
            return entry
        }

        func ids(
            target: ObjectIdentifier, selector: String?, argument: AnySendableHashable?
        ) -> [UInt64] {
            guard let calls = index[target] else { return [] }
            if let selector, let argument {
                return Array(calls[Call(selector: selector, argument: argument)] ?? [])
            }
            return calls.flatMap { call, ids -> Set<UInt64> in
                let isMeant =
                    (selector == nil || call.selector == selector)
                    && (argument == nil || call.argument == argument)
                return isMeant ? ids : []
            }
        }
    }

    private let state = Mutex(State())

    /// Makes room for a perform and gives it its number.
    ///
    /// - Parameters:
    ///   - thread: the name of its thread, for errors.
    ///   - limit: how many may wait.
    func reserve(
        _ target: AnyObject, _ call: Call, thread: String, limit: Int
    ) throws(SubmitError) -> UInt64 {
        let entry = Entry(
            target: ObjectIdentifier(target), call: call, request: target as? TicketedPerform)
        return try state.withLock { state throws(SubmitError) in
            if state.isClosed { throw .stopped(thread: thread) }
            if state.entries.count >= limit { throw .full(thread: thread, limit: limit) }
            return state.insert(entry)
        }
    }

    /// - Returns: false when it was cancelled already.
    func setTimer(_ timer: ThreadRunLoop.Timer, of id: UInt64) -> Bool {
        state.withLock { state in
            guard state.entries[id] != nil else { return false }
            state.entries[id]?.timer = timer
            return true
        }
    }

    /// - Returns: whether it was still there: it is performed by whoever took it.
    func take(_ id: UInt64) -> Bool {
        state.withLock { $0.remove(id) } != nil
    }

    /// - Returns: how many were cancelled.
    func cancel(
        target: ObjectIdentifier, selector: String?, argument: AnySendableHashable?
    ) -> Int {
        let cancelled = state.withLock { state in
            state.ids(target: target, selector: selector, argument: argument)
                .compactMap { state.remove($0) }
        }
        for entry in cancelled { entry.timer?.invalidate() }
        return cancelled.count
    }

    /// Refuses later performs and forgets those that wait; on the worker's thread, at its end.
    ///
    /// - Parameter thread: its name, for errors.
    /// - Returns: how many waited.
    func close(thread: String) -> Int {
        let left = state.withLock { state in
            state.isClosed = true
            defer {
                state.entries = [:]
                state.index = [:]
            }
            return Array(state.entries.values)
        }
        for entry in left {
            entry.timer?.invalidate()
            entry.request?.refuse(.stopped(thread: thread))
        }
        return left.count
    }
}

/// `AnyHashable` that keeps the promise of its value to be Sendable.
struct AnySendableHashable: @unchecked Sendable, Hashable {
    // SAFETY: made from a Sendable value only, and never changed.
    private let value: AnyHashable

    init(_ value: some Hashable & Sendable) {
        self.value = AnyHashable(value)
    }
}
