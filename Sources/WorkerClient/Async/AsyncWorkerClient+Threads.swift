// The asynchronous client's commands about threads and the daemon itself.

extension AsyncWorkerClient {
    /// Every worker thread, and what it does.
    ///
    /// - Thread: any task.
    public func threads() async throws -> [ThreadDescription] {
        try await run(.threads)
    }

    /// One thread or pool.
    ///
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any task.
    public func thread(_ name: String) async throws -> ThreadOrPool {
        try await run(.thread(name))
    }

    /// Every selector, and what handles it.
    ///
    /// - Thread: any task.
    public func selectors() async throws -> [SelectorDescription] {
        try await run(.selectors)
    }

    /// Every worker in another process.
    ///
    /// - Thread: any task.
    public func workers() async throws -> [WorkerDescription] {
        try await run(.workers)
    }

    /// The daemons that share the store: one serves, the others wait.
    ///
    /// - Throws: `.daemon` with BUSY if the database does not answer.
    /// - Thread: any task.
    public func nodes() async throws -> [NodeDescription] {
        try await run(.nodes)
    }

    /// Pauses a thread or pool: its jobs wait; running jobs go on.
    ///
    /// If the daemon keeps jobs in a file, that outlives it.
    ///
    /// - Throws: `.daemon` with NOTHREAD, or BUSY if it was done and could not be written.
    /// - Thread: any task.
    public func pause(_ thread: String) async throws {
        try await run(.steer("PAUSE", thread))
    }

    /// Ends a pause: the waiting jobs have their turn.
    ///
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any task.
    public func resume(_ thread: String) async throws {
        try await run(.steer("RESUME", thread))
    }

    /// Ends a thread or pool once its waiting jobs are done; new ones are refused at once.
    ///
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any task.
    public func stop(_ thread: String) async throws {
        try await run(.steer("STOP", thread))
    }

    /// The daemon in figures, as lines of `name:value` under headings of `# Section`.
    ///
    /// - Parameter section: only this one: `server`, `clients`, `memory`, `stats`, `jobs`,
    ///   `schedules`, `backups`, `threads`, `loop`.
    /// - Thread: any task.
    public func info(_ section: String? = nil) async throws -> String {
        try await run(.information(section))
    }

    /// The address of the daemon's page, good once and for a minute: its page then has the rights
    /// of this client's user.
    ///
    /// - Throws: `.daemon` with ERR if the daemon serves no page.
    /// - Thread: any task.
    public func page() async throws -> String { try await run(.page) }

    /// Copies the daemon's file of jobs into its directory of backups, while it is served.
    ///
    /// - Parameters:
    ///   - name: what the copy is called there; no path.
    ///   - replaces: whether one of this name gives way.
    /// - Returns: the path of the copy, on the daemon's machine.
    /// - Throws: `.daemon` with ERR, or BUSY while another one is made or there is no room.
    /// - Thread: any task.
    public func backup(_ name: String, replaces: Bool = false) async throws -> String {
        try await run(.backup(name, replaces: replaces))
    }

    /// The daemon reads its configuration file again, and applies each changed setting.
    ///
    /// - Parameter isDry: whether nothing is applied: the changes are only told.
    /// - Returns: the changes, a line each, such as `thread mail: count 2 → 4`.
    /// - Throws: `.daemon` with ERR and all faults of the file; then nothing has changed.
    /// - Thread: any task.
    @discardableResult
    public func reload(isDry: Bool = false) async throws -> [String] {
        try await run(.reload(isDry: isDry))
    }

    /// Asks whether the daemon answers.
    ///
    /// - Thread: any task.
    public func ping() async throws {
        try await run(.ping)
    }

    /// Asks the daemon to go down, and waits until it is.
    ///
    /// A handler of that daemon does not wait for it: the daemon would wait for the handler.
    ///
    /// - Throws: `.daemon` when it refuses; a connection that ends is what was asked for.
    /// - Thread: any task.
    public func shutdown(
        _ manner: ShutdownManner = .finishRunning
    ) async throws {
        do {
            try await run(.shutdown(manner))
        } catch let error as WorkerClientError {
            // This side may have ended it for reasons of its own: then the daemon may still be
            // there.
            guard case .closed = error, hasDaemonLeft else { throw error }
        }
    }

    /// Sends a command that has no method of its own.
    ///
    /// ```swift
    /// let names = try await client.command(["COMMAND", "LIST"])
    /// ```
    ///
    /// - Parameters:
    ///   - parts: the command's name and arguments.
    ///   - wait: for how long the command asks the daemon to delay its reply.
    /// - Throws: `.daemon` when the reply is an error.
    /// - Thread: any task.
    public func command(
        _ parts: [CommandPart], wait: JobWait? = nil
    ) async throws -> Reply {
        try await run(.raw(parts, wait: wait))
    }
}
