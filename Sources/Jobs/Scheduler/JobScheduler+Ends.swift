// How jobs end: with an outcome, tried again, taken back, requeued, or abandoned by a shutdown.

/// An attempt's end, as its thread reports it.
package struct Completion: Sendable {
    package let job: JobID
    /// Which attempt it was.
    package let attemptNumber: Int
    package let outcome: Outcome
    /// The state that the outcome leaves the job in; kept beside it, as asking it copies it.
    package let state: JobState
    package let thread: String
    /// In Unix milliseconds.
    package let startedAt: Int64
    package let endedAt: Int64
    /// The next attempt after a failure.
    package let retry: RetryWish

    package init(
        job: JobID, attemptNumber: Int, outcome: Outcome, thread: String, startedAt: Int64,
        endedAt: Int64, retry: RetryWish = .asPlanned
    ) {
        self.job = job
        self.attemptNumber = attemptNumber
        self.outcome = outcome
        state = outcome.state
        self.thread = thread
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.retry = retry
    }

    /// The attempt, as the store records it.
    var attempt: Attempt {
        Attempt(number: attemptNumber, workerName: thread, startedAt: startedAt)
    }
}

extension JobScheduler {
    // MARK: - Attempts

    /// An attempt has ended.
    package mutating func ended(_ completion: Completion) {
        let state = completion.state
        let job = book.entry(completion.job)
        let wasActive = job?.isActive == true
        if wasActive, let job {
            if state == .done || state == .failed { job.group.ends.count += 1 }
            job.stuckSince = nil
            if state == .failed, job.mayRetry, !(job.isInterrupted && job.isStored),
                completion.retry != .never,
                job.isStored || stage.isRefusing || isServed(job) && job.group.isServed
            {
                return retry(job, completion)
            }
            if job.isInterrupted, state == .cancelled || job.isStored && state != .done {
                return giveUp(job)
            }
            recordEnd(of: job, completion.attempt, completion.outcome, at: completion.endedAt)
        }
        keepEnd(completion, of: job, isStored: wasActive && job?.isStored == true)
        if wasActive, let job { leave(job, JobAnswer(completion.outcome, of: completion.job)) }
        if audience.awaitsRoom { effects.append(.roomMayBe) }
        endReleases()
    }

    /// Notes in the book how a job has begun and ended; the store has what a stored one needs to
    /// run again.
    private mutating func keepEnd(
        _ completion: Completion, of entry: JobEntry?, isStored: Bool
    ) {
        let id = completion.job
        // The clients that watch it are told of each step.
        if audience.followsChanges || !audience.watches.isEmpty {
            began(id, on: completion.thread, at: completion.startedAt)
        }
        // A shutdown has left it to the store before it ended.
        if entry == nil, stage.isRefusing { return }
        do throws(JobStoreError) {
            guard let entry else { throw .unknownJob(id) }
            try book.finish(
                entry, completion.outcome, on: completion.thread, from: completion.startedAt,
                at: completion.endedAt, keepsPayload: !isStored)
            if !audience.watches.isEmpty { tellWatchers(.finish(completion.outcome), of: id) }
            if audience.followsChanges {
                tell(.finish(completion.outcome), of: entry, at: completion.endedAt)
            }
        } catch {
            effects.note(.error, "job \(id): \(error); please report this fault")
        }
    }

    /// Lets another attempt follow one that failed, after a pause.
    ///
    /// Meanwhile other jobs of its thread go on, unless it holds them up.
    private mutating func retry(_ job: JobEntry, _ completion: Completion) {
        began(job.id, on: completion.thread, at: completion.startedAt)
        let attempt = job.attemptNumber - job.retry.forgivenCount
        let pause =
            if case .after(let milliseconds) = completion.retry {
                milliseconds
            } else {
                Int64.random(in: RetryPause.milliseconds(after: attempt), using: &jitter)
            }
        let due = completion.endedAt + pause
        // One that went first after a restart goes aside as others do, or holds up its key only.
        if job.isInherited, !job.retry.blocks || job.heldUpOrder !== job.orders.own {
            endHoldUp(by: job)
        }
        // First: the clients that watch it are told with it.
        job.lastFailure = completion.outcome.failureReason
        apply(.retry(dueAt: due), to: job.id, at: completion.endedAt)
        record(.retry(job.id, completion.attempt, dueAt: due), of: job)
        // Going down: its next attempt comes after the restart, or never.
        if stage.isRefusing { tellWaiters(of: job, .failed(.abandoned)) }
        job.beginAnew()
        placeAgain(job, dueAt: due)
        // With a thread that is released, the stored jobs behind it have left, and others go on.
        if job.queue?.isReleased == true || !isServed(job) {
            endHoldUp(by: job)
        } else {
            holdUpOthers(behind: job)
        }
        endReleases()
    }

