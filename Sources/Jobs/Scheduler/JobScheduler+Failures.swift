// Jobs that have failed for good: they are kept with their payloads until they are dropped or run
// again. A stored one is in the store, another one in memory.

/// Failed jobs that run again or are dropped, part by part.
struct FailedJobsChange {
    let failed: FailedJobs
    let action: FailedJobAction
    /// The next part to ask the store for.
    var part: FailedJobsPart
    /// How many there were in the parts before.
    var count = 0
    let reply: ReplyToken
}

extension JobScheduler {
    /// Lets failed jobs run again, with as many attempts as before; answers how many.
    ///
    /// Each is due now, and takes its place behind the waiting jobs, under its old number.
    package mutating func runAgain(_ failed: FailedJobs, _ reply: ReplyToken) {
        guard cancels.bulkTurns.enter(.runAgain(failed, reply)) else { return }
        beginToRunAgain(failed, reply)
    }

    mutating func beginToRunAgain(_ failed: FailedJobs, _ reply: ReplyToken) {
        let (threads, selectors) = (openThreads, Set(served.selectors.map(\.name)))
        let isServed: @Sendable (Job) -> Bool = {
            threads.contains($0.thread) && selectors.contains($0.selector)
        }
        do throws(JobError) {
            if stage.isRefusing { throw JobError.shuttingDown }
            if case .all(let selector) = failed { try checkIsServed(selector) }
            try resolve(failed, .runAgain(isServed: isServed), reply)
        } catch {
            effects.answer(reply, .failed(error))
            endBulkTurn()
        }
    }

    /// Forgets failed jobs; answers how many.
    package mutating func drop(_ failed: FailedJobs, _ reply: ReplyToken) {
        do throws(JobError) {
            try resolve(failed, .drop, reply)
        } catch {
            effects.answer(reply, .failed(error))
        }
    }

    private mutating func resolve(
        _ failed: FailedJobs, _ action: FailedJobAction, _ reply: ReplyToken
    ) throws(JobError) {
        forgetExpired()
        if case .one(let id) = failed { try checkIsInactive(id) }
        resolve(
            FailedJobsChange(
                failed: failed, action: action,
                part: FailedJobsPart(
                    before: JobID(book.nextNumber), moment: now.unixMilliseconds,
                    countMax: queues.window.settledAtOnce,
                    byteCountMax: queues.window.byteCountMax),
                reply: reply))
    }

    // MARK: - In the store

    private mutating func resolve(_ change: FailedJobsChange) {
        ask(.resolve(change)) { .settle(change.failed, change.action, change.part, ticket: $0) }
    }

    /// Handles a part that the store has resolved or could not: starts the next one, and at last
    /// resolves those in memory.
    mutating func resolved(
        _ change: FailedJobsChange, _ result: Result<FailedJobsAnswer, StoreFault>
    ) {
        var change = change
        guard let answer = resolvedPart(&change, result) else { return resolve(change) }
        if case .count = answer, !change.part.isSynced {
            confirm(answer, change.reply)
        } else {
            effects.answer(change.reply, answer)
        }
        if case .runAgain = change.action { endBulkTurn() }
    }

    /// - Returns: the answer to the client; nil if another part follows.
    private mutating func resolvedPart(
        _ change: inout FailedJobsChange, _ result: Result<FailedJobsAnswer, StoreFault>
    ) -> JobAnswer? {
        let answer: FailedJobsAnswer
        switch result {
        case .failure(let fault): return .failed(.storeFailed(fault))
        case .success(let success): answer = success
        }
        for job in answer.jobs { readmit(job) }
        for dropped in answer.dropped {
            if audience.followsChanges { tell(dropped, book.entry(dropped.id)) }
            _ = book.dropFailed(dropped.id)
            environment.dropped(dropped.id)
        }
        change.count += answer.jobs.count + answer.dropped.count
        if let last = answer.last {
            if stage.isRefusing { return .failed(.interrupted(jobCount: change.count)) }
            change.part.after = last
            change.part.isSynced = false
            return nil
        }
        if case .one(let id) = change.failed {
            if change.count > 0 { return .count(1) }
            // It has failed since the store looked: the store is told of that first, and looks
            // again.
            if answer.other?.state.isEnded == false, book.job(id)?.state == .failed { return nil }
        }
        switch resolveInMemory(change, answer.other) {
        case .failure(let error): return .failed(error)
        case .success(let count): return .count(count)
        }
    }

