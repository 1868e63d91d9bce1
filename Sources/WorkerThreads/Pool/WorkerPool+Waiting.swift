// Handing a closure to a pool and waiting in place until one of its threads has run it.

internal import RunLoops

extension WorkerPool {
    /// Runs a closure on a thread of the pool and waits until it has run.
    ///
    /// On a thread of the pool that may take it, it runs at once, in place, as on a `WorkerThread`.
    /// Two members that each wait for the other one by its name wait for ever. What has a key is
    /// waited for with `submit`, and `await`.
    ///
    /// - Parameters:
    ///   - name: the pool's name or nil for any member, or the name of one member.
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws; `SubmitError` when it was refused or its thread stopped.
    /// - Thread: any thread.
    /// - Blocks: until the closure has run.
    public func submitAndWait<Result: Sendable>(
        onThread name: String? = nil, priority: SubmitPriority = .normal,
        _ body: sending @escaping () throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws -> Result {
        let queue = try queue(of: name)
        if isCurrentAmongThose(of: queue) { return try body() }
        return try WaitedPerform.result(of: body) { request throws(SubmitError) in
            // Where there is no room yet, it waits for that as for its turn.
            let (_, member) = try enqueue(
                note(request, fileID, line), to: queue, priority, nil, placed: { _ in })
            if let member { parts[member].wake() }
        }
    }

    /// Whether the caller runs on a thread that takes from a queue.
    private func isCurrentAmongThose(of queue: PoolQueue) -> Bool {
        switch queue {
        case .own(let member): members[member].isCurrent
        case .shared: members.contains { $0.isCurrent }
        }
    }
}
