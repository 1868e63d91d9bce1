// How a job is accepted: known at once, answered and begun when it is kept as its client wants it. That is at
// once for a job in memory only, and when the store has it for any other.

internal import Jobs
internal import Kernel
internal import Wording
internal import WorkerThreads

extension JobDesk {
    /// Accepts a job, and answers with its number or why there is none.
    ///
    /// - Parameter run: what is recorded of the schedule that makes it, together with it; then it is told
    ///   to the store by `tellRuns`.
    func perform(
        _ request: borrowing JobRequest, of run: ScheduleRun? = nil, _ reply: ReplyToken
    ) {
        // The one place that decides whether a job is told to the store.
        let isKept = stored.journal.isKeeping && !request.isVolatile
        let name = request.uniqueName
        do throws(JobError) {
            if let accepted = try accept(request, isKept: isKept, of: run, reply) {
                answerAccepted(accepted.id, accepted.job, reply)
            }
        } catch {
            // A repeated submit gets the first one's answer also when there is no room for another job.
            guard let name, isKept, error != .shuttingDown else {
                return door.answer(reply, .failed(error))
            }
            ask(.repeated(error, reply)) { .findNamed(name, ticket: $0) }
        }
    }

    /// - Returns: a job in memory only, of which the number may be known from before; nil if the store is asked
    ///   first.
    private func accept(
        _ request: borrowing JobRequest, isKept: Bool, of run: ScheduleRun?, _ reply: ReplyToken
    ) throws(JobError) -> (id: JobID, job: LiveJob?)? {
        let now = wall.unixMilliseconds()
        let name = request.uniqueName
        if !isKept, let name,
            let id = uniqueNames.job(named: name, at: now, isLive: { live[$0] != nil })
        {
            return (id, live[id])
        }
        let (lane, handler) = try check(request)
        let byteCount = request.payload.count
        let backlog = isKept ? stored.backlog(of: request.queue, lane) : nil
        if let backlog { try checkLimits(byteCount, of: lane, backlog.laneLoad, stored.load) }
        let isParked = backlog?.parks(request, at: now) ?? false
        let id = isParked ? store.takeNumber() : try takeNumber(for: byteCount, at: now)
        let accepted = Job(
            id: id, request: request, details(of: request, handler), acceptedAt: now)
        reserveNumbers()
        let (state, dueAt) = (accepted.state, accepted.dueAt)
        let job = isParked ? nil : enter(accepted, handler, lane, backlog)
        guard let backlog else {
            store.keep(accepted)
            if let name { uniqueNames.give(name, to: id, at: now) }
            if let job { goOn(job, state, dueAt: dueAt) }
            return (id, job)
        }
        if isParked {
            backlog.addParked(state, .one(byteCount))
            if let expiresAt = accepted.expiresAt { noteParkedExpiry(at: expiresAt) }
        } else {
            store.keep(accepted)
        }
        stored.expectCommit(
            StoredJobs.Accepting(
                id: id, job: job, backlog: backlog, state: state, dueAt: dueAt,
                byteCount: byteCount, reply: reply))
        let new = NewJob(accepted, isParked: isParked)
        if let run {
            // Whoever makes it tells the store, of several at once.
            stored.add(MadeRun(run: run, new: new))
        } else if let name {
            tell(.acceptOnce(new, name: name))
        } else {
            tell(.accept(new))
        }
        return nil
    }

    /// What does not change about a job: mostly the same as of the one before.
    private func details(of request: borrowing JobRequest, _ handler: Handler) -> JobDetails {
        if let recentDetails, recentDetails.areThose(of: request) { return recentDetails }
        let details = JobDetails(request, defaults: handler.defaults)
        if request.options.isEmpty { recentDetails = details }
        return details
    }

    /// Answers with the number of a job, or later with its outcome.
    private func answerAccepted(_ id: JobID, _ job: LiveJob?, _ reply: ReplyToken) {
        // Mostly it is in memory, and nobody has to be asked.
        guard reply.patience != nil, let job else {
            return door.answer(reply, .accepted(id))
        }
        job.waiters.add(waiter(reply, for: id), by: door)
    }

    /// Takes a new job into memory, where the desk holds it.
    private func enter(
        _ accepted: borrowing Job, _ handler: Handler, _ lane: Lane, _ backlog: Backlog?
    ) -> LiveJob {
        let job = liveJob(accepted, handler, lane, backlog: backlog)
        job.part = accepted.state == .delayed ? .held : .inTurn
        live[accepted.id] = job
        hold(job)
        backlog?.addInMemory(job.part, byteCount: accepted.payload.count)
        return job
    }

