// Requests of other threads to a loop, and blocks: closures that run once in a pass in their mode.

internal import Kernel
internal import Structures

extension ThreadRunLoop {
    /// A request from another thread.
    enum Request {
        /// Run this in a pass in one of its modes.
        case block(Block)
        /// Do this on the loop's thread, whatever the mode: a change to the loop's items.
        case action(@Sendable () -> Void)
    }

    /// A closure and the modes in which it may run.
    struct Block {
        let modes: [Mode]
        let body: @Sendable () -> Void
        /// Where it was handed over from, while the loop is measured.
        let posted: Posted?
        /// Whether it waits while the loop's owner postpones the thread's requests.
        let mayBePostponed: Bool
    }

    /// Runs a closure on the loop's thread, in its next pass in one of the modes.
    ///
    /// Closures run in the order of arrival, after before-sources and again after the sources. The
    /// loop is woken, where CFRunLoopPerformBlock leaves that to its caller.
    ///
    /// - Parameters:
    ///   - modes: where it may run, at least one; `.common` stands for all common modes.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the loop is measured.
    ///   - line: the caller's line.
    /// - Returns: false when the closure will never run: the loop's thread has ended, or there is
    ///   no mode.
    /// - Thread: any thread.
    /// - Blocks: never.
    @discardableResult
    public func perform(
        inModes modes: [Mode] = [.default], _ body: @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        perform(inModes: modes, mayBePostponed: false, body, fileID, line)
    }

    /// Runs a closure as `perform` does, but not while the loop's owner postpones the thread's
    /// requests.
    @discardableResult
    package func performUnlessPostponed(
        inModes modes: [Mode], _ body: @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        perform(inModes: modes, mayBePostponed: true, body, fileID, line)
    }

    private func perform(
        inModes modes: [Mode], mayBePostponed: Bool, _ body: @escaping @Sendable () -> Void,
        _ fileID: StaticString, _ line: UInt
    ) -> Bool {
        guard
            enqueue(
                inModes: modes, mayBePostponed: mayBePostponed, body, fileID: fileID, line: line)
        else { return false }
        if !runsInThisPass(modes) { poller.wake() }
        return true
    }

    /// Whether the pass that is under way runs such blocks before it ends, so that a wake-up would
    /// only cost one more pass.
    private func runsInThisPass(_ modes: [Mode]) -> Bool {
        guard isOnThread, runsBlocksNext, let mode = innermostMode else { return false }
        return isIn(modes, mode)
    }

    /// Queues a closure as `perform` does, without waking the loop.
    ///
    /// - Source: CFRunLoopPerformBlock.
    package func enqueue(
        inModes modes: [Mode], mayBePostponed: Bool = false, _ body: @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        guard !modes.isEmpty else { return false }
        let block = Block(
            modes: modes, body: body, posted: note(fileID, line), mayBePostponed: mayBePostponed)
        return requests.push(.block(block)) != .closed
    }

    /// Does what other threads asked for, and sorts their blocks in behind those that wait.
    @inline(__always)
    func takeRequests() {
        if madeRequests.isSet { takeMadeRequests() }
    }

    private func takeMadeRequests() {
        let requests = requests
        let end = requests.end
        while !requests.isTaken(upTo: end) {
            guard let request = requests.popFirst() else {
                // A run nested in an action may have taken them all.
                if !requests.isEmpty { comeBackForRequests() }
                return
            }
            switch request {
            case .block(let block):
                pendingBlocks.append(block)
                hasPendingBlocks = true
            case .action(let action): calling(.change) { action() }
            }
        }
    }

    /// Makes another pass soon: the next request is being written, and who wrote those behind it
    /// has woken the loop already.
    private func comeBackForRequests() {
        SystemThread.yield()
        poller.wake()
    }

    /// Runs the blocks of a mode that have arrived; those which they queue run later.
    ///
    /// Whether a block may run is asked when its turn comes: one before it may have made the mode
    /// common.
    @inline(__always)
    func runBlocks(of state: ModeState) {
        runsBlocksNext = false
        takeRequests()
        if hasPendingBlocks { runPendingBlocks(of: state) }
    }

    /// The most blocks for which the list's memory is kept.
    private static let keptBlockCount = 1_024

    private func runPendingBlocks(of state: ModeState) {
        for block in pendingBlocks { dueBlocks.append(block) }
        pendingBlocks.removeAll(keepingCapacity: pendingBlocks.count <= Self.keptBlockCount)
        // Once one was postponed those behind it wait as well, even if one in between lets the
        // thread go on.
        var isPostponing = false
        while let block = dueBlocks.popFirst() {
            guard isIn(block.modes, state.mode) else {
                pendingBlocks.append(block)
                continue
            }
            if block.mayBePostponed && (isPostponing || postponesRequests) {
                isPostponing = true
                pendingBlocks.append(block)
                continue
            }
            let posted = block.posted
            var body = Optional((consume block).body)
            // Let go of in the call: the end of what it holds is part of what the block does.
            calling(.block, posted) { body.take().map(Callout.runBlock) }
            counts.blocks.increment()
        }
        hasPendingBlocks = !pendingBlocks.isEmpty
    }

    /// Puts back the blocks that an outer run has not come to: the nested run that now begins may
    /// be waiting for one of them.
    ///
    /// Blocks that wait already have had their turn in the outer run, so they arrived before these.
    func returnDueBlocks() {
        guard hasPendingBlocks else { return }
        while let block = dueBlocks.popFirst() { pendingBlocks.append(block) }
    }

    /// Whether a block waits for a run in this mode.
    func hasBlocks(for state: ModeState) -> Bool {
        takeRequests()
        return hasPendingBlocks && pendingBlocks.contains { isIn($0.modes, state.mode) }
    }

    /// Whether the loop's owner postpones the thread's requests, in the run under way.
    ///
    /// - Thread: the loop's own thread.
    package var postponesRequests: Bool {
        guard let owner, let mode = innermostMode else { return false }
        return owner.postponesRequests(in: mode)
    }

    private func isIn(_ modes: [Mode], _ mode: Mode) -> Bool {
        modes.contains(mode) || (modes.contains(.common) && commonModes.contains(mode))
    }
}
