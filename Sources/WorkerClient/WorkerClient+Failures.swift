// The blocking client's commands about jobs that have failed.

extension WorkerClient {
    /// Lets a job that has failed run again.
    ///
    /// - Throws: `.daemon` with NOJOB, ERR if it has not failed, NOTHREAD, NOSELECTOR, BUSY.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func retry(_ id: UInt64) throws(WorkerClientError) {
        _ = try run(.failed("RETRY", id))
    }

    /// Lets all jobs of a selector run again that have failed.
    ///
    /// - Returns: how many.
    /// - Throws: `.daemon` with NOSELECTOR or BUSY.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func retryAll(ofSelector selector: String) throws(WorkerClientError) -> Int {
        try run(.failed("RETRY", allOf: selector))
    }

    /// Forgets a job that has failed.
    ///
    /// - Throws: `.daemon` with NOJOB, ERR if it has not failed, BUSY.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func drop(_ id: UInt64) throws(WorkerClientError) {
        _ = try run(.failed("DROP", id))
    }

    /// Forgets all jobs of a selector that have failed.
    ///
    /// - Returns: how many.
    /// - Throws: `.daemon` with BUSY.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func dropAll(ofSelector selector: String) throws(WorkerClientError) -> Int {
        try run(.failed("DROP", allOf: selector))
    }
}
