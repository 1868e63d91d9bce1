// Cocoa's perform-selector family for a worker thread: on the thread, waiting or not, in modes,
// after a delay, and cancelled by target, selector and argument. For the main thread, and others
// that run their loop themselves, it is in MainThread.swift.

public import RunLoops
internal import Kernel

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
    ///   - modes: in which modes of the loop it may be performed; without any it is not. In
    ///     `.default` alone it keeps its order with what is submitted, in others with the blocks of
    ///     the loop.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: `stopped` or `full` when it was refused.
    /// - Thread: any thread.
    /// - Blocks: only if asked to wait.
    /// - Source: performSelector:onThread:withObject:waitUntilDone:modes:.
    public func perform<Target, Argument>(
        _ selector: Selector<Target, Argument>, on target: Target, with argument: Argument,
        waitUntilDone: Bool = false, modes: [ThreadRunLoop.Mode] = [.default],
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        guard !modes.isEmpty else { return }
        let body: @Sendable () -> Void = { selector.body(target, argument) }
        guard waitUntilDone else { return try push(.plain(body), modes, fileID, line) }
        if isCurrent { return body() }
        do {
            try WaitedPerform.result(of: body) { request throws(SubmitError) in
                try push(request, modes, fileID, line)
            }
        } catch let refusal as SubmitError {
            throw refusal
        } catch {
            fatalError("a selector throws nothing: \(error)")
        }
    }

    /// Performs a selector on the thread once a delay has passed.
    ///
    /// - Parameters:
    ///   - selector: what to do.
    ///   - target: what to do it to; kept alive until it is done or cancelled.
    ///   - argument: what to do it with.
    ///   - delay: from now, by the clock of the thread's loop.
    ///   - modes: in which modes of the loop it may be performed; without any it is not.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: `stopped` when the thread was asked to stop; `full` when as many performs wait for
    ///   their delay as the thread may hold items (`maxQueued`).
    /// - Thread: any thread.
    /// - Blocks: never.
    /// - Source: performSelector:withObject:afterDelay:inModes:.
    public func perform<Target, Argument>(
        _ selector: Selector<Target, Argument>, on target: Target, with argument: Argument,
        afterDelay delay: Duration, modes: [ThreadRunLoop.Mode] = [.default],
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        let due = runLoop.now.advanced(by: delay)
        try runLoop.performLater(
            selector, on: target, with: argument, after: delay, modes: modes, thread: name,
            limit: queue.limit, posted: runLoop.note(fileID, line, due: due),
            isStopped: { isStopped })
    }

    /// Cancels performs that wait for their delay to pass.
    ///
    /// A cancelled perform never runs; one that began before is not touched.
    ///
    /// - Parameters:
    ///   - target: whose.
    ///   - selector: only those of this name; nil for all of the target.
    ///   - argument: only those with an equal argument; nil for any.
    /// - Returns: how many were cancelled.
    /// - Thread: any thread.
    /// - Blocks: never.
    /// - Complexity: O(1) in the performs of other targets; naming selector and argument, in what
    ///   else waits for the target too.
    /// - Source: cancelPreviousPerformRequestsWithTarget:selector:object:.
    @discardableResult
    public func cancelPreviousPerforms(
        target: AnyObject, selector: String? = nil, argument: (any Hashable & Sendable)? = nil
    ) -> Int {
        runLoop.cancelPreviousPerforms(target: target, selector: selector, argument: argument)
    }

    private func push(
        _ request: PerformRequest, _ modes: [ThreadRunLoop.Mode], _ fileID: StaticString,
        _ line: UInt
    ) throws(SubmitError) {
        if modes == [.default] { return try push(request, .normal, fileID, line) }
        guard !isStopped else { throw .stopped(thread: name) }
        let id = try core.modeRequests.add(request, thread: name, limit: queue.limit)
        // Performs of the default mode are finished while draining, as the queue's are.
        let isDrained = modes.contains(.default) || modes.contains(.common)
        runLoop.performUnlessPostponed(
            inModes: isDrained ? modes + [.draining] : modes,
            { [core] in core.modeRequests.take(id)?.perform() },
            fileID: fileID, line: line)
    }
}
