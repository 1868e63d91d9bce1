// Questions of clients about one job: its description, its result, its end. If the job is not in
// memory, the store is asked. Its answer comes later, and a change that was made meanwhile wins.

extension JobScheduler {
    /// Forgets ended jobs past their retention time.
    ///
    /// Called on reads: an idle daemon would otherwise never forget any.
    package mutating func forgetExpired() { book.expire(at: now.unixMilliseconds) }

    /// Whether a job is in memory: then all that is asked of it is answered at once.
    package mutating func isInMemory(_ id: JobID) -> Bool {
        if book.active(id) != nil { return true }
        forgetExpired()
        return book.state(of: id) != nil
    }

    /// Answers with all that is known of a job.
    package mutating func describe(_ id: JobID, _ reply: ReplyToken) {
        if let active = book.active(id) { noteBeginning(of: active) }
        forgetExpired()
        if let job = book.job(id) { return effects.answer(reply, .job(description(of: job))) }
        ask(.describe(id, reply)) { .find(id, ticket: $0) }
    }

    /// A job was looked for that is to be described.
    mutating func describe(_ id: JobID, _ found: Result<Job, JobError>, _ reply: ReplyToken) {
        // It may have come into memory since, where more is known of it.
        switch book.job(id).map({ .success($0) }) ?? found {
        case .success(let job): effects.answer(reply, .job(description(of: job)))
        case .failure(let error): effects.answer(reply, .failed(error))
        }
    }

    /// A job with all that only memory knows of it.
    package func description(of job: Job) -> JobStatus {
        let active = book.active(job.id)
        return JobStatus(
            job, state: shownState(of: job), lastFailure: active?.lastFailure,
            progress: active.flatMap { progress(of: $0) }, holdUp: holdUp(before: job))
    }

    /// The latest report of a job's handler.
    func progress(of job: JobEntry) -> JobProgress? {
        job.attempt.flatMap { environment.progress(of: $0) }
    }

    /// A job's state as it is shown.
    ///
    /// `stuck` is no state of its own: a stuck job can do all that a running one can.
    package func shownState(of job: Job) -> String {
        let active = book.active(job.id)
        if job.state == .running, active?.stuckSince != nil { return "stuck" }
        return (isDue(job) ? .waiting : job.state).rawValue
    }

    /// Whether a job is parked as delayed and due: then it waits like any other.
    ///
    /// In memory, a delay goes on when the clock is set.
    func isDue(_ job: Job) -> Bool {
        job.state == .delayed && book.active(job.id) == nil
            && job.dueAt.map { $0 <= now.unixMilliseconds } == true
    }

    /// Answers with the result of a job, or that it has not ended.
    package mutating func result(of id: JobID, _ reply: ReplyToken) {
        if book.active(id) != nil { return effects.answer(reply, .result(nil)) }
        forgetExpired()
        if let job = book.job(id) { return effects.answer(reply, endAnswer(of: job)) }
        ask(.result(id, reply)) { .find(id, ticket: $0) }
    }

    /// The answer to a client that waits for a job in memory that is not active.
    private func endAnswer(of job: Job) -> JobAnswer {
        // Without an outcome, a shutdown has abandoned it.
        job.outcome == nil ? .failed(.abandoned) : JobAnswer(job.outcome, of: job.id)
    }

    // MARK: - Waiting

    /// Answers with the outcome of a job when it has ended, or when the client's patience has.
    ///
    /// - Parameter isNamed: whether a unique name has led to it: then there was such a job.
    package mutating func wait(for id: JobID, isNamed: Bool = false, _ reply: ReplyToken) {
        if let job = book.active(id) {
            effects.awaitEnd(reply)
            return addWaiter(reply, to: job)
        }
        forgetExpired()
        if let job = book.job(id) { return effects.answer(reply, endAnswer(of: job)) }
        cancels.seek(id)
        ask(.wait(id, isNamed: isNamed, reply)) { .find(id, ticket: $0) }
    }

    /// A job was looked for whose outcome is waited for.
    mutating func wait(
        for id: JobID, isNamed: Bool, _ found: Result<Job, JobError>, _ reply: ReplyToken
    ) {
        let ended = cancels.found(id)
        // It may have come into memory, or ended, since the question was asked.
        if book.active(id) != nil || book.state(of: id) != nil {
            return wait(for: id, isNamed: isNamed, reply)
        }
        switch found {
        case .failure(.unknownJob) where ended != nil:
            effects.answer(reply, JobAnswer(ended, of: id))
        case .failure(.unknownJob) where isNamed:
            effects.answer(reply, .failed(.resultIsGone(id)))
        case .failure(let error): effects.answer(reply, .failed(error))
        case .success(let job) where job.outcome != nil:
            effects.answer(reply, JobAnswer(job.outcome, of: id))
        case .success(let job):
            if let ended { return effects.answer(reply, JobAnswer(ended, of: id)) }
            if let error = reasonToStay(job) { return effects.answer(reply, .failed(error)) }
            effects.awaitEnd(reply)
            let waiter = waiter(reply, for: id)
            cancels.withWaiters(of: id, thread: job.slot) { $0.add(waiter, &alarms, environment) }
        }
    }

