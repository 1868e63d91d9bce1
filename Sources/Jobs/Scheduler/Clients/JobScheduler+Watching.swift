// Telling watching clients about changes of jobs. A change that the scheduler makes is told at
// once. A change that the job's thread makes (it begins, it reports how far it is) is an input,
// `changed`, after which the job is looked at with a pause between two looks. So a handler may
// report in a tight loop, and a program may write in one.

extension JobScheduler {
    // MARK: - Requests

    /// Sends a client each change of these jobs, their present states first; answers their number.
    ///
    /// If a job is unknown, the answer says so, and the client watches the same jobs as before.
    ///
    /// - Parameter withOutput: whether it is told when a program has written something.
    package mutating func watch(
        _ ids: Set<JobID>, withOutput: Bool = false, _ reply: ReplyToken
    ) {
        let request = WatchRequest(ids, reply, audience.watches)
        for id in ids {
            if let job = book.active(id) { noteBeginning(of: job) }
        }
        // Before anything is asked: what becomes of them meanwhile is told, too.
        for id in ids { audience.watches.add(reply.client, to: id, withOutput: withOutput) }
        forgetExpired()
        let unknown = ids.filter { book.state(of: $0) == nil }
        request.missingCount = unknown.count
        if unknown.isEmpty { return finish(request) }
        for id in unknown.sorted() { ask(.watch(id, request)) { .find(id, ticket: $0) } }
    }

    /// All jobs that a client wants to watch were looked for.
    mutating func finish(_ request: WatchRequest) {
        if let fault = request.fault {
            for id in request.added { audience.watches.remove(request.client, from: id) }
            return effects.answer(request.reply, .failed(fault))
        }
        effects.answer(request.reply, .count(request.ids.count))
        for id in request.ids.sorted() { greet(request.client, id, request.found[id]) }
    }

    /// Sends a new watcher the present state of a job.
    ///
    /// - Parameter stored: the job as the store knows it, if it is not in memory.
    private mutating func greet(_ client: UInt64, _ id: JobID, _ stored: Job?) {
        // It may have ended since, which was told then.
        guard audience.watches.isWatched(id, by: client) else { return }
        if let job = book.active(id) { effects.append(.listen(job)) }
        guard let job = book.job(id) ?? stored else { return }
        if book.active(id) == nil { audience.watches.note(job.slot, of: id) }
        audience.watches.tell(news(of: job), to: client, &effects)
    }

    // MARK: - Changes

    /// The thread of a job has begun it, its handler has said how far it is, or its program has
    /// written something.
    package mutating func changed(_ id: JobID) {
        guard let due = audience.watches.changed(id, at: now.monotonic) else { return }
        if due <= now.monotonic { return look(at: id) }
        _ = alarms.set(.look(id), at: due)
    }

    mutating func look(at id: JobID) {
        audience.watches.looked(at: id, at: now.monotonic)
        guard let job = book.active(id), audience.watches.isWatched(id) else { return }
        // The driver listens first: a change from here on is an input again.
        effects.append(.listen(job))
        noteBeginning(of: job)
        guard let known = book.job(id) else { return }
        audience.watches.tell(news(of: known), &effects)
    }

    /// Tells the clients that watch a job what the scheduler has made of it.
    mutating func tellWatchers(_ event: JobEvent, of id: JobID) {
        guard audience.watches.isWatched(id) else { return }
        switch event {
        case .finish(let outcome): tellWatchers(id, outcome)
        case .cancel: tellWatchers(id, .cancelled)
        case .expire: tellWatchers(id, .expired)
        case .release, .start, .retry, .putBack, .vanish, .runAgain:
            if let job = book.job(id) { audience.watches.tell(news(of: job), &effects) }
        }
    }

    /// Sends the watchers of a job its present state.
    mutating func tellWatchers(of job: Job) {
        if audience.watches.isWatched(job.id) { audience.watches.tell(news(of: job), &effects) }
    }

    /// Tells the clients that watch a job how it ended, for the last time.
    mutating func tellWatchers(_ id: JobID, _ outcome: Outcome) {
        guard audience.watches.isWatched(id) else { return }
        // The book keeps only so many ended jobs: it may have dropped this one at once.
        let (active, known) = (book.active(id), book.job(id))
        let beginning = active.flatMap { self.beginning(of: $0) }
        let attempt = active?.attemptNumber ?? 1
        var news = JobUpdate(
            id: id, state: outcome.state.rawValue,
            attempt: known?.attempt ?? (beginning == nil ? attempt - 1 : attempt),
            worker: known?.workerName ?? beginning?.thread)
        news.failure = outcome.failureReason
        news.options = (active?.details.options ?? known?.details.options) ?? news.options
        news.isFinal = true
        audience.watches.tell(news, &effects)
    }

    private func news(of job: Job) -> JobUpdate {
        let active = book.active(job.id)
        var news = JobUpdate(
            id: job.id, state: shownState(of: job), attempt: job.attempt, worker: job.workerName)
        news.progress = job.state == .running ? active.flatMap { progress(of: $0) } : nil
        news.written =
            job.state == .running
            ? active?.attempt.flatMap { environment.written(by: $0) } : nil
        news.failure = job.outcome?.failureReason
        news.lastFailure = job.state == .running ? nil : active?.lastFailure
        news.isFinal = job.state.isEnded
        news.options = job.details.options
        return news
    }
}

extension Outcome {
    /// Why a job failed; nil if it did not.
    package var failureReason: String? {
        switch self {
        case .failed(let reason): reason
        case .timedOut: "took longer than its time limit"
        case .cancelled, .expired, .done: nil
        }
    }
}
