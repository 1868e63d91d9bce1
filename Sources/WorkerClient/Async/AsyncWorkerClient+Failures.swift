// The asynchronous client's commands about jobs that have failed.

extension AsyncWorkerClient {
    /// Lets a job that has failed run again.
    ///
    /// - Throws: `.daemon` with NOJOB, ERR if it has not failed, NOTHREAD, NOSELECTOR, BUSY.
    /// - Thread: any task.
    public func retry(_ id: UInt64) async throws {
        _ = try await run(.failed("RETRY", id))
    }

    /// Lets all jobs of a selector run again that have failed.
    ///
    /// - Returns: how many.
    /// - Throws: `.daemon` with NOSELECTOR or BUSY.
    /// - Thread: any task.
    public func retryAll(ofSelector selector: String) async throws -> Int {
        try await run(.failed("RETRY", allOf: selector))
    }

    /// Forgets a job that has failed.
    ///
    /// - Throws: `.daemon` with NOJOB, ERR if it has not failed, BUSY.
    /// - Thread: any task.
    public func drop(_ id: UInt64) async throws {
        _ = try await run(.failed("DROP", id))
    }

    /// Forgets all jobs of a selector that have failed.
    ///
    /// - Returns: how many.
    /// - Throws: `.daemon` with BUSY.
    /// - Thread: any task.
    public func dropAll(ofSelector selector: String) async throws -> Int {
        try await run(.failed("DROP", allOf: selector))
    }
}
