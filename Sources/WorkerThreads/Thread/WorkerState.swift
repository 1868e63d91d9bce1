// A value that a worker's thread has to itself, given to closures instead of being looked up by
// them: so the compiler checks that nothing else touches it.

internal import Kernel
public import RunLoops

/// A value that belongs to a worker's thread, and the only way to it: closures that run there.
///
/// The value need not be `Sendable`. Each closure gets it as its argument, on the thread. It can't
/// be looked at elsewhere, so there is no check at run time that could stop the program, as there
/// is in `ThreadBound.value` and in an actor's `assumeIsolated`: what would break the rule does not
/// compile.
///
/// ```swift
/// let worker = try WorkerThread(name: "counter")
/// let state = try worker.makeState { Counter() }
/// try state.post { counter in counter.count += 1 }
/// let ticks = state.timer(every: .milliseconds(5)) { counter in counter.count += 1 }
/// let count = try await state.submit { counter in counter.count }
/// ticks.end()
/// ```
///
/// The state keeps its thread; the value is let go of on the thread, as that of a `ThreadBound` is.
public struct WorkerState<Value>: Sendable {
    /// The thread that has the value.
    public let worker: WorkerThread
    private let bound: ThreadBound<Value>

    init(_ worker: WorkerThread, _ bound: ThreadBound<Value>) {
        self.worker = worker
        self.bound = bound
    }

    /// Queues a closure for the thread, which gives it the value; returns without waiting.
    ///
    /// - Throws: `stopped` or `full`.
    /// - Thread: any thread; closures that one thread posts keep their order.
    /// - Blocks: as `WorkerThread.post` does.
    public func post(
        priority: SubmitPriority = .normal, _ body: @escaping @Sendable (Value) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        let bound = bound
        try worker.post(
            priority: priority, { body(bound.value) }, fileID: fileID, line: line)
    }

    /// Runs a closure on the thread, with the value, and returns its result.
    ///
    /// - Throws: what the closure throws; `SubmitError`; `CancellationError` when the task was
    ///   cancelled before its turn.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended until the closure has run.
    public nonisolated(nonsending) func submit<Result: Sendable>(
        priority: SubmitPriority = .normal,
        _ body: @escaping @Sendable (Value) throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        let bound = bound
        return try await worker.submit(
            priority: priority, { try body(bound.value) }, fileID: fileID, line: line)
    }

    /// Runs a closure on the thread, with the value, and blocks until it has run.
    ///
    /// - Returns: the closure's result.
    /// - Throws: what the closure throws; `SubmitError` when it was refused.
    /// - Thread: any thread.
    /// - Blocks: until the closure has run.
    public func submitAndWait<Result: Sendable>(
        priority: SubmitPriority = .normal,
        _ body: @escaping @Sendable (Value) throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws -> Result {
        let bound = bound
        return try worker.submitAndWait(
            priority: priority, { try body(bound.value) }, fileID: fileID, line: line)
    }

    /// Calls a closure with the value again and again, for as long as the lease lives.
    ///
    /// - Parameters:
    ///   - interval: time between two calls, more than zero; the first comes after one.
    ///   - tolerance: how much later a call may come.
    ///   - body: called on the thread.
    /// - Returns: ends the timer when it goes.
    /// - Thread: any thread.
    /// - Blocks: never.
    public func timer(
        every interval: Duration, tolerance: Duration = .zero,
        _ body: @escaping @Sendable (Value) -> Void
    ) -> ThreadRunLoop.Lease {
        require(interval > .zero, "a timer's interval is more than zero, not \(interval)")
        let bound = bound
        return worker.runLoop.lease(
            ThreadRunLoop.Timer(after: interval, every: interval, tolerance: tolerance) { _ in
                body(bound.value)
            })
    }

    /// A message port whose messages are received on the thread, together with the value.
    ///
    /// - Parameters:
    ///   - type: what is sent.
    ///   - limit: the most messages that may wait to be received, at least 1.
    ///   - receive: called on the thread for each message, in order.
    /// - Returns: the port, to be kept for as long as it is to receive.
    /// - Thread: any thread.
    /// - Blocks: never.
    public func messagePort<Message: Sendable>(
        of type: Message.Type = Message.self, limit: Int = .max,
        receive: @escaping @Sendable (Value, Message) -> Void
    ) -> MessagePort<Message> {
        let bound = bound
        let port = MessagePort<Message>(limit: limit) { receive(bound.value, $0) }
        port.add(to: worker.runLoop)
        return port
    }
}

extension WorkerThread {
    /// Makes a value on the thread, which has it to itself from then on.
    ///
    /// - Parameter make: makes the value, on the thread.
    /// - Returns: the way to it.
    /// - Throws: what the closure throws; `SubmitError` when it was refused.
    /// - Thread: any thread.
    /// - Blocks: until the value is made.
    public func makeState<Value>(
        _ make: @escaping @Sendable () throws -> Value
    ) throws -> WorkerState<Value> {
        WorkerState(self, try submitAndWait { ThreadBound(try make(), to: .current) })
    }
}
