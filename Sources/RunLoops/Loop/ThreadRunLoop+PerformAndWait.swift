// A block whose sender waits until it has run, or until it is certain that it never will.

internal import Kernel
internal import Synchronization

extension ThreadRunLoop {
    /// Runs a closure on the loop's thread and waits until it has run; there itself, at once.
    ///
    /// - Parameters:
    ///   - modes: where it may run; `.common` stands for all common modes. Without any it does not
    ///     run.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the loop is measured.
    ///   - line: the caller's line.
    /// - Returns: false when the closure never runs: the loop's thread has ended first, or there is
    ///   no mode.
    /// - Thread: any thread.
    /// - Blocks: until a run in one of the modes has come to it, which may be never.
    /// - Source: performSelector:onThread:withObject:waitUntilDone:modes:, whose rules these are.
    @discardableResult
    public func performAndWait(
        inModes modes: [Mode] = [.default], _ body: @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        guard !modes.isEmpty else { return false }
        if isOnThread {
            body()
            return true
        }
        let outcome = PerformOutcome()
        send(BlockTicket(outcome), inModes: modes, body, fileID, line)
        outcome.settled.wait()
        return outcome.hasRun.load(ordering: .acquiring)
    }

    /// Leaves the ticket with the block alone, so that it goes when the block goes.
    private func send(
        _ ticket: consuming BlockTicket, inModes modes: [Mode],
        _ body: @escaping @Sendable () -> Void, _ fileID: StaticString, _ line: UInt
    ) {
        perform(
            inModes: modes,
            { [ticket] in
                body()
                ticket.outcome.hasRun.store(true, ordering: .releasing)
                ticket.outcome.settled.open()
            }, fileID: fileID, line: line)
    }
}

/// The outcome of a block that a thread waits for.
private final class PerformOutcome: Sendable {
    /// Opens when the block has run, or was dropped.
    let settled = WordLatch()
    let hasRun = Atomic<Bool>(false)
}

/// Held by a block alone, and gone with it: a block that is dropped tells so.
private final class BlockTicket: Sendable {
    let outcome: PerformOutcome

    init(_ outcome: PerformOutcome) { self.outcome = outcome }

    deinit { outcome.settled.open() }
}
