// The clients that watch jobs, and the state that each was told last. The moments of looking and
// telling are in JobScheduler+Watching.swift.

/// One change of a job, as its watchers are told.
package struct JobUpdate: Equatable, Sendable {
    package let id: JobID
    /// As `JOB` names it.
    package let state: String
    /// How often it has begun.
    package let attempt: Int
    /// The thread that runs it, or ran it last.
    package var worker: String?
    package var progress: JobProgress?
    /// The output of its program; nil if there is none, and for clients that did not ask for it.
    package var written: WrittenBytes?
    package var failure: String?
    /// Why the attempt before failed, while it waits for the next one.
    package var lastFailure: String?
    /// All other options of the job.
    package var options = SharedJobOptions()
    /// Whether it has ended: nothing follows.
    package var isFinal = false

    /// The update for clients that are not told of output.
    fileprivate var withoutOutput: JobUpdate {
        var update = self
        update.written = nil
        return update
    }
}

/// The jobs that are watched, and the clients that watch them, by their numbers.
///
/// Invariant: both directions have the same pairs.
package struct JobWatches {
    /// How many jobs one client may watch.
    package static let countMax = 1_000
    /// The shortest time between two reports of progress: 50 ms in nanoseconds.
    private static let pause: Int64 = 50_000_000

    private struct Watched {
        var clients: Set<UInt64> = []
        /// The clients that are told how much its program has written.
        var outputClients: Set<UInt64> = []
        var told: JobUpdate?
        /// The thread of a job that was not in memory.
        var thread: String?
        var pacer = Pacer(pause: JobWatches.pause)
    }

    private var watched: [JobID: Watched] = [:]
    private var jobs: [UInt64: Set<JobID>] = [:]

    /// Whether no job is watched.
    package var isEmpty: Bool { watched.isEmpty }

    package func isWatched(_ id: JobID) -> Bool { !watched.isEmpty && watched[id] != nil }

    package func isWatched(_ id: JobID, by client: UInt64) -> Bool {
        watched[id]?.clients.contains(client) == true
    }

    /// How many jobs a client watches.
    package func count(of client: UInt64) -> Int { jobs[client]?.count ?? 0 }

    mutating func add(_ client: UInt64, to id: JobID, withOutput: Bool) {
        watched[id, default: Watched()].clients.insert(client)
        if withOutput {
            watched[id]?.outputClients.insert(client)
        } else {
            watched[id]?.outputClients.remove(client)
        }
        jobs[client, default: []].insert(id)
    }

    /// - Returns: whether the client watched the job.
    @discardableResult
    package mutating func remove(_ client: UInt64, from id: JobID) -> Bool {
        guard jobs[client]?.remove(id) != nil else { return false }
        if jobs[client]?.isEmpty == true { jobs[client] = nil }
        watched[id]?.clients.remove(client)
        watched[id]?.outputClients.remove(client)
        if watched[id]?.clients.isEmpty == true { watched[id] = nil }
        return true
    }

    /// - Returns: how many jobs the client watched.
    @discardableResult
    package mutating func removeAll(of client: UInt64) -> Int {
        let ids = jobs[client] ?? []
        for id in ids { remove(client, from: id) }
        return ids.count
    }

    /// A watched job is parked, and of a thread.
    mutating func note(_ thread: String, of id: JobID) {
        guard !watched.isEmpty else { return }
        watched[id]?.thread = thread
    }

    /// The threads of parked jobs that are watched.
    func threads(where isParked: (JobID) -> Bool) -> Set<String> {
        watched.reduce(into: []) { threads, entry in
            if let thread = entry.value.thread, isParked(entry.key) { threads.insert(thread) }
        }
    }

    /// The clients that watch jobs that were parked, and are of some threads.
    func clients(
        ofThreads isMeant: (String) -> Bool, where isParked: (JobID) -> Bool
    ) -> Set<UInt64> {
        watched.reduce(into: []) { clients, entry in
            if let thread = entry.value.thread, isMeant(thread), isParked(entry.key) {
                clients.formUnion(entry.value.clients)
            }
        }
    }

    /// A job has changed in a way that may happen often.
    ///
    /// - Returns: when to look at it; nil if no client watches it, or a look is due anyway.
    mutating func changed(_ id: JobID, at now: Int64) -> Int64? {
        guard !watched.isEmpty else { return nil }
        return watched[id]?.pacer.changed(at: now)
    }

    /// A job is looked at because it has changed.
    mutating func looked(at id: JobID, at now: Int64) { watched[id]?.pacer.looked(at: now) }

    /// Tells news to the clients that watch a job, unless they were told just that.
    ///
    /// - Parameter newcomer: told in any case, and no other client.
    mutating func tell(_ news: JobUpdate, to newcomer: UInt64? = nil, _ effects: inout JobEffects) {
        guard let found = watched[news.id] else { return }
        func tell(_ client: UInt64, _ effects: inout JobEffects) {
            effects.tell(client, found.outputClients.contains(client) ? news : news.withoutOutput)
        }
        if let newcomer {
            tell(newcomer, &effects)
            if found.clients.count == 1 { watched[news.id]?.told = news }
        } else if found.told != news {
            watched[news.id]?.told = news
            let isOutputOnly = found.told?.withoutOutput == news.withoutOutput
            let clients = isOutputOnly ? found.outputClients : found.clients
            for client in clients.sorted() { tell(client, &effects) }
        }
        guard news.isFinal else { return }
        // Others that were not told are told when their own request is done.
        for client in newcomer.map({ [$0] }) ?? found.clients { remove(client, from: news.id) }
    }
}

/// A client that wants to watch jobs, some of which are looked for in the store.
final class WatchRequest {
    let ids: Set<JobID>
    let reply: ReplyToken
    /// The jobs that the client did not watch before.
    let added: Set<JobID>
    /// How many are still looked for.
    var missingCount = 0
    private(set) var found: [JobID: Job] = [:]
    private(set) var fault: JobError?

    var client: UInt64 { reply.client }

    init(_ ids: Set<JobID>, _ reply: ReplyToken, _ watches: JobWatches) {
        self.ids = ids
        self.reply = reply
        added = ids.filter { !watches.isWatched($0, by: reply.client) }
    }

    /// One of them was looked for.
    ///
    /// - Returns: whether it was the last one.
    func found(_ id: JobID, _ result: Result<Job, JobError>) -> Bool {
        switch result {
        case .success(let job): found[id] = job
        case .failure(let error): fault = fault ?? error
        }
        missingCount -= 1
        return missingCount == 0
    }
}

/// The clients that watch jobs, and the kinds of news that the driver wants.
package struct Audience {
    package var watches = JobWatches()
    /// Whether the driver wants the effect `roomMayBe`.
    package var awaitsRoom = false
    /// Whether the driver wants the effect `change`.
    package var followsChanges = false
    /// Whether the oldest waiting jobs are noted, for `oldestWaiting`.
    var notesOldestWaiting = false
}
