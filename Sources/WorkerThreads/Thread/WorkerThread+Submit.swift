// Handing closures to a worker thread: without waiting, with a result, or waiting in place.

internal import Kernel
internal import RunLoops
internal import Synchronization

extension WorkerThread {
    /// Runs a closure on the thread, after everything that was submitted before.
    ///
    /// - Throws: `stopped` once the thread was asked to stop, `full` at its limit. Nothing else; and
    ///   a closure that was taken runs, unless the thread is stopped with `.finishCurrent` first.
    /// - Thread: any thread; what one thread submits keeps its order.
    /// - Blocks: never; a system call only if the thread sleeps.
    public func submit(_ body: consuming @escaping @Sendable () -> Void) throws(SubmitError) {
        try queue.push(.plain(consume body))
    }

    /// Runs a closure on the thread and returns what it returns.
    ///
    /// - Throws: what the closure throws; `SubmitError` when it was refused or the thread was
    ///   stopped before its turn came.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended.
    public func submit<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            let request = PerformRequest.answered(
                AnsweredPerform(
                    body: { continuation.resume(with: Swift.Result(catching: body)) },
                    refuse: { continuation.resume(throwing: $0) }))
            do throws(SubmitError) {
                try push(request)
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Runs a closure on the thread and waits until it has run; on the thread itself, at once.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws; `SubmitError` when it was refused.
    /// - Thread: any thread.
    /// - Blocks: until the closure has run.
    /// - Source: performSelector:onThread:withObject:waitUntilDone:, whose rules these are.
    public func submitAndWait<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) throws -> Result {
        if isCurrent { return try body() }
        let outcome = Mutex<Swift.Result<Result, any Error>?>(nil)
        let answer = Answer(outcome)
        try push(
            .answered(
                AnsweredPerform(
                    body: { answer.give(Swift.Result(catching: body)) },
                    refuse: { answer.give(.failure($0)) })))
        return try answer.wait().get()
    }

    func push(_ request: consuming PerformRequest) throws(SubmitError) {
        try queue.push(consume request)
    }
}

/// One answer that one thread waits for.
final class Answer<Value: Sendable>: Sendable {
    private let value: Mutex<Value?>
    private let given = Latch()

    init(_ value: consuming sending Mutex<Value?>) {
        self.value = value
    }

    convenience init() {
        self.init(Mutex(nil))
    }

    func give(_ answer: Value) {
        value.withLock { $0 = answer }
        given.open()
    }

    func wait() -> Value {
        given.wait()
        guard let answer = value.withLock({ $0 }) else { preconditionFailure("no answer given") }
        return answer
    }
}
