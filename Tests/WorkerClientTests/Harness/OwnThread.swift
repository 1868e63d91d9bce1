// Tests that are tasks, on a thread of their own. The shared threads of Swift's tasks are often all
// taken, for seconds, by tests of other suites that block; what is timed here must not wait for
// them.

import WorkerThreads

/// Where a test's tasks run.
struct OwnThread: Sendable {
    private let thread: WorkerThread

    fileprivate init(_ thread: WorkerThread) { self.thread = thread }

    /// Starts a task beside the test's own.
    func start<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) -> Task<Result, any Error> {
        Task(executorPreference: thread.executor) { try await body() }
    }
}

/// Runs a test on a thread of its own.
func onOwnThread(_ body: @escaping @Sendable (OwnThread) async throws -> Void) async throws {
    let thread = try WorkerThread(name: "test")
    defer { thread.stop(.finishQueued) }
    let own = OwnThread(thread)
    try await own.start { try await body(own) }.value
}
