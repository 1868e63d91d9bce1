// The performs that wait for their delay, found by number when their timer fires and by target,
// selector and argument when they are cancelled. What they do is their timer's to know.

internal import RunLoops
internal import Synchronization

/// The performs of one loop that wait for their delay; there once something has waited.
///
/// A lock decides between the timer that fires and the cancel that comes at the same moment:
/// the one that takes the entry has won.
final class DelayedPerforms: Sendable {
    /// A method and its argument, performed on a target.
    struct Call: Sendable {
        let name: Name
        let argument: AnySendableHashable

        init(selector: String, argument: AnySendableHashable) {
            name = Name(selector: selector, argumentHash: argument.hashValue)
            self.argument = argument
        }
    }

    /// The key by which a call is found under the lock.
    ///
    /// Of the argument only its hash: how it is hashed and compared is code of its own, which may
    /// take locks, or ask for performs, and so has its turn without the lock.
    struct Name: Sendable, Hashable {
        let selector: String
        let argumentHash: Int
    }

    struct Entry {
        let target: ObjectIdentifier
        let call: Call
        /// The request that a ticket names: it holds its closure until it is told that it never
        /// runs.
        let request: TicketedPerform?
        var timer: ThreadRunLoop.Timer?
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        /// The numbers of all entries once more, so that a cancel looks at its own only.
        var index: [ObjectIdentifier: [Name: Set<UInt64>]] = [:]
        var nextID: UInt64 = 0
        var isClosed = false

        mutating func insert(_ entry: Entry) -> UInt64 {
            nextID += 1
            entries[nextID] = entry
            index[entry.target, default: [:]][entry.call.name, default: []].insert(nextID)
            return nextID
        }

        mutating func remove(_ id: UInt64) -> Entry? {
            guard let entry = entries.removeValue(forKey: id) else { return nil }
            let (target, name) = (entry.target, entry.call.name)
            index[target]?[name]?.remove(id)
            if index[target]?[name]?.isEmpty == true { index[target]?[name] = nil }
            if index[target]?.isEmpty == true { index[target] = nil }
            return entry
        }

        func ids(
            target: ObjectIdentifier, selector: String?, argumentHash: Int?
        ) -> [UInt64] {
            guard let names = index[target] else { return [] }
            if let selector, let argumentHash {
                return Array(names[Name(selector: selector, argumentHash: argumentHash)] ?? [])
            }
            return names.flatMap { name, ids -> Set<UInt64> in
                let isMeant =
                    (selector == nil || name.selector == selector)
                    && (argumentHash == nil || name.argumentHash == argumentHash)
                return isMeant ? ids : []
            }
        }
    }

    /// How many have come due and were postponed since (`DelayedPerforms+Loop.swift`); changed on
    /// the loop's thread only.
    ///
    /// Publishes nothing.
    let postponedCount = Atomic<Int>(0)

    private let state = Mutex(State())

    /// Stands for those of a thread that has ended without any: it takes none.
    static let closed = {
        let closed = DelayedPerforms()
        _ = closed.close(thread: "")
        return closed
    }()

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

    /// - Returns: whether it was still there: the caller that takes it performs it.
    func take(_ id: UInt64) -> Bool {
        state.withLock { $0.remove(id) } != nil
    }

    /// - Returns: how many were cancelled.
    func cancel(
        target: ObjectIdentifier, selector: String?, argument: AnySendableHashable?
    ) -> Int {
        let hash = argument?.hashValue
        let found = state.withLock { state in
            state.ids(target: target, selector: selector, argumentHash: hash)
                .map { id in (id: id, argument: state.entries[id]?.call.argument) }
        }
        // Without the lock, as `Name` says. A perform that runs meanwhile is not found any more.
        let meant = argument == nil ? found : found.filter { $0.argument == argument }
        let cancelled = state.withLock { state in meant.compactMap { state.remove($0.id) } }
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
