// What clients ask about one job: what is known of it, its result, its end. A job that is not in memory is
// looked for in the store; the answer comes later, and what has changed meanwhile counts.

internal import Jobs
internal import Kernel
internal import RunLoops

extension JobDesk {
    /// Forgets what has been kept for as long as it is to be: nobody else does while no job comes or ends.
    func forgetExpired() { store.expire(at: wall.unixMilliseconds()) }

    /// Whether a job is in memory: then whatever is asked of it is answered at once.
    func isInMemory(_ id: JobID) -> Bool {
        if live[id] != nil { return true }
        forgetExpired()
        return store.state(of: id) != nil
    }

    /// Answers with all that is known of a job.
    func describe(_ id: JobID, _ reply: ReplyToken) {
        noteRunning()
        forgetExpired()
        if let job = store.job(id) { return door.answer(reply, .job(description(of: job))) }
        ask(.describe(id, reply)) { .find(id, ticket: $0) }
    }

    /// A job was looked for that is to be described.
    func describe(_ id: JobID, _ found: Result<Job, JobError>, _ reply: ReplyToken) {
        // It may have come into memory since, where more is known of it.
        switch store.job(id).map({ .success($0) }) ?? found {
        case .success(let job): door.answer(reply, .job(description(of: job)))
        case .failure(let error): door.answer(reply, .failed(error))
        }
    }

    /// A job with what only memory knows of it.
    func description(of job: Job) -> JobDescription {
        let live = live[job.id]
        return JobDescription(
            job, state: shownState(of: job), lastFailure: live?.lastFailure,
            progress: live?.context.progress)
    }

    /// Answers with the result of a job, or that it has not ended.
    func result(of id: JobID, _ reply: ReplyToken) {
        if live[id] != nil { return door.answer(reply, .result(nil)) }
        forgetExpired()
        if let job = store.job(id) { return door.answer(reply, endAnswer(of: job)) }
        ask(.result(id, reply)) { .find(id, ticket: $0) }
    }

    /// What is told of a job that is in memory and not live.
    private func endAnswer(of job: Job) -> JobAnswer {
        // Without an outcome, a shutdown has abandoned it.
        job.outcome == nil ? .failed(.abandoned) : JobAnswer(job.outcome, of: job.id)
    }

    // MARK: - Waiting

    /// Answers with the outcome of a job when it has ended, or when the client's patience has.
    func wait(for id: JobID, _ reply: ReplyToken) {
        if let job = live[id] {
            door.noteWaiting(reply)
            return job.waiters.add(waiter(reply, for: id), by: door)
        }
        forgetExpired()
        if let job = store.job(id) { return door.answer(reply, endAnswer(of: job)) }
        ask(.wait(id, reply)) { .find(id, ticket: $0) }
    }

    /// A job was looked for whose outcome is waited for.
    func wait(for id: JobID, _ found: Result<Job, JobError>, _ reply: ReplyToken) {
        // It may have come into memory, or ended, since the question was asked.
        if live[id] != nil || store.job(id) != nil { return wait(for: id, reply) }
        switch found {
        case .failure(let error): door.answer(reply, .failed(error))
        case .success(let job) where job.outcome != nil:
            door.answer(reply, JobAnswer(job.outcome, of: id))
        case .success where stored.isClosed: door.answer(reply, .failed(.abandoned))
        case .success:
            door.noteWaiting(reply)
            stored.waiters[id, default: Waiters()].add(waiter(reply, for: id), by: door)
        }
    }

    /// Somebody who waits for a job, with the alarm that ends their waiting.
    func waiter(_ reply: ReplyToken, for id: JobID) -> Waiter {
        var alarm: ThreadRunLoop.Timer?
        if case .milliseconds(let limit) = reply.patience {
            let desk = Confined(self, to: loop)
            let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: .milliseconds(limit))) {
                timer in
                timer.invalidate()
                desk.value.waitedInVain(for: id, reply, milliseconds: limit)
            }
            loop.add(timer)
            alarm = timer
        }
        return Waiter(reply: reply, alarm: alarm)
    }

    private func waitedInVain(for id: JobID, _ reply: ReplyToken, milliseconds: Int) {
        let job = live[id]
        if let job {
            job.waiters.alarmRang(by: door)
        } else {
            stored.alarmRang(for: id, by: door)
        }
        door.answer(
            reply,
            .failed(
                .waitedInVain(id, milliseconds: milliseconds, lastFailure: job?.lastFailure)))
    }
}
