// Cocoa's performSelectorOnMainThread: a selector performed on the main thread, or on any other
// thread that runs its loop without being a worker. For workers it is in Selector.swift.

public import RunLoops

extension ThreadRunLoop {
    /// Performs a selector on the loop's thread; on `ThreadRunLoop.main`, on the main thread.
    ///
    /// ```swift
    /// try ThreadRunLoop.main.perform(show, on: window, with: picture, waitUntilDone: true)
    /// ```
    ///
    /// On the thread itself, waiting means at once, in place; not waiting, in its next pass. All
    /// that one thread asks for is performed in order.
    ///
    /// - Parameters:
    ///   - selector: what to do.
    ///   - target: what to do it to; kept alive until it is done.
    ///   - argument: what to do it with.
    ///   - waitUntilDone: whether to block the caller until it has been performed.
    ///   - modes: in which modes of the loop it may be performed; without any it is not.
    ///   - fileID: the caller's file, noted while the loop is measured.
    ///   - line: the caller's line.
    /// - Throws: `stopped` when the loop's thread has ended, also while the caller waits.
    /// - Thread: any thread.
    /// - Blocks: only if asked to wait; then until the thread runs its loop in one of the modes.
    /// - Source: performSelectorOnMainThread:withObject:waitUntilDone:modes:.
    public func perform<Target, Argument>(
        _ selector: Selector<Target, Argument>, on target: Target, with argument: Argument,
        waitUntilDone: Bool = false, modes: [ThreadRunLoop.Mode] = [.common],
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        guard !modes.isEmpty else { return }
        let body: @Sendable () -> Void = { selector.body(target, argument) }
        let isTaken =
            waitUntilDone
            ? performAndWait(inModes: modes, body, fileID: fileID, line: line)
            : perform(inModes: modes, body, fileID: fileID, line: line)
        guard isTaken else { throw .stopped(thread: threadName) }
    }

    /// Performs a selector on the loop's thread once a delay has passed.
    ///
    /// ```swift
    /// try ThreadRunLoop.current.perform(save, on: document, with: 1, afterDelay: .seconds(2))
    /// ```
    ///
    /// - Parameters:
    ///   - selector: what to do.
    ///   - target: what to do it to; kept alive until it is done or cancelled, or the loop ends
    ///     with its thread: then it is not done.
    ///   - argument: what to do it with; kept as long as the target.
    ///   - delay: from now, by the loop's clock.
    ///   - modes: in which modes of the loop it may be performed; without any it is not.
    ///   - fileID: the caller's file, noted while the loop is measured.
    ///   - line: the caller's line.
    /// - Throws: `stopped` when the loop's thread has ended.
    /// - Thread: any thread.
    /// - Blocks: never.
    /// - Source: performSelector:withObject:afterDelay:inModes:.
    public func perform<Target, Argument>(
        _ selector: Selector<Target, Argument>, on target: Target, with argument: Argument,
        afterDelay delay: Duration, modes: [ThreadRunLoop.Mode] = [.default],
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        let due = now.advanced(by: delay)
        try performLater(
            selector, on: target, with: argument, after: delay, modes: modes, thread: threadName,
            limit: .max, posted: note(fileID, line, due: due), isStopped: { hasEnded })
    }

    /// Cancels performs that wait for their delay to pass; a worker's, too, if this is its loop.
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
        delayedPerforms?.cancel(
            target: ObjectIdentifier(target), selector: selector,
            argument: argument.map { AnySendableHashable($0) }) ?? 0
    }

    /// The thread's name in errors.
    var threadName: String { isMain ? "main" : "of this run loop" }
}
