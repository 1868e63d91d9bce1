// How jobs end at the desk: with an outcome, taken back, put back, or abandoned by a shutdown.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import WorkerThreads

extension JobDesk {
    /// What a shutdown did not let run.
    struct Abandoned {
        /// Jobs that are gone.
        var count = 0
        /// Durable ones, which stay in the journal.
        var keptCount = 0
    }

    /// Forgets about everything that has not begun; whoever waits for it is told.
    func abandonWaiting() -> Abandoned {
        buffered.removeAll()
        return abandon { $0.context.withdraw() }
    }

    /// Forgets about everything that waits for its time or to be fired, as `abandonWaiting` does.
    func abandonUnreleased() -> Abandoned {
        buffered.removeAll()
        return abandon { [live] job in
            // What waits behind a job whose turn has come is let go when that one has ended.
            let isHeldBack = job.holdUp.map { live[$0.blocker]?.ticket != nil } == true
            return job.ticket == nil && !isHeldBack && job.context.withdraw()
        }
    }

    /// Forgets about everything that is left; durable jobs are put back.
    func abandonRunning() -> Abandoned {
        abandon { job in
            recordPutBack(job)
            return true
        }
    }

    private func abandon(_ isAbandoned: (LiveJob) -> Bool) -> Abandoned {
        var abandoned = Abandoned()
        // The newest first: workers go on beginning the oldest, and none may begin before an older one of its
        // thread that is left for the next start.
        for job in live.values.sorted(by: { $0.id > $1.id }) where isAbandoned(job) {
            live[job.id] = nil
            cancelRelease(of: job)
            endExpiry(of: job)
            job.leaveHoldUp()
            tell(job, .failed(.abandoned))
            if job.isDurable { abandoned.keptCount += 1 } else { abandoned.count += 1 }
        }
        return abandoned
    }

    /// Takes back a job, unless it has begun.
    ///
    /// - Parameter staysInBuffer: the caller takes it from those that were collected.
    func withdraw(
        _ job: LiveJob, as outcome: Outcome = .cancelled, staysInBuffer: Bool = false
    ) -> Bool {
        guard job.context.withdraw() else { return false }
        endWithdrawn(job, outcome, staysInBuffer: staysInBuffer)
        return true
    }

    /// Ends a job that will not begin any more.
    func endWithdrawn(_ job: LiveJob, _ outcome: Outcome, staysInBuffer: Bool = false) {
        if let ticket = job.ticket {
            job.lane.pool.cancel(ticket)
        } else {
            cancelRelease(of: job)
            if !staysInBuffer { buffered[job.lane.name]?.removeAll { $0 == job.id } }
            job.leaveHoldUp()
            stopHolding(job)
        }
        apply(outcome.state == .expired ? .expire : .cancel, to: job.id)
        recordEnd(of: job, nil, outcome, at: wall.unixMilliseconds())
        tellEnd(of: job.id, outcome)
        whenRoomMayBe?()
    }

    func complete(_ completion: Completion) {
        let job = live[completion.job]
        if let job, job.alarm != nil { endAlarm(of: job) }
        if let job, completion.outcome.state == .failed, job.mayRetry, !job.isInterrupted,
            !isRefusing || job.isDurable
        {
            return retry(job, completion)
        }
        if let job, job.isDurable {
            if job.isInterrupted, completion.outcome.state != .done { return putBack(job) }
            recordEnd(of: job, completion.attempt, completion.outcome, at: completion.endedAt)
        }
        keepEnd(completion, isDurable: job?.isDurable == true)
        tellEnd(of: completion.job, completion.outcome)
        whenRoomMayBe?()
        whenCompleted?()
    }

    /// Notes in the store how a job has begun and ended; what can be run again of a durable one is
    /// in the journal.
    private func keepEnd(_ completion: Completion, isDurable: Bool) {
        let (id, outcome) = (completion.job, completion.outcome)
        // Who watches is told of each step.
        if !watches.isEmpty { noteStart(id, on: completion.thread, at: completion.startedAt) }
        do throws(JobStoreError) {
            try store.finish(
                id, outcome, on: completion.thread, from: completion.startedAt,
                at: completion.endedAt, keepsPayload: !isDurable)
            if !watches.isEmpty { tellWatchers(.finish(outcome), of: id) }
        } catch {
            log.error("job \(id): \(error)")
        }
    }

    private func tellEnd(of id: JobID, _ outcome: Outcome) {
        guard let job = live.removeValue(forKey: id) else { return }
        if job.expiry != nil { endExpiry(of: job) }
        if !job.waiters.isEmpty { tell(job, JobAnswer(outcome, of: id)) }
        endHoldUp(by: job)
    }

    /// Tells everybody who waits for a job.
    func tell(_ job: LiveJob, _ answer: JobAnswer) { job.takeWaiters().tell(answer, by: door) }

    // MARK: - In the store

    /// Records how a durable job ended; makes room for the next of its queue.
    func recordEnd(of job: LiveJob, _ attempt: Attempt?, _ outcome: Outcome, at time: Int64) {
        guard let backlog = job.backlog else { return }
        record(.end(job.id, attempt, outcome, at: time), of: job)
        leave(job, backlog)
    }

    private func leave(_ job: LiveJob, _ backlog: Backlog) {
        backlog.removeFromMemory(job.id, job.part, byteCount: job.context.payload.count)
        if job.part != .inTurn { backlog.held.ended(job.id) }
        bringMore(of: backlog)
    }

    /// Lets the journal have a job back whose attempt was interrupted.
    func putBack(_ job: LiveJob) {
        live[job.id] = nil
        recordPutBack(job)
        putBackCount += 1
        tell(job, .failed(.abandoned))
        whenCompleted?()
    }

    /// Has the journal record that the attempt of a job does not count.
    func recordPutBack(_ job: LiveJob) {
        record(.putBack(job.id, attempt: job.context.attempt - 1), of: job)
    }

    /// Leaves a job to the journal that has not begun: it runs after a restart.
    func leaveToJournal(_ job: LiveJob) {
        guard job.context.withdraw(), live[job.id] === job else { return }
        live[job.id] = nil
        leaveExpiry(of: job)
        tell(job, .failed(.leftForRestart(job.id, thread: job.thread)))
        endHoldUp(by: job)
    }
}
