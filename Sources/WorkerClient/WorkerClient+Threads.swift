// The blocking client's commands about threads and the daemon itself.

extension WorkerClient {
    /// Every worker thread, and what it does.
    ///
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func threads() throws(WorkerClientError) -> [ThreadDescription] {
        try run(.threads)
    }

    /// One thread or pool.
    ///
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func thread(_ name: String) throws(WorkerClientError) -> ThreadOrPool {
        try run(.thread(name))
    }

    /// Every selector, and what handles it.
    ///
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func selectors() throws(WorkerClientError) -> [SelectorDescription] {
        try run(.selectors)
    }

    /// Every worker in another process.
    ///
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func workers() throws(WorkerClientError) -> [WorkerDescription] {
        try run(.workers)
    }

    /// The daemons that share the store: one serves, the others wait.
    ///
    /// - Throws: `.daemon` with BUSY if the database does not answer.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func nodes() throws(WorkerClientError) -> [NodeDescription] {
        try run(.nodes)
    }

    /// Pauses a thread or pool: its jobs wait; running jobs go on.
    ///
    /// If the daemon keeps jobs in a file, that outlives it.
    ///
    /// - Throws: `.daemon` with NOTHREAD, or BUSY if it was done and could not be written.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func pause(_ thread: String) throws(WorkerClientError) {
        try run(.steer("PAUSE", thread))
    }

    /// Ends a pause: the waiting jobs have their turn.
    ///
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func resume(_ thread: String) throws(WorkerClientError) {
        try run(.steer("RESUME", thread))
    }

    /// Ends a thread or pool once its waiting jobs are done; new ones are refused at once.
    ///
    /// - Throws: `.daemon` with NOTHREAD.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered, not until the thread has ended.
    public func stop(_ thread: String) throws(WorkerClientError) {
        try run(.steer("STOP", thread))
    }

    /// The daemon in figures, as lines of `name:value` under headings of `# Section`.
    ///
    /// - Parameter section: only this one: `server`, `clients`, `memory`, `stats`, `jobs`,
    ///   `schedules`, `backups`, `threads`, `loop`.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func info(_ section: String? = nil) throws(WorkerClientError) -> String {
        try run(.information(section))
    }

    /// The address of the daemon's page, good once and for a minute: its page then has the rights
    /// of this client's user.
    ///
    /// - Throws: `.daemon` with ERR if the daemon serves no page.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func page() throws(WorkerClientError) -> String { try run(.page) }

    /// Copies the daemon's file of jobs into its directory of backups, while it is served.
    ///
    /// - Parameters:
    ///   - name: what the copy is called there; no path.
    ///   - replaces: whether one of this name gives way.
    /// - Returns: the path of the copy, on the daemon's machine.
    /// - Throws: `.daemon` with ERR, or BUSY while another one is made or there is no room.
    /// - Thread: any thread.
    /// - Blocks: until the copy is on the disk.
    public func backup(
        _ name: String, replaces: Bool = false
    ) throws(WorkerClientError) -> String {
        try run(.backup(name, replaces: replaces))
    }

    /// The daemon reads its configuration file again, and applies each changed setting.
    ///
    /// - Parameter isDry: whether nothing is applied: the changes are only told.
    /// - Returns: the changes, a line each, such as `thread mail: count 2 → 4`.
    /// - Throws: `.daemon` with ERR and all faults of the file; then nothing has changed.
    /// - Thread: any thread.
    /// - Blocks: until all is applied; a thread that goes first ends its running jobs.
    @discardableResult
    public func reload(isDry: Bool = false) throws(WorkerClientError) -> [String] {
        try run(.reload(isDry: isDry))
    }

    /// Asks whether the daemon answers.
    ///
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func ping() throws(WorkerClientError) {
        try run(.ping)
    }

    /// Asks the daemon to go down, and waits until it is.
    ///
    /// A handler of that daemon does not wait for it: the daemon would wait for the handler.
    ///
    /// - Throws: `.daemon` when it refuses; a connection that ends is what was asked for.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has closed the connection, which it does when its jobs have
    ///   ended.
    public func shutdown(
        _ manner: ShutdownManner = .finishRunning
    ) throws(WorkerClientError) {
        do throws(WorkerClientError) {
            try run(.shutdown(manner))
        } catch {
            guard case .closed = error, !isClosed else { throw error }
        }
    }

    /// Sends a command that has no method of its own.
    ///
    /// ```swift
    /// let names = try client.command(["COMMAND", "LIST"])
    /// ```
    ///
    /// - Parameters:
    ///   - parts: the command's name and arguments.
    ///   - wait: for how long the command asks the daemon to delay its reply.
    /// - Throws: `.daemon` when the reply is an error.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered.
    public func command(
        _ parts: [CommandPart], wait: JobWait? = nil
    ) throws(WorkerClientError) -> Reply {
        try run(.raw(parts, wait: wait))
    }
}