    /// An attempt was not begun, because it was too late: its thread has withdrawn it.
    package mutating func foundExpired(_ id: JobID) {
        if let job = book.active(id) { endWithdrawn(job, .expired) }
    }

    /// A thread takes no more jobs: the driver could not carry out the offer of one.
    package mutating func refused(_ job: JobEntry) {
        guard book.active(job.id) === job else { return }
        if job.isStored || stage.isRefusing { return leaveToStore(job) }
        _ = withdraw(job)
    }

    /// No worker takes a job any more: its thread was stopped, or the daemon goes down.
    ///
    /// The jobs behind it in its order go with it, to the store if they are stored: they must not
    /// overtake it.
    package mutating func isLeftByWorkers(_ job: JobEntry) {
        guard book.active(job.id) === job else { return }
        let orders = job.orders
        let followers = withdrawFollowers(of: job)
        let isLeft = takeFromThread(job)
        for other in followers + (isLeft ? [job] : []) {
            if other.isStored || stage.isRefusing {
                retract(other)
                leaveWithdrawn(other)
            } else {
                endWithdrawn(other, .cancelled)
            }
        }
        if stage.isRefusing, isLeft { holdUpUntilRestart(orders, behind: job) }
    }

    /// A worker in another process has given a job back, which waits again: the attempt does not
    /// count.
    package mutating func givenBack(_ id: JobID) {
        guard let job = book.active(id) else { return }
        // The book knows of a beginning only if it was asked.
        if book.state(of: id) == .running { apply(.putBack, to: id) }
        // Its expiry is for the first beginning.
        recordRequeue(job, mayExpire: false)
        endExpiry(of: job)
        job.hasBegunElsewhere()
        if audience.notesOldestWaiting { note(waiting: job) }
        leaveIfChanging(job)
    }

    /// A job's worker in another process has vanished, or its program was killed because the store
    /// was away: the job waits again, and another attempt follows, beside its retries.
    package mutating func vanished(_ id: JobID) {
        guard let job = book.active(id) else { return }
        apply(.vanish, to: id)
        job.forgiveAttempt()
        recordRequeue(job, mayExpire: false)
        endExpiry(of: job)
        if audience.notesOldestWaiting { note(waiting: job) }
        leaveIfChanging(job)
    }

    /// Leaves a stored job to the worker in another process that holds it, which may end it after
    /// the restart.
    package mutating func leaveWithWorker(_ id: JobID) {
        guard let job = book.active(id), let queue = job.queue else { return }
        tellWaiters(of: job, .failed(.abandoned))
        // No thread may have it yet.
        if takeFromThread(job) { retract(job) }
        parkAsStored(job, queue)
        keepHoldUp(by: job)
    }

    /// A running job was asked to end, or is over its time limit, and does not react.
    package mutating func doesNotReact(_ id: JobID) {
        guard let job = book.active(id) else { return }
        job.stuckSince = now.unixMilliseconds
        noteBeginning(of: job)
        if let known = book.job(id) { tellWatchers(of: known) }
        if audience.followsChanges { tell(.stuck, of: job) }
    }

    // MARK: - Taking back

    /// Takes back a job, unless it has begun.
    mutating func withdraw(_ job: JobEntry, as outcome: Outcome = .cancelled) -> Bool {
        guard withdrawAttempt(of: job) else { return false }
        endWithdrawn(job, outcome)
        return true
    }

