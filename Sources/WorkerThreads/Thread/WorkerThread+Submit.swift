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

    /// Queues a closure for the thread and returns without waiting for it.
    ///
    /// Closures run one after another; those of one priority in the order in which they were posted
    /// or submitted. A closure that was taken runs, unless the thread is stopped with
    /// `.finishCurrent` before its turn. For its result use `submit`, which tasks await, or
    /// `submitAndWait`, which blocks.
    ///
    /// The closure may capture objects that are not `Sendable`, if the caller uses them no more.
    ///
    /// - Parameters:
    ///   - priority: high before normal before low. Closures of normal priority are queued without
    ///     a lock, the others with one.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: `stopped` once the thread was asked to stop, `full` at its limit.
    /// - Thread: any thread; closures that one thread posts keep their order.
    /// - Blocks: only if the queue is full and the worker was made with `whenFull: .wait`: then the
    ///   calling thread waits for room, except on the worker itself, which gets `full`. It makes a
    ///   system call only if the worker sleeps.
    public func post(
        priority: SubmitPriority = .normal,
        _ body: consuming sending @escaping () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        try queue.push(.plain(consume body), priority, fileID, line)
    }

    /// Queues a closure as `post` does, and returns a ticket with which it can be cancelled.
    ///
    /// - Parameters:
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Returns: a ticket for `cancel`.
    /// - Throws: `stopped` or `full`.
    /// - Thread: any thread, also a task; closures that one thread queues keep their order.
    /// - Blocks: as `post` does.
    @discardableResult
    public func enqueue(
        priority: SubmitPriority = .normal,
        _ body: sending @escaping () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) -> Ticket {
        let request = TicketedPerform(body)
        try push(.answered(request), priority, fileID, line)
        return Ticket(thread: ObjectIdentifier(core), request: request)
    }

    /// Runs a closure on the thread once a delay has passed, unless it is cancelled first.
    ///
    /// The counterpart of a delayed perform for a closure: it runs in mode `default`, by a timer of
    /// the thread's loop; one whose delay has not passed when the thread is stopped never runs, and
    /// is counted by `abandonedCount`.
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
        after delay: Duration, _ body: sending @escaping () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) -> Ticket {
        let request = TicketedPerform(body)
        try perform(
            TicketedPerform.performed, on: request, afterDelay: delay, fileID: fileID, line: line)
        return Ticket(thread: ObjectIdentifier(core), request: request, isDelayed: true)
    }

    /// Takes a closure back, if it has not begun.
    ///
    /// Its place in the queue counts for `maxQueued` until its turn would have come; that of one
    /// which waits for its delay is free at once.
    ///
    /// - Returns: whether that was so: then it never runs. False for another thread's ticket.
    /// - Thread: any thread.
    /// - Blocks: never.
    @discardableResult
    public func cancel(_ ticket: Ticket) -> Bool {
        guard ticket.thread == ObjectIdentifier(core) else { return false }
        // Its timer, this, or the thread's end: the one that takes it out of the waiting performs
        // has won.
        if ticket.isDelayed && cancelPreviousPerforms(target: ticket.request) == 0 { return false }
        return ticket.request.cancel()
    }

    /// Runs a closure on the thread and returns its result.
    ///
    /// ```swift
    /// let answer = try await worker.submit { 6 * 7 }
    /// ```
    ///
    /// If the task is cancelled before the closure's turn, this throws at once and the closure
    /// never runs. A closure that has begun runs to its end, and its result is returned. The place
    /// of a cancelled closure in the queue counts for `maxQueued` until its turn would have come.
    ///
    /// The closure may capture objects that are not `Sendable`, if the caller uses them no more.
    ///
    /// - Parameters:
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: what the closure throws; `SubmitError` when it was refused or the thread was
    ///   stopped before its turn came; `CancellationError` when the task was cancelled before.
    /// - Thread: any task; the closure is queued without a hop from wherever the task runs.
    /// - Blocks: no thread; the task is suspended until the closure has run. With `whenFull: .wait`
    ///   it is suspended for room in the queue as well.
    @inlinable
    public nonisolated(nonsending) func submit<Result: Sendable>(
        priority: SubmitPriority = .normal,
        _ body: sending @escaping () throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        try await AwaitedPerform.result(of: body) { request throws(SubmitError) in
            try push(request, priority, fileID, line)
        }
    }

    /// Runs a closure on the thread and returns a fresh object that it made.
    ///
    /// As the `submit` for `Sendable` results. The result may be of any type, if the closure keeps
    /// no reference to it: the compiler checks that.
    ///
    /// - Parameters:
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: what the closure throws; `SubmitError`; `CancellationError`.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended until the closure has run.
    @inlinable
    public nonisolated(nonsending) func submit<Result>(
        priority: SubmitPriority = .normal,
        _ body: sending @escaping () throws -> sending Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> sending Result {
        try await AwaitedPerform.result(of: body) { request throws(SubmitError) in
            try push(request, priority, fileID, line)
        }
    }

    /// Runs a closure on the thread and blocks until it has run; on the thread itself, at once.
    ///
    /// - Parameters:
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Returns: the closure's result.
    /// - Throws: what the closure throws; `SubmitError` when it was refused.
    /// - Thread: any thread.
    /// - Blocks: until the closure has run.
    /// - Source: performSelector:onThread:withObject:waitUntilDone:, whose rules these are.
    @inlinable
    public func submitAndWait<Result: Sendable>(
        priority: SubmitPriority = .normal,
        _ body: sending @escaping () throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws -> Result {
        if isCurrent { return try body() }
        return try WaitedPerform.result(of: body) { request throws(SubmitError) in
            try push(request, priority, fileID, line)
        }
    }

    /// Runs a closure on the thread, blocks until it has run, and returns a fresh object that it
    /// made.
    ///
    /// - Parameters:
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Returns: the closure's result, to which the closure keeps no reference.
    /// - Throws: what the closure throws; `SubmitError` when it was refused.
    /// - Thread: any thread.
    /// - Blocks: until the closure has run.
    @inlinable
    public func submitAndWait<Result>(
        priority: SubmitPriority = .normal,
        _ body: sending @escaping () throws -> sending Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws -> sending Result {
        if isCurrent { return try body() }
        return try WaitedPerform.result(of: body) { request throws(SubmitError) in
            try push(request, priority, fileID, line)
        }
    }

    @usableFromInline
    func push(
        _ request: consuming PerformRequest, _ priority: SubmitPriority,
        _ fileID: StaticString, _ line: UInt
    ) throws(SubmitError) {
        try queue.push(consume request, priority, fileID, line)
    }
}
