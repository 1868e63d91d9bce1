// Telling those who watch a job what becomes of it. What the desk itself does to a job is told at once;
// what its worker does (begin it, say how far it is) rings a bell, which is then looked after with a
// pause between two looks. So a handler may report in a tight loop, and rings once in that time.

internal import Jobs
internal import Kernel
internal import RunLoops

extension JobDesk {
    // MARK: - Commands

    /// Has a client told what becomes of jobs, beginning with what is so now; answers how many these are, or
    /// that one of them is not known: then none of those that it did not watch before is watched.
    func watch(_ ids: Set<JobID>, by watcher: any JobWatcher, _ reply: ReplyToken) {
        let request = WatchRequest(ids, watcher, reply, watches)
        for id in ids {
            if let run = live[id]?.context.run { noteStart(id, on: run.thread, at: run.startedAt) }
        }
        // Before anything is asked: what becomes of them meanwhile is told, too.
        for id in ids { watches.add(watcher, to: id) }
        forgetExpired()
        let unknown = ids.filter { live[$0] == nil && store.job($0) == nil }
        request.missingCount = unknown.count
        if unknown.isEmpty { return finish(request) }
        for id in unknown { ask(.watch(id, request)) { .find(id, ticket: $0) } }
    }

    /// All jobs that a client wants to watch were looked for.
    func finish(_ request: WatchRequest) {
        let watcher = request.watcher
        if let fault = request.fault {
            for id in request.added { watches.remove(watcher, from: id) }
            return door.answer(request.reply, .failed(fault))
        }
        door.answer(request.reply, .count(request.ids.count))
        for id in request.ids.sorted() { greet(watcher, id, request.found[id]) }
    }

    /// Tells somebody new what is so now.
    ///
    /// - Parameter stored: the job as the journal knows it, if it is not in memory.
    private func greet(_ watcher: any JobWatcher, _ id: JobID, _ stored: Job?) {
        // It may have ended since, which was told then.
        guard watches.isWatched(id, by: watcher) else { return }
        if let job = live[id] { listen(to: job) }
        guard let job = store.job(id) ?? stored else { return }
        watches.tell(news(of: job), to: watcher)
    }

    // MARK: - What has changed

    /// Looks at a job when its worker has changed it.
    func listen(to job: LiveJob) {
        let (desk, id, loop) = (Confined(self, to: loop), job.id, loop)
        job.context.tellNextChange { loop.perform { desk.value.rang(id) } }
    }

    private func rang(_ id: JobID) {
        if let job = live[id] { watchTimeLimit(of: job) }
        guard let due = watches.changed(id, at: loop.now) else { return }
        if due <= loop.now { return look(at: id) }
        let desk = Confined(self, to: loop)
        loop.add(ThreadRunLoop.Timer(at: due) { _ in desk.value.look(at: id) })
    }

    private func look(at id: JobID) {
        watches.looked(at: id, at: loop.now)
        guard let job = live[id], watches.isWatched(id) else { return }
        // First: what changes from here on rings again.
        listen(to: job)
        if let run = job.context.run { noteStart(id, on: run.thread, at: run.startedAt) }
        guard let stored = store.job(id) else { return }
        watches.tell(news(of: stored))
    }

    /// Tells those who watch a job what the desk has made of it.
    func tellWatchers(_ event: JobEvent, of id: JobID) {
        guard watches.isWatched(id) else { return }
        switch event {
        case .finish(let outcome): tellWatchers(id, outcome)
        case .cancel: tellWatchers(id, .cancelled)
        case .expire: tellWatchers(id, .expired)
        case .release, .start, .retry, .runAgain:
            guard let job = store.job(id) else { return }
            watches.tell(news(of: job))
        }
    }

    /// Tells those who watch a job what is so now.
    func tellWatchers(of job: Job) {
        if watches.isWatched(job.id) { watches.tell(news(of: job)) }
    }

    /// Tells those who watch a job how it ended, for the last time.
    func tellWatchers(_ id: JobID, _ outcome: Outcome) {
        guard watches.isWatched(id) else { return }
        // The store keeps only so many: it may have dropped this one at once.
        let run = live[id]?.context.run
        let attempt = live[id]?.context.attempt ?? 1
        var news = JobNews(
            id: id, state: outcome.state.rawValue,
            attempt: store.job(id)?.attempt ?? (run == nil ? attempt - 1 : attempt),
            worker: store.job(id)?.workerName ?? run?.thread)
        news.failure = outcome.failureReason
        news.options = (live[id]?.context.options ?? store.job(id)?.details.options) ?? news.options
        news.isFinal = true
        watches.tell(news)
    }

    private func news(of job: Job) -> JobNews {
        var news = JobNews(
            id: job.id, state: shownState(of: job), attempt: job.attempt, worker: job.workerName)
        news.progress = job.state == .running ? live[job.id]?.context.progress : nil
        news.failure = job.outcome?.failureReason
        news.lastFailure = job.state == .running ? nil : live[job.id]?.lastFailure
        news.isFinal = job.state.isEnded
        news.options = job.details.options
        return news
    }
}

extension Outcome {
    /// Why a job failed; nil if it did not.
    var failureReason: String? {
        switch self {
        case .failed(let reason): reason
        case .timedOut: "took longer than its time limit"
        case .cancelled, .expired, .done: nil
        }
    }
}