    /// Ends a job that does not begin any more.
    mutating func endWithdrawn(_ job: JobEntry, _ outcome: Outcome) {
        retract(job)
        cancelRelease(of: job)
        apply(outcome.state == .expired ? .expire : .cancel, to: job.id)
        recordEnd(of: job, nil, outcome, at: now.unixMilliseconds)
        environment.endedUnbegun(job.id, of: job.thread, outcome)
        leave(job, JobAnswer(outcome, of: job.id))
        job.group.sweepBuffered { bufferedJob($0) != nil }
        if audience.awaitsRoom { effects.append(.roomMayBe) }
        // Its commit may be the one that a release waits for.
        endReleases()
    }

    /// Sees to it that a job does not begin.
    ///
    /// Of several jobs, the last to begin is withdrawn first: see `lastToBeginFirst`.
    ///
    /// - Returns: false if it has begun, on its thread or before the restart, by a worker that may
    ///   still have it; else it does not begin before it is offered again.
    func withdrawAttempt(of job: JobEntry) -> Bool {
        guard job.place.isOffered, job.isInHands else { return takeFromThread(job) }
        return false
    }

    /// Sees to it that no thread begins a job, or waits for the worker that has it.
    ///
    /// - Returns: false if its thread has begun it.
    func takeFromThread(_ job: JobEntry) -> Bool {
        guard job.place.isOffered else { return true }
        if let attempt = job.attempt, !environment.withdraw(attempt) { return false }
        job.isOfferPending = false
        return true
    }

    /// Takes a withdrawn attempt from its thread's queue.
    mutating func retract(_ job: JobEntry) {
        if job.place.isOffered, let attempt = job.attempt { effects.append(.retract(attempt)) }
    }

    /// A job has ended: all that waits for it goes on.
    private mutating func leave(_ job: JobEntry, _ answer: JobAnswer) {
        book.deactivate(job)
        // Not before: what makes room in memory must not find it in line.
        if let queue = job.queue { bringMore(of: queue) }
        endExpiry(of: job)
        if job.hasWaiters { tellWaiters(of: job, answer) }
        endHoldUp(by: job)
        job.forgetOrders()
        // It may have been the one that others in line were waiting for.
        if let queue = job.queue { offerLine(of: queue) }
    }

    /// Answers all clients that wait for a job.
    mutating func tellWaiters(of job: JobEntry, _ answer: JobAnswer) {
        job.takeWaiters().tell(answer, &alarms, &effects)
    }

    // MARK: - In the store

    /// Records how a stored job ended.
    private mutating func recordEnd(
        of job: JobEntry, _ attempt: Attempt?, _ outcome: Outcome, at time: Int64
    ) {
        guard let queue = job.queue else { return }
        cancels.noteEnd(of: job.id, outcome)
        effects.record(.end(job.id, attempt, outcome, at: time))
        queue.removeFromMemory(job)
        if job.part != .inTurn { queue.delayed.ended(job.id) }
    }

    /// Gives up a job whose attempt the shutdown has interrupted: the store has a stored one back.
    private mutating func giveUp(_ job: JobEntry) {
        tellWaiters(of: job, .failed(.abandoned))
        if let queue = job.queue {
            recordRequeue(job)
            stage.requeuedCount += 1
            parkAsStored(job, queue)
        } else {
            abandonInMemory(job, hasBegun: true)
            endHoldUp(by: job)
            job.forgetOrders()
        }
    }

    /// Has the store record that the attempt of a job does not count.
    mutating func recordRequeue(_ job: JobEntry, mayExpire: Bool = true) {
        record(
            .putBack(
                job.id, attempt: job.attemptNumber - 1, forgivenCount: job.retry.forgivenCount,
                mayExpire: mayExpire),
            of: job)
    }

    /// Leaves a job to the store that has not begun: it runs after a restart.
    ///
    /// Going down, a job in memory only is abandoned.
    private mutating func leaveToStore(_ job: JobEntry) {
        if takeFromThread(job) { leaveWithdrawn(job) }
    }

    private mutating func leaveWithdrawn(_ job: JobEntry) {
        let error: JobError =
            stage.isRefusing ? .abandoned : .leftForRestart(job.id, thread: job.thread)
        tellWaiters(of: job, .failed(error))
        if let queue = job.queue {
            parkAsStored(job, queue)
        } else {
            abandonInMemory(job, hasBegun: false)
        }
        // Going down, nothing overtakes a job that is left to the restart.
        if stage.isRefusing { abandonHeldUp(by: job) } else { endHoldUp(by: job) }
        job.forgetOrders()
    }
}
