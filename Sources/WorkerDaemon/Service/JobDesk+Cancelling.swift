// What becomes of a job that somebody wants to cancel, wherever it is.

internal import Jobs
internal import Kernel

extension JobDesk {
    /// Takes back a job that has not begun, or asks a running one to end; answers what became of it.
    func cancel(_ id: JobID, _ reply: ReplyToken) {
        forgetExpired()
        if let answer = cancel(id) {
            // What was answered has to be on the disk first.
            return mustConfirm(answer, of: id)
                ? confirm(.cancel(answer), reply) : door.answer(reply, .cancel(answer))
        }
        stored.cancelling[id, default: 0] += 1
        ask(.cancel(id, reply)) { .cancel(id, as: .cancelled, ticket: $0) }
    }

    /// - Returns: what became of it; nil if it is not in memory.
    private func cancel(_ id: JobID) -> CancelAnswer? {
        guard let job = live[id] else { return store.job(id).map(cancelNotLive) }
        if withdraw(job) { return .cancelled }
        job.context.requestCancel()
        // Should the daemon die first, it must not run again as if nobody had asked.
        if job.isDurable { tell(.askToEnd(id)) }
        if job.stuckSince != nil {
            reportAgain(job)
            return .stuck
        }
        watchCancel(of: job)
        return .requested
    }

    /// A job that memory has and no thread: it has ended, is put back at the daemon's end, or waits
    /// because it was left to the store when its thread was stopped.
    private func cancelNotLive(_ job: Job) -> CancelAnswer {
        guard job.state == .waiting else { return .tooLate }
        apply(.cancel, to: job.id)
        stored.journal.record(.end(job.id, nil, .cancelled, at: wall.unixMilliseconds()))
        return .cancelled
    }

    private func mustConfirm(_ answer: CancelAnswer, of id: JobID) -> Bool {
        switch answer {
        case .cancelled: true
        case .requested, .stuck: live[id]?.isDurable == true
        case .tooLate: false
        }
    }

    // MARK: - Not in memory

    /// The store has taken a job back, or found none that is parked.
    func cancelledParked(
        _ id: JobID, _ result: Result<[QueueName: [CountedJob]], StoreFault>, _ reply: ReplyToken
    ) {
        noteCancelAnswer(id)
        switch result {
        case .failure(let fault): door.answer(reply, .failed(.storeFailed(fault)))
        case .success(let cancelled) where !cancelled.isEmpty:
            door.answer(reply, .cancel(.cancelled))
        case .success:
            // It has come into memory, or ended, or never was.
            if let answer = cancel(id) { return confirm(.cancel(answer), reply) }
            ask(.lookAfterCancel(id, reply)) { .find(id, ticket: $0) }
        }
    }

    /// A job was looked for that was to be cancelled and is not parked.
    func cancel(_ id: JobID, found: Result<Job, JobError>, _ reply: ReplyToken) {
        switch found {
        case .failure(let error): door.answer(reply, .failed(error))
        case .success:
            if let answer = cancel(id) { return confirm(.cancel(answer), reply) }
            door.answer(reply, .cancel(.tooLate))
        }
    }

    /// Whether a job was taken back is known: if it was not, and has come meanwhile, it goes on.
    func noteCancelAnswer(_ id: JobID) {
        guard let count = stored.cancelling[id] else { return }
        stored.cancelling[id] = count > 1 ? count - 1 : nil
        guard count == 1, let job = stored.withheld.removeValue(forKey: id),
            let backlog = stored.backlogs[job.queue]
        else { return }
        if !leaveParked(job, backlog) { bringDelayed(job, to: backlog) }
    }

    /// Counts a job that is not in memory as ended, and tells who waited for it.
    func tellParkedEnd(_ id: JobID, _ outcome: Outcome) {
        store.countEnd(in: outcome.state)
        tellWatchers(id, outcome)
        stored.waiters.removeValue(forKey: id)?.tell(JobAnswer(outcome, of: id), by: door)
        whenRoomMayBe?()
    }
}