    /// Looks for the parked jobs of some threads whose ends are waited for.
    ///
    /// Another scheduler may have had a claimed thread, and ended them; or their handler has gone.
    mutating func lookForEnds(ofThreads isMeant: (String) -> Bool) {
        for id in cancels.waitedFor(ofThreads: isMeant) { ask(.end(id)) { .find(id, ticket: $0) } }
    }

    /// A parked job was looked for whose end is waited for.
    mutating func lookedForEnd(of id: JobID, _ found: Result<Job, JobError>) {
        let answer: JobAnswer
        switch found {
        case .success(let job) where job.outcome != nil: answer = JobAnswer(job.outcome, of: id)
        case .success(let job) where served.knownSelector(job.selector) == nil:
            answer = .failed(.unknownSelector(job.selector))
        // It goes on, or has come into memory with the clients that wait for it.
        case .success: return
        case .failure(.unknownJob): answer = .failed(.resultIsGone(id))
        case .failure(let error): answer = .failed(error)
        }
        cancels.takeWaiters(of: id)?.tell(answer, &alarms, &effects)
    }

    /// Why a job stays in the store until a restart or a reload; nil if it does not.
    func reasonToStay(_ job: Job) -> JobError? {
        if stage.keepsParked || stage.keepsDelayed && job.state != .waiting { return .abandoned }
        guard let group = served.knownGroup(of: job.thread) else {
            return environment.hasAllThreads ? .unknownThread(job.thread) : nil
        }
        if served.knownSelector(job.selector) == nil, environment.hasAllThreads {
            return .unknownSelector(job.selector)
        }
        guard environment.isStopped(job.thread, of: group) else { return nil }
        if stage.isRefusing { return .abandoned }
        return .leftForRestart(job.id, thread: job.thread)
    }

    /// Threads were told to stop: the clients that wait for parked jobs of theirs are told that
    /// these stay in the store.
    ///
    /// Buffered jobs in memory only are cancelled, as no `FIRE` releases them any more.
    ///
    /// - Complexity: O(buffered jobs in memory).
    package mutating func threadsWereStopped() {
        cancelBufferedOfStopped()
        let (served, environment) = (served, environment)
        tellWaiters(
            ofThreads: { thread in
                served.knownGroup(of: thread).map { environment.isStopped(thread, of: $0) } == true
            }, JobError.leftForRestart)
    }

    private mutating func cancelBufferedOfStopped() {
        let environment = environment
        for group in served.groups {
            let buffered = group.takeBuffered(
                { bufferedJob($0) }, where: { environment.isStopped($0.thread, of: group) })
            for job in buffered { _ = withdraw(job) }
        }
    }

    /// Tells the clients that wait for parked jobs of some threads why these do not go on.
    ///
    /// - Parameter error: the reason for a job of a thread or pool.
    mutating func tellWaiters(
        ofThreads isMeant: (String) -> Bool, _ error: (JobID, String) -> JobError
    ) {
        for waiting in cancels.takeWaiters(ofThreads: isMeant) {
            let reason = error(waiting.id, PoolSlot.shown(waiting.thread))
            waiting.clients.tell(.failed(reason), &alarms, &effects)
        }
    }

    /// Has a client wait for the end of a job in memory.
    mutating func addWaiter(_ reply: ReplyToken, to job: JobEntry) {
        let waiter = waiter(reply, for: job.id)
        job.withWaiters { $0.add(waiter, &alarms, environment) }
    }

    private mutating func waiter(_ reply: ReplyToken, for id: JobID) -> WaitingClient {
        guard case .milliseconds(let limit) = reply.patience else {
            return WaitingClient(reply: reply, alarm: nil)
        }
        let (nanoseconds, isBeyond) = Int64(limit).multipliedReportingOverflow(by: 1_000_000)
        let end = isBeyond ? .max : now.monotonic(after: nanoseconds)
        let alarm = alarms.set(.patience(id, reply, milliseconds: limit, until: end), at: end)
        return WaitingClient(reply: reply, alarm: alarm)
    }

    mutating func waitedInVain(for id: JobID, _ reply: ReplyToken, milliseconds: Int) {
        let job = book.active(id)
        if let job {
            job.withWaiters { $0.alarmRang(&alarms, environment) }
        } else if cancels.hasWaiters(of: id) {
            cancels.withWaiters(of: id) { $0.alarmRang(&alarms, environment) }
        }
        effects.answer(
            reply,
            .failed(
                .waitedInVain(id, milliseconds: milliseconds, lastFailure: job?.lastFailure)))
    }
}