    // MARK: - In memory

    /// - Parameter other: what the one that was asked for is, if nothing could be done about it.
    private mutating func resolveInMemory(
        _ change: FailedJobsChange, _ other: Job?
    ) -> Result<Int, JobError> {
        switch change.failed {
        case .all(let selector):
            var count = change.count
            for id in book.failed(of: selector) where resolve(id, change.action) { count += 1 }
            return .success(count)
        case .one(let id):
            if resolve(id, change.action) { return .success(1) }
            let what =
                switch change.action {
                case .runAgain: "run again"
                case .drop: "be dropped"
                }
            return .failure(cannot(what, id, other))
        }
    }

    private mutating func resolve(_ id: JobID, _ action: FailedJobAction) -> Bool {
        switch action {
        case .runAgain: runAgainInMemory(id)
        case .drop: dropInMemory(id)
        }
    }

    private mutating func dropInMemory(_ id: JobID) -> Bool {
        let known = audience.followsChanges ? book.entry(id) : nil
        guard book.dropFailed(id) else { return false }
        if let known {
            let details = known.details
            tell(DroppedJob(id: id, slot: details.thread, selector: details.selector), known)
        }
        environment.dropped(id)
        return true
    }

    private mutating func runAgainInMemory(_ id: JobID) -> Bool {
        guard let failed = book.job(id), failed.mayRunAgain,
            let selector = served.knownSelector(failed.selector),
            let group = served.knownGroup(of: failed.thread),
            !environment.isStopped(failed.thread, of: group)
        else { return false }
        apply(.runAgain, to: id)
        guard let job = book.job(id) else { return false }
        let again = entry(job, selector.index, group, nil)
        again.move(to: .committing)
        book.activate(again)
        if audience.notesOldestWaiting { note(waiting: again) }
        offerInOrder(again)
        return true
    }

    /// Takes up a failed job of the store that runs again.
    private mutating func readmit(_ job: Job) {
        _ = book.dropFailed(job.id)
        if audience.followsChanges { tellRunAgain(job) }
        // Its thread or its handler may have gone since the store was asked.
        guard let group = served.knownGroup(of: job.thread) else { return queues.addOrphan(job) }
        let queue = queues.queue(job.queue, of: group)
        queue.delayed.runsAgain(job.id)
        let due = job.dueAt ?? job.acceptedAt
        guard isServed(job, of: queue), !stage.keepsDelayed,
            queue.delayed.takesDue(DueKey(dueAt: due, id: job.id))
        else {
            queues.park(job.id, .delayed, byteCount: job.payload.count, in: queue)
            queue.delayed.fired(at: due)
            return bringMore(of: queue)
        }
        if let adopted = adopt(job, queue) { delay(adopted, until: due) }
    }

    // MARK: - Refusals

    private mutating func checkIsInactive(_ id: JobID) throws(JobError) {
        guard book.active(id) != nil else { return }
        throw cannot("run again or be dropped", id, book.job(id))
    }

    private func checkIsServed(_ selector: String) throws(JobError) {
        guard served.knownSelector(selector) == nil else { return }
        throw JobError.unknownSelector(selector)
    }

    private mutating func cannot(_ what: String, _ id: JobID, _ known: Job?) -> JobError {
        if let active = book.active(id) { noteBeginning(of: active) }
        guard let job = book.job(id) ?? known else { return .unknownJob(id) }
        guard job.state == .failed else {
            return .hasNotFailed(id, job.state, action: what)
        }
        guard served.knownSelector(job.selector) != nil else {
            return .unknownSelector(job.selector)
        }
        guard let group = served.knownGroup(of: job.thread) else {
            return .unknownThread(job.thread)
        }
        guard !environment.isStopped(job.thread, of: group) else {
            return refusal(ofStopped: job.thread)
        }
        return .payloadIsGone(id)
    }

    /// The names under which threads take jobs.
    private var openThreads: Set<String> {
        var names: Set<String> = []
        for group in served.groups where group.isServed {
            for name in group.names where !environment.isStopped(name, of: group) {
                names.insert(name)
            }
        }
        return names
    }
}
