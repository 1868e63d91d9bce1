// Cocoa's perform-selector family for a worker thread: on the thread, waiting or not, in modes,
// after a delay, and cancelled by target, selector and argument. For the main thread, and others
// that run their loop themselves, it is in MainThread.swift.

public import RunLoops
internal import Kernel
internal import Synchronization

/// A method by name: what to do with a target and an argument, and what it is called.
///
/// The name is what tells selectors apart when performs are cancelled.
public struct Selector<Target: AnyObject & Sendable, Argument: Hashable & Sendable>: Sendable {
    /// Its name.
    public let name: String
    let body: @Sendable (Target, Argument) -> Void

    /// A selector.
    ///
    /// - Parameters:
    ///   - name: tells it from others of the same target.
    ///   - body: what it does, on the thread that performs it.
    public init(_ name: String, body: @escaping @Sendable (Target, Argument) -> Void) {
        self.name = name
        self.body = body
    }
}

extension WorkerThread {
    /// Performs a selector on the thread.
    ///
    /// On the thread itself, waiting means at once, in place.
    ///
    /// - Parameters:
    ///   - selector: what to do.
    ///   - target: what to do it to; kept alive until it is done.
    ///   - argument: what to do it with.
    ///   - waitUntilDone: whether to block the caller until it has been performed.
    ///   - modes: in which modes of the loop it may be performed.
    /// - Throws: `stopped` or `full` when it was refused.
    /// - Thread: any thread.
    /// - Blocks: only if asked to wait.
    /// - Source: performSelector:onThread:withObject:waitUntilDone:modes:.
    public func perform<Target, Argument>(
        _ selector: Selector<Target, Argument>, on target: Target, with argument: Argument,
        waitUntilDone: Bool = false, modes: [ThreadRunLoop.Mode] = [.default]
    ) throws(SubmitError) {
        let body: @Sendable () -> Void = { selector.body(target, argument) }
        if waitUntilDone && isCurrent { return body() }
        let answer = Answer<SubmitError?>()
        let request: PerformRequest =
            waitUntilDone
            ? .answered(
                AnsweredPerform(
                    body: {
                        body()
                        answer.give(nil)
                    }, refuse: { answer.give($0) }))
            : .plain(body)
        try push(request, modes: modes)
        if waitUntilDone, let refusal = answer.wait() { throw refusal }
    }

    /// Performs a selector on the thread once a delay has passed.
    ///
    /// - Parameters:
    ///   - selector: what to do.
    ///   - target: what to do it to; kept alive until it is done or cancelled.
    ///   - argument: what to do it with.
    ///   - delay: from now, by the clock of the thread's loop.
    ///   - modes: in which modes of the loop it may be performed.
    /// - Throws: `stopped` when the thread was asked to stop.
    /// - Thread: any thread.
    /// - Blocks: never.
    /// - Source: performSelector:withObject:afterDelay:inModes:.
    public func perform<Target, Argument>(
        _ selector: Selector<Target, Argument>, on target: Target, with argument: Argument,
        afterDelay delay: Duration, modes: [ThreadRunLoop.Mode] = [.default]
    ) throws(SubmitError) {
        guard !isStopped else { throw .stopped(thread: name) }
        let delayed = core.delayed
        let key = DelayedPerforms.Key(
            target: ObjectIdentifier(target), selector: selector.name,
            argument: AnySendableHashable(argument))
        guard let id = delayed.reserve(key) else { throw .stopped(thread: name) }
        let timer = ThreadRunLoop.Timer(at: runLoop.now.advanced(by: delay)) { _ in
            if delayed.take(id) { selector.body(target, argument) }
        }
        // Cancelled in between: then it is never added.
        guard delayed.setTimer(timer, of: id) else { return }
        for mode in modes { runLoop.add(timer, to: mode) }
    }

    /// Cancels performs that wait for their delay to pass.
    ///
    /// What is cancelled by this is never performed; what began before is not touched.
    ///
    /// - Parameters:
    ///   - target: whose.
    ///   - selector: only those of this name; nil for all of the target.
    ///   - argument: only those with an equal argument; nil for any.
    /// - Returns: how many were cancelled.
    /// - Thread: any thread.
    /// - Blocks: never.
    /// - Source: cancelPreviousPerformRequestsWithTarget:selector:object:.
    @discardableResult
    public func cancelPreviousPerforms(
        target: AnyObject, selector: String? = nil, argument: (any Hashable & Sendable)? = nil
    ) -> Int {
        core.delayed.cancel(
            target: ObjectIdentifier(target), selector: selector,
            argument: argument.map { AnySendableHashable($0) })
    }

    private func push(
        _ request: PerformRequest, modes: [ThreadRunLoop.Mode]
    ) throws(SubmitError) {
        if modes == [.default] { return try push(request) }
        guard !isStopped else { throw .stopped(thread: name) }
        let held = core.held
        let id = try held.add(request)
        // What was to run in the default mode is finished while draining, as the queue's is.
        let isDrained = modes.contains(.default) || modes.contains(.common)
        runLoop.perform(inModes: isDrained ? modes + [.draining] : modes) {
            held.take(id)?.perform()
        }
    }
}

/// The performs that wait for their delay, by number.
///
/// A lock decides between the timer that fires and the cancel that comes at the same moment:
/// whoever takes the entry has won.
final class DelayedPerforms: Sendable {
    struct Key: Sendable {
        let target: ObjectIdentifier
        let selector: String
        let argument: AnySendableHashable
    }

    private struct Entry {
        let key: Key
        var timer: ThreadRunLoop.Timer?
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var nextID: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    /// - Returns: nil when the thread has ended.
    func reserve(_ key: Key) -> UInt64? {
        state.withLock { state in
            if state.isClosed { return nil }
            state.nextID += 1
            state.entries[state.nextID] = Entry(key: key)
            return state.nextID
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
        state.withLock { $0.entries.removeValue(forKey: id) != nil }
    }

    func cancel(target: ObjectIdentifier, selector: String?, argument: AnySendableHashable?) -> Int
    {
        let cancelled = state.withLock { state in
            let matching = state.entries.filter { _, entry in
                entry.key.target == target
                    && (selector == nil || entry.key.selector == selector)
                    && (argument == nil || entry.key.argument == argument)
            }
            for id in matching.keys { state.entries[id] = nil }
            return matching.values.map(\.timer)
        }
        for timer in cancelled { timer?.invalidate() }
        return cancelled.count
    }

    /// Refuses later performs and forgets those that wait; on the worker's thread, at its end.
    ///
    /// - Returns: how many waited.
    func close() -> Int {
        let left = state.withLock { state in
            state.isClosed = true
            defer { state.entries = [:] }
            return state.entries.values.map(\.timer)
        }
        for timer in left { timer?.invalidate() }
        return left.count
    }
}

/// `AnyHashable` that keeps the promise of its value to be Sendable.
struct AnySendableHashable: @unchecked Sendable, Equatable {
    // SAFETY: made from a Sendable value only, and never changed.
    private let value: AnyHashable

    init(_ value: some Hashable & Sendable) {
        self.value = AnyHashable(value)
    }
}
