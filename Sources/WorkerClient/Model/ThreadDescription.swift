// Descriptions of threads and selectors by the daemon.

internal import RESP

/// A worker thread as the daemon lists it.
public struct ThreadDescription: Sendable, Equatable {
    /// Its name; a member of a pool is called `mail/2`.
    public let name: String
    /// `idle`, `held` (idle while all its waiting jobs are held up), `running`, `stuck`, `paused`,
    /// `pausing`, `stopping` or `stopped`; `orphaned` if the configuration no longer names it and
    /// the journal has jobs for it, all of which wait.
    public let state: String
    /// How many jobs wait for it, or for its pool.
    public let waitingCount: Int
    /// How many jobs it has done.
    public let doneCount: Int
    /// How many of its jobs did not end well.
    public let failedCount: Int
    /// The job that it is at; nil while it has none.
    public let jobID: UInt64?
    /// The selector of that job.
    public let selector: String?
    /// For how long it has been at that job.
    public let runningMilliseconds: Int?
    /// The name of its pool; nil in listings.
    public let pool: String?
    /// How many jobs may wait; nil in listings.
    public let maxQueued: Int?
    /// The blocking job that holds up jobs of this thread or its pool; nil if none does.
    ///
    /// Of several, the hold-up that began first.
    public let holdUp: HoldUpDescription?
    /// The worker in another process that its next job waits for, such as `worker resize`; nil if
    /// none does.
    public let waitsFor: String?
    /// The worker in another process that has its jobs for itself; nil if none does.
    public let owner: String?
}

/// Several threads under one name.
public struct PoolDescription: Sendable, Equatable {
    /// Its name.
    public let name: String
    /// The names of its threads.
    public let members: [String]
    /// How many jobs wait for it.
    public let waitingCount: Int
    /// How many of its threads are at a job.
    public let runningCount: Int
    /// How many jobs may wait.
    public let maxQueued: Int
    /// The blocking job that holds up jobs of one of its keys; nil if none does.
    ///
    /// Of several, the hold-up that began first.
    public let holdUp: HoldUpDescription?
}

/// The thread or pool behind a name.
public enum ThreadOrPool: Sendable, Equatable {
    /// One thread.
    case thread(ThreadDescription)
    /// Several under one name.
    case pool(PoolDescription)
}

/// A selector, and what handles it.
public struct SelectorDescription: Sendable, Equatable {
    /// Its name.
    public let name: String
    /// `Swift`, the program and its arguments, or `none` if the daemon's configuration no longer
    /// names it.
    public let handler: String
    /// How many jobs in the daemon's file wait for it although nothing handles it.
    public let orphanedCount: Int
}

extension ThreadDescription {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        let fields = Fields(reply, of: "a thread")
        name = try fields.text("name")
        state = try fields.text("state")
        waitingCount = try fields.integer("waiting")
        doneCount = try fields.integer("done")
        failedCount = try fields.integer("failed")
        jobID = fields.optionalInteger("job").map { UInt64(clamping: $0) }
        selector = fields.optionalText("selector")
        runningMilliseconds = fields.optionalInteger("running-ms")
        pool = fields.optionalText("pool")
        maxQueued = fields.optionalInteger("max-queued")
        holdUp = HoldUpDescription(fields)
        waitsFor = fields.optionalText("waits-for")
        owner = fields.optionalText("owner")
    }
}

extension ThreadOrPool {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        guard let members = reply["members"]?.elements else {
            self = .thread(try ThreadDescription(reply))
            return
        }
        let fields = Fields(reply, of: "a pool")
        self = .pool(
            PoolDescription(
                name: try fields.text("name"), members: members.compactMap(\.text),
                waitingCount: try fields.integer("waiting"),
                runningCount: try fields.integer("running"),
                maxQueued: try fields.integer("max-queued"), holdUp: HoldUpDescription(fields)))
    }
}

extension SelectorDescription {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        let fields = Fields(reply, of: "a selector")
        name = try fields.text("name")
        handler = try fields.text("handler")
        orphanedCount = fields.optionalInteger("orphaned") ?? 0
    }
}
