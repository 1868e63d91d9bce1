// Serving selectors: this process as a worker.

internal import Kernel

extension WorkerClient {
    /// Serves selectors: takes their jobs one after the other and runs a closure for each.
    ///
    /// ```swift
    /// let client = try WorkerClient(.unix("/run/workerd/workerd.sock"))
    /// try await client.serve("resize", as: "resizer-1") { job in
    ///     guard !job.payload.isEmpty else {
    ///         throw ServedJobFailure("an empty picture", next: .final)
    ///     }
    ///     try await job.report(0.5, "half of it")
    ///     return Array(job.payload.prefix(job.payload.count / 2))
    /// }
    /// ```
    ///
    /// The bytes that the closure returns are the job's result. An error that it throws fails the
    /// job with the error's text; `ServedJobFailure` says what follows. When the job is cancelled,
    /// or over its time limit, the closure's task is cancelled.
    ///
    /// It takes jobs on a connection of its own, which it makes anew when it has ended, also while
    /// a closure runs. Under its name it keeps the job that it holds. A closure may run a second
    /// time for a job, after a crash of the daemon say.
    ///
    /// When the task is cancelled, the closure's task is too. If the closure then throws, its job
    /// is given back for another worker, without counting as an attempt; a result counts. The call
    /// returns after that. To serve several jobs at once, call it in several tasks, each with a
    /// name of its own.
    ///
    /// - Parameters:
    ///   - selectors: selectors with `worker: true` in the configuration.
    ///   - name: 1 to 64 of the characters `A-Z a-z 0-9 _ . -`, which no other worker has; nil for
    ///     one that is made up.
    ///   - thread: takes the jobs of this thread, which no other worker gets then; while another
    ///     worker owns it, this one waits as its standby. Nil for the jobs of all threads.
    ///   - onTrouble: told of each error that passes, such as a daemon that is down; it is tried
    ///     again a second later.
    ///   - handler: runs a job; called in a task of its own, one at a time.
    /// - Throws: `.daemon` for an error that does not pass, such as NOSELECTOR, NOTHREAD, ERR for
    ///   a selector that is not for workers, NOAUTH; `.protocolFault`.
    /// - Thread: any task.
    public func serve(
        _ selectors: String..., as name: String? = nil, owning thread: String? = nil,
        onTrouble: @escaping @Sendable (WorkerClientError) -> Void = { _ in },
        handler: @escaping @Sendable (ServedJob) async throws -> [UInt8]
    ) async throws {
        try await Serving(address, options, selectors, name, thread, onTrouble, handler).run()
    }
}

extension AsyncWorkerClient {
    /// Serves selectors: takes their jobs one after the other and runs a closure for each.
    ///
    /// It does so on a connection of its own, as `serve` of `WorkerClient` tells in detail: it
    /// outlives this client's connection, and returns when the task is cancelled.
    ///
    /// - Parameters:
    ///   - selectors: selectors with `worker: true` in the configuration.
    ///   - name: 1 to 64 of the characters `A-Z a-z 0-9 _ . -`, which no other worker has; nil for
    ///     one that is made up.
    ///   - thread: takes the jobs of this thread, which no other worker gets then; while another
    ///     worker owns it, this one waits as its standby. Nil for the jobs of all threads.
    ///   - onTrouble: told of each error that passes, such as a daemon that is down; it is tried
    ///     again a second later.
    ///   - handler: runs a job; called in a task of its own, one at a time.
    /// - Throws: `.daemon` for an error that does not pass, such as NOSELECTOR, NOTHREAD, ERR for
    ///   a selector that is not for workers, NOAUTH; `.protocolFault`.
    /// - Thread: any task.
    public func serve(
        _ selectors: String..., as name: String? = nil, owning thread: String? = nil,
        onTrouble: @escaping @Sendable (WorkerClientError) -> Void = { _ in },
        handler: @escaping @Sendable (ServedJob) async throws -> [UInt8]
    ) async throws {
        try await Serving(address, options, selectors, name, thread, onTrouble, handler).run()
    }
}

extension Serving {
    init(
        _ address: WorkerAddress, _ options: ClientOptions, _ selectors: [String],
        _ name: String?, _ ownThread: String?,
        _ onTrouble: @escaping @Sendable (WorkerClientError) -> Void,
        _ handler: @escaping @Sendable (ServedJob) async throws -> [UInt8]
    ) {
        require(!selectors.isEmpty, "a worker serves at least one selector")
        let madeUp = String(UInt64.random(in: .min ... .max), radix: 36)
        self.init(
            link: ServingLink(address, options),
            wish: TakeWish(
                name: name ?? "swift-\(madeUp)", ownThread: ownThread, selectors: selectors),
            handler: handler, onTrouble: onTrouble)
    }
}
