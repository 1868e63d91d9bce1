// Who watches which job, and what they were told last. Confined to the desk's thread; when something
// is looked at and told is in JobDesk+Watching.swift.

internal import Jobs
internal import Kernel
internal import RunLoops

/// What is told of a job to those who watch it.
struct JobNews: Equatable {
    let id: JobID
    /// As `JOB` names it.
    let state: String
    /// How often it has begun.
    let attempt: Int
    /// The thread that runs it, or ran it last.
    var worker: String?
    var progress: JobProgress?
    var failure: String?
    /// Why the attempt before failed, while it waits for the next one.
    var lastFailure: String?
    /// What else was said about the job.
    var options = SharedJobOptions()
    /// Whether it has ended: nothing follows.
    var isFinal = false
}

/// Who watches jobs.
protocol JobWatcher: AnyObject {
    /// Something has changed.
    func tell(_ news: JobNews)
}

/// The jobs that are watched.
///
/// Confined to the desk's thread.
final class JobWatches {
    /// How many jobs one client may watch.
    static let countMax = 1_000
    /// The shortest time between two reports of progress.
    static let pause = Duration.milliseconds(50)

    /// A job that is watched.
    private struct Watched {
        var watchers: [ObjectIdentifier: any JobWatcher] = [:]
        var told: JobNews?
        var pacer = Pacer(pause: JobWatches.pause)
    }

    private var watched: [JobID: Watched] = [:]
    private var jobs: [ObjectIdentifier: Set<JobID>] = [:]

    /// Whether nobody watches anything.
    var isEmpty: Bool { watched.isEmpty }

    func isWatched(_ id: JobID) -> Bool { !watched.isEmpty && watched[id] != nil }

    func isWatched(_ id: JobID, by watcher: any JobWatcher) -> Bool {
        watched[id]?.watchers[ObjectIdentifier(watcher)] != nil
    }

    /// How many jobs a client watches.
    func count(of watcher: any JobWatcher) -> Int { jobs[ObjectIdentifier(watcher)]?.count ?? 0 }

    func add(_ watcher: any JobWatcher, to id: JobID) {
        watched[id, default: Watched()].watchers[ObjectIdentifier(watcher)] = watcher
        jobs[ObjectIdentifier(watcher), default: []].insert(id)
    }

    /// - Returns: whether it watched the job.
    @discardableResult
    func remove(_ watcher: any JobWatcher, from id: JobID) -> Bool {
        let key = ObjectIdentifier(watcher)
        guard jobs[key]?.remove(id) != nil else { return false }
        if jobs[key]?.isEmpty == true { jobs[key] = nil }
        watched[id]?.watchers[key] = nil
        if watched[id]?.watchers.isEmpty == true { watched[id] = nil }
        return true
    }

    /// - Returns: how many jobs it watched.
    @discardableResult
    func removeAll(of watcher: any JobWatcher) -> Int {
        let ids = jobs[ObjectIdentifier(watcher)] ?? []
        for id in ids { remove(watcher, from: id) }
        return ids.count
    }

    /// Notes that a job has changed in a way that may happen often.
    ///
    /// - Returns: when to look at it; nil if nobody watches it, or it will be looked at anyway.
    func changed(_ id: JobID, at now: Instant) -> Instant? {
        guard !watched.isEmpty else { return nil }
        return watched[id]?.pacer.changed(at: now)
    }

    /// Notes that a job is looked at because it has changed.
    func looked(at id: JobID, at now: Instant) { watched[id]?.pacer.looked(at: now) }

    /// Tells those who watch a job what is so now, unless they were told just that.
    ///
    /// - Parameter newcomer: told in any case, and nobody else.
    func tell(_ news: JobNews, to newcomer: (any JobWatcher)? = nil) {
        guard let watched = watched[news.id] else { return }
        if let newcomer {
            newcomer.tell(news)
            if watched.watchers.count == 1 { self.watched[news.id]?.told = news }
        } else if watched.told != news {
            self.watched[news.id]?.told = news
            for watcher in watched.watchers.values { watcher.tell(news) }
        }
        guard news.isFinal else { return }
        for watcher in watched.watchers.values { remove(watcher, from: news.id) }
    }
}

/// A client that wants to watch jobs, some of which are looked for in the store.
///
/// Confined to the desk's thread.
final class WatchRequest {
    let ids: Set<JobID>
    let watcher: any JobWatcher
    let reply: ReplyToken
    /// Those that it did not watch before.
    let added: Set<JobID>
    /// How many are still looked for.
    var missingCount = 0
    private(set) var found: [JobID: Job] = [:]
    private(set) var fault: JobError?

    init(
        _ ids: Set<JobID>, _ watcher: any JobWatcher, _ reply: ReplyToken, _ watches: JobWatches
    ) {
        self.ids = ids
        self.watcher = watcher
        self.reply = reply
        added = ids.filter { !watches.isWatched($0, by: watcher) }
    }

    /// One of them was looked for.
    func found(_ id: JobID, _ result: Result<Job, JobError>, _ desk: JobDesk) {
        switch result {
        case .success(let job): found[id] = job
        case .failure(let error): fault = fault ?? error
        }
        missingCount -= 1
        if missingCount == 0 { desk.finish(self) }
    }
}
