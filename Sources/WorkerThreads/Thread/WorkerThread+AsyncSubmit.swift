// Asynchronous closures on a worker thread: they take their turn in its queue, then run as part of
// the calling task, whose steps the thread's executor runs.

internal import RunLoops

extension WorkerThread {
    /// Runs an asynchronous closure on the thread and returns its result.
    ///
    /// The closure begins once everything has run that was posted or submitted before with the same
    /// priority or a higher one. Its first step comes behind the batch that the thread is at by
    /// then, of at most 1,024 posts, and so also behind later ones. It is part of the calling task
    /// and keeps its priority and its task-local values. Between two of its steps, while it waits
    /// for something, the thread goes on with other work. Code that the closure awaits runs on the
    /// thread unless it belongs to an actor of its own.
    ///
    /// If the task is cancelled before the closure's turn, this throws at once and the closure
    /// never runs. Once its turn has come, the closure learns of a cancellation as every task does.
    /// A stop of the thread does not end a closure that has begun: its later steps run on the
    /// threads that Swift's tasks share.
    ///
    /// - Parameters:
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: what the closure throws; `SubmitError` when it was refused or the thread was
    ///   stopped before its turn came; `CancellationError` when the task was cancelled before.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended until the closure has returned.
    public nonisolated(nonsending) func submit<Result: Sendable>(
        priority: SubmitPriority = .normal,
        _ body: sending @escaping @concurrent () async throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        try await submit(priority: priority, {}, fileID: fileID, line: line)
        return try await withTaskExecutorPreference(executor) { try await body() }
    }

    /// Runs an asynchronous closure on the thread and returns a fresh object that it made.
    ///
    /// As the `submit` for asynchronous closures with `Sendable` results, but for a result of any
    /// type to which the closure keeps no reference.
    ///
    /// - Parameters:
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: what the closure throws; `SubmitError`; `CancellationError`.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended until the closure has returned.
    public nonisolated(nonsending) func submit<Result>(
        priority: SubmitPriority = .normal,
        _ body: sending @escaping @concurrent () async throws -> sending Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> sending Result {
        try await submit(priority: priority, {}, fileID: fileID, line: line)
        // SAFETY: the closure has given the result away, and nothing here keeps it.
        nonisolated(unsafe) let result = try await withTaskExecutorPreference(executor) {
            try await body()
        }
        return unsafe result
    }
}

extension WorkerPool {
    /// Runs an asynchronous closure on a thread of the pool and returns its result.
    ///
    /// The closure begins once its turn has come on the member that takes it, behind the batch that
    /// this is at, of at most 256 items, and stays on that member. It is part of the calling task.
    /// While it waits for something, the member goes on with other work, also of the same key.
    ///
    /// - Parameters:
    ///   - name: the pool's name or nil for any member, or the name of one member.
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - key: closures of the same key begin on one thread, in order.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: what the closure throws; `SubmitError` when it was refused or its thread stopped;
    ///   `CancellationError` when the task was cancelled before its turn.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended until the closure has returned.
    public nonisolated(nonsending) func submit<Result: Sendable>(
        onThread name: String? = nil, priority: SubmitPriority = .normal,
        key: SubmitKey? = nil,
        _ body: sending @escaping @concurrent () async throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        let executor = try await submit(
            onThread: name, priority: priority, key: key, { Self.currentExecutor() },
            fileID: fileID, line: line)
        return try await withTaskExecutorPreference(executor) { try await body() }
    }

    /// The executor of the member whose thread calls.
    static func currentExecutor() -> WorkerExecutor {
        guard let core = WorkerCore.current else { fatalError("not on a member's thread") }
        return core.executor
    }
}