    /// Lets a job go on that is kept as its client wants it.
    private func goOn(_ job: LiveJob, _ state: JobState, dueAt: Int64?) {
        switch state {
        case .delayed: place(job, dueAt: dueAt ?? 0)
        case .buffered: buffered[job.lane.name, default: []].append(job.id)
        case .waiting, .running, .done, .failed, .cancelled, .expired:
            stopHolding(job)
            submitInOrder(job)
        }
    }

    /// Tells the store the runs of schedules that were accepted.
    func tellRuns() {
        let runs = stored.takeRuns()
        if !runs.isEmpty { tell(.run(runs)) }
    }

    // MARK: - Commits

    /// The next jobs are on the disk, or could not get there.
    func committed(_ count: Int, _ fault: StoreFault?) {
        // Neighbours are mostly of the same queue, which is looked after once for all of them.
        var wanting: Backlog?
        for _ in 0..<count {
            guard let accepting = stored.takeCommitted() else { break }
            guard !committed(accepting, fault), wanting !== accepting.backlog else { continue }
            if let wanting { bringMore(of: wanting) }
            wanting = accepting.backlog
        }
        if let wanting { bringMore(of: wanting) }
    }

    /// A job is on the disk, or could not get there.
    ///
    /// - Returns: whether it goes on in memory; else its queue may want a load.
    private func committed(_ accepting: StoredJobs.Accepting, _ fault: StoreFault?) -> Bool {
        let id = accepting.id
        if let fault {
            forget(accepting, .failed(.storeFailed(fault)))
            return false
        }
        let job = accepting.job.flatMap { live[id] === $0 ? $0 : nil }
        answerAccepted(id, job, accepting.reply)
        guard let job else { return false }
        goOn(job, accepting.state, dueAt: accepting.dueAt)
        return true
    }

    /// The next job has the name of another one, which its client gets.
    func existing(_ other: JobID) {
        guard let accepting = stored.takeCommitted() else { return }
        forget(accepting, .accepted(other))
        bringMore(of: accepting.backlog)
    }

    /// A job is not accepted after all.
    private func forget(_ accepting: StoredJobs.Accepting, _ answer: JobAnswer) {
        let id = accepting.id
        if let job = accepting.job {
            if live[id] === job {
                live[id] = nil
                endExpiry(of: job)
                stopHolding(job)
                accepting.backlog.removeFromMemory(
                    id, job.part, byteCount: accepting.byteCount)
            } else {
                uncountCancelled(id)
            }
            store.discard(id)
        } else {
            accepting.backlog.removeParked(accepting.state, .one(accepting.byteCount))
        }
        door.answer(accepting.reply, answer)
    }

    // MARK: - Refusals

    /// Finds out whether there is a thread and code for a job.
    func checkServed(_ request: borrowing JobRequest) throws(JobError) {
        _ = try lane(of: request.thread)
        _ = try handler(of: request.selector)
    }

    /// Finds out whether a job can be accepted.
    private func check(_ request: borrowing JobRequest) throws(JobError) -> (Lane, Handler) {
        if isRefusing { throw JobError.shuttingDown }
        let lane = try lane(of: request.thread)
        let handler = try handler(of: request.selector)
        if (try? lane.pool.isStopped(onThread: request.thread)) != false {
            throw JobError.stoppedThread(request.thread)
        }
        let waiting = waitingCount(of: lane)
        if waiting >= lane.maxQueued {
            throw full(
                "thread \(lane.name) holds \(counted(waiting, "waiting job")), its limit", lane)
        }
        return (lane, handler)
    }

    /// The number of a new job that is kept in memory.
    private func takeNumber(for byteCount: Int, at now: Int64) throws(JobError) -> JobID {
        do throws(JobStoreError) {
            return try store.takeNumber(forPayloadOf: byteCount, at: now)
        } catch .full(let count, let byteCount) {
            throw full(
                "\(counted(count, "job")) of \(counted(byteCount, "byte")) waiting or running, the limit",
                nil)
        } catch {
            throw JobError.refused(error)
        }
    }
}

extension JobRequest {
    /// The queue of the store that it belongs to.
    var queue: QueueName { QueueName(thread: thread, priority: priority) }
}
