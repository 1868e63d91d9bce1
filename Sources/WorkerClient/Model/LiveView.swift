// The live view of a daemon: its threads and their queues, as it pushes them to `workerctl top`.

internal import RESP

/// A thread, as the live view tells it.
package struct LiveThread: Sendable {
    package let name: String
    /// Its own name if it belongs to no pool.
    package let pool: String
    package let state: String
    package let doneCount: Int
    package let failedCount: Int
    /// The running job; nil while it has none.
    package let jobID: UInt64?
    package let selector: String?
    /// When that job began, in Unix milliseconds by the daemon's clock.
    package let since: Int64?
}

/// The queue of a thread or pool, as the live view tells it.
package struct LiveQueue: Sendable {
    package let waitingCount: Int
    /// Since when its oldest job waits; nil while none does.
    package let oldest: Int64?
}

/// The state of a daemon, as its pushes have told it so far.
package struct LiveView: Sendable {
    /// The daemon's time at the latest push, in Unix milliseconds.
    package private(set) var time: Int64 = 0
    /// The name of this run of the daemon.
    package private(set) var epoch = ""
    package private(set) var startedAt: Int64 = 0
    package private(set) var isGoingDown = false
    /// Numbers of jobs, by the words of the live view.
    package private(set) var counts: [String: Int] = [:]
    /// In the order of the configuration.
    package private(set) var threads: [LiveThread] = []
    /// By the names of threads and pools.
    package private(set) var queues: [String: LiveQueue] = [:]
    /// The places of threads, by their names.
    private var places: [String: Int] = [:]

    /// Takes a push.
    ///
    /// - Returns: whether it is one of the live view.
    mutating func take(_ push: RESPValue) throws(WorkerClientError) -> Bool {
        guard case .push(let parts) = push, parts.count >= 3, parts[0].text == "live" else {
            return false
        }
        if parts[1].text == "snapshot" { self = LiveView() }
        let data = parts[2]
        time = try Fields(data, of: "the live view").time("time")
        if let server = data["server"] {
            let fields = Fields(server, of: "the daemon")
            (epoch, startedAt) = (try fields.text("epoch"), try fields.time("started"))
            isGoingDown = fields.flag("draining")
        }
        if case .map(let entries)? = data["counts"] {
            for entry in entries {
                if let name = entry.key.text { counts[name] = entry.value.integer }
            }
        }
        for row in data["pools"]?.elements ?? [] {
            let fields = Fields(row, of: "a pool")
            queues[try fields.text("name")] = LiveQueue(
                waitingCount: try fields.integer("waiting"), oldest: fields.optionalTime("oldest"))
        }
        for row in data["threads"]?.elements ?? [] {
            let thread = try LiveThread(row)
            if let place = places[thread.name] {
                threads[place] = thread
            } else {
                places[thread.name] = threads.count
                threads.append(thread)
            }
        }
        return true
    }
}

extension LiveThread {
    init(_ row: RESPValue) throws(WorkerClientError) {
        let fields = Fields(row, of: "a thread")
        name = try fields.text("name")
        pool = try fields.text("pool")
        state = try fields.text("state")
        doneCount = try fields.integer("done")
        failedCount = try fields.integer("failed")
        let job = row["job"].map { Fields($0, of: "a running job") }
        jobID = job?.optionalInteger("id").map { UInt64(clamping: $0) }
        selector = job?.optionalText("selector")
        since = job?.optionalTime("since")
    }
}
