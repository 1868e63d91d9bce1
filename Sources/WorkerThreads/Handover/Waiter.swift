// A task that waits for one thing, which several may bring, at any time, on any thread.

internal import Synchronization

/// A task's waiting, ended once.
final class Waiter<Value: Sendable>: Sendable {
    private enum State {
        case fresh
        case waiting(CheckedContinuation<Value, any Error>)
        /// It ended before the task had begun to wait.
        case early(Result<Value, any Error>)
        case done
    }

    private let state = Mutex(State.fresh)

    /// Ends the waiting.
    ///
    /// - Returns: whether this ended it.
    /// - Thread: any thread.
    @discardableResult
    func settle(_ result: Result<Value, any Error>) -> Bool {
        let (isFirst, continuation) = state.withLock {
            state -> (Bool, CheckedContinuation<Value, any Error>?) in
            switch state {
            case .fresh:
                state = .early(result)
                return (true, nil)
            case .waiting(let continuation):
                state = .done
                return (true, continuation)
            case .early, .done: return (false, nil)
            }
        }
        continuation?.resume(with: result)
        return isFirst
    }

    /// Waits.
    ///
    /// - Parameters:
    ///   - start: sets in motion what will end the waiting; not called if that has ended already.
    ///   - cancelled: called when cancelling the task has ended the waiting; on any thread.
    /// - Throws: what it was settled with; `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) func wait(
        start: () -> Void, cancelled: @Sendable () -> Void
    ) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if begin(continuation) { start() }
            }
        } onCancel: {
            if settle(.failure(CancellationError())) { cancelled() }
        }
    }

    /// Waits, also after the task was cancelled, until it is settled.
    ///
    /// - Parameters:
    ///   - start: sets in motion what will end the waiting; not called if that has ended already.
    ///   - onCancel: called when the task is cancelled, be it before the start; has it settled
    ///     soon.
    /// - Throws: what it was settled with.
    nonisolated(nonsending) func waitUntilSettled(
        start: () -> Void, onCancel: @Sendable () -> Void
    ) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if begin(continuation) { start() }
            }
        } onCancel: {
            onCancel()
        }
    }

    private func begin(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
        let early = state.withLock { state -> Result<Value, any Error>? in
            guard case .early(let result) = state else {
                state = .waiting(continuation)
                return nil
            }
            state = .done
            return result
        }
        if let early { continuation.resume(with: early) }
        return early == nil
    }
}

extension Duration {
    /// Longer than any wait, 34,000 years: clocks count in fewer bits than a duration has.
    static var longestWait: Duration { .seconds(1 << 40) }
}
