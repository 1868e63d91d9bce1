// Handing closures to a worker thread: without waiting, to be taken back, with a result, or waiting
// in place.

internal import RunLoops
internal import Synchronization

extension WorkerThread {
    /// Names an enqueued closure while it waits.
    public struct Ticket: Sendable {
        let thread: ObjectIdentifier
        let request: TicketedPerform
        /// Whether it waits for a delay, and not in the queue.
        var isDelayed = false
    }

    /// Runs a closure on the thread, after everything that was submitted before.
    ///
    /// In an asynchronous function the other `submit` is meant, which waits for the closure's result;
    /// `enqueue` waits for nothing there. In the top-level code of a program it is the other way
    /// round: say the result's type to get it, `let sum: Int = try await worker.submit { 1 + 1 }`.
    ///
    /// - Throws: `stopped` once the thread was asked to stop, `full` at its limit. Nothing else; and
    ///   a closure that was taken runs, unless the thread is stopped with `.finishCurrent` first.
    /// - Thread: any thread; what one thread submits keeps its order.
    /// - Blocks: never; a system call only if the thread sleeps.
    public func submit(
        _ body: consuming @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        try queue.push(.plain(consume body), fileID, line)
    }

    /// Runs a closure on the thread as `submit` does, unless it is cancelled first.
    ///
    /// - Returns: a ticket for `cancel`.
    /// - Throws: `stopped` or `full`.
    /// - Thread: any thread, also a task; what one thread submits keeps its order.
    /// - Blocks: never; a system call only if the thread sleeps.
    @discardableResult
    public func enqueue(
        _ body: @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) -> Ticket {
        let request = TicketedPerform(body)
        try push(.answered(request), fileID, line)
        return Ticket(thread: ObjectIdentifier(core), request: request)
    }

    /// Runs a closure on the thread once a delay has passed, unless it is cancelled first.
    ///
    /// What a delayed perform is to a method: it runs in mode `default`, by a timer of the thread's
    /// loop; one whose delay has not passed when the thread is stopped never runs, and is counted by
    /// `abandonedCount`.
    ///
    /// ```swift
    /// let ticket = try worker.enqueue(after: .seconds(30)) { print("still nothing") }
    /// worker.cancel(ticket)
    /// ```
    ///
    /// - Parameters:
    ///   - delay: from now, by the clock of the thread's loop.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Returns: a ticket for `cancel`.
    /// - Throws: `stopped`; `full` when as many closures and performs wait for their delay as the
    ///   thread may hold items (`maxQueued`).
    /// - Thread: any thread, also a task.
    /// - Blocks: never.
    @discardableResult
    public func enqueue(
        after delay: Duration, _ body: @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) -> Ticket {
        let request = TicketedPerform(body)
        try perform(
            TicketedPerform.performed, on: request, afterDelay: delay, fileID: fileID, line: line)
        return Ticket(thread: ObjectIdentifier(core), request: request, isDelayed: true)
    }

    /// Takes a closure back, if it has not begun.
    ///
    /// Its place in the queue counts for `maxQueued` until its turn would have come; that of one which
    /// waits for its delay is free at once.
    ///
    /// - Returns: whether that was so: then it never runs. False for another thread's ticket.
    /// - Thread: any thread.
    /// - Blocks: never.
    @discardableResult
    public func cancel(_ ticket: Ticket) -> Bool {
        guard ticket.thread == ObjectIdentifier(core) else { return false }
        // Its timer, this, or the thread's end: whoever takes it out of what waits has won.
        if ticket.isDelayed && cancelPreviousPerforms(target: ticket.request) == 0 { return false }
        return ticket.request.cancel()
    }

    /// Runs a closure on the thread and returns what it returns.
    ///
    /// Cancelling the task takes the closure back if it has not begun: this throws at once, and the
    /// closure never runs. One that has begun runs to its end, and its result is returned. Its place
    /// in the queue counts for `maxQueued` until its turn would have come.
    ///
    /// - Throws: what the closure throws; `SubmitError` when it was refused or the thread was
    ///   stopped before its turn came; `CancellationError` when the task was cancelled before.
    /// - Thread: any task; the closure is queued without a hop from wherever the task runs.
    /// - Blocks: no thread; the task is suspended.
    @inlinable
    public nonisolated(nonsending) func submit<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        try await AwaitedPerform.result(of: body) { request throws(SubmitError) in
            try push(request, fileID, line)
        }
    }

    /// Runs a closure on the thread and waits until it has run; on the thread itself, at once.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws; `SubmitError` when it was refused.
    /// - Thread: any thread.
    /// - Blocks: until the closure has run.
    /// - Source: performSelector:onThread:withObject:waitUntilDone:, whose rules these are.
    @inlinable
    public func submitAndWait<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws -> Result {
        if isCurrent { return try body() }
        return try WaitedPerform.result(of: body) { request throws(SubmitError) in
            try push(request, fileID, line)
        }
    }

    @usableFromInline
    func push(
        _ request: consuming PerformRequest, _ fileID: StaticString, _ line: UInt
    ) throws(SubmitError) {
        try queue.push(consume request, fileID, line)
    }
}
