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
    /// On the thread itself, waiting means at once, in place; not waiting, in its next pass. All that
    /// one thread asks for is performed in order.
    ///
    /// - Parameters:
    ///   - selector: what to do.
    ///   - target: what to do it to; kept alive until it is done.
    ///   - argument: what to do it with.
    ///   - waitUntilDone: whether to block the caller until it has been performed.
    ///   - modes: in which modes of the loop it may be performed.
    /// - Throws: `stopped` when the loop's thread has ended, also while the caller waits.
    /// - Thread: any thread.
    /// - Blocks: only if asked to wait; then until the thread runs its loop in one of the modes.
    /// - Source: performSelectorOnMainThread:withObject:waitUntilDone:modes:.
    public func perform<Target, Argument>(
        _ selector: Selector<Target, Argument>, on target: Target, with argument: Argument,
        waitUntilDone: Bool = false, modes: [ThreadRunLoop.Mode] = [.common]
    ) throws(SubmitError) {
        let body: @Sendable () -> Void = { selector.body(target, argument) }
        let isTaken =
            waitUntilDone
            ? performAndWait(inModes: modes, body) : perform(inModes: modes, body)
        guard isTaken else { throw .stopped(thread: isMain ? "main" : "of this run loop") }
    }
}
