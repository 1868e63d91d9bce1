// What becomes of a job that somebody wants to cancel, and who waited for it. Confined to the desk's
// thread.

internal import Jobs
internal import Kernel

/// What `CANCEL id` is answered with; each word is on the wire as it is here.
enum CancelAnswer: String {
    /// It had not begun, and never runs.
    case cancelled
    /// It runs, and was asked to end.
    case requested
    /// It has ended.
    case tooLate = "toolate"
    /// It runs, was asked to end or is over its time limit, and does not listen.
    case stuck
}

extension JobDesk {
    /// Takes back a job that has not begun, or asks a running one to end.
    ///
    /// - Returns: what became of it; nil if it is not in memory.
    func cancel(_ id: JobID) -> CancelAnswer? {
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

    /// A job that the store has and no thread: it has ended, is put back at the daemon's end, or waits
    /// because it was left to the journal when its thread was stopped.
    private func cancelNotLive(_ job: Job) -> CancelAnswer {
        guard job.state == .waiting else { return .tooLate }
        apply(.cancel, to: job.id)
        durable?.journal.record(.end(job.id, nil, .cancelled, at: wall.unixMilliseconds()))
        return .cancelled
    }

    /// Whether what was answered has to be on the disk first.
    func mustConfirm(_ answer: CancelAnswer, of id: JobID) -> Bool {
        switch answer {
        case .cancelled: true
        case .requested, .stuck: live[id]?.isDurable == true
        case .tooLate: false
        }
    }

    /// Cancels a job that is not in memory.
    ///
    /// - Parameter body: told what became of it.
    func cancelParked(_ id: JobID, _ body: @escaping (Result<CancelAnswer, JobError>) -> Void) {
        guard let durable else { return body(.failure(noJob(id))) }
        durable.cancelling[id, default: 0] += 1
        let ticket = durable.expect(
            .cancelled { [unowned self] result in
                cancelAnswered(id, result)
                switch result {
                case .failure(let fault): body(.failure(Self.busy(fault)))
                case .success(let cancelled) where !cancelled.isEmpty: body(.success(.cancelled))
                case .success:
                    // It has come into memory, or ended, or never was.
                    if let answer = cancel(id) { return confirm(answer, body) }
                    lookUp(id) { [unowned self] found in
                        if case .success = found, let answer = cancel(id) {
                            return confirm(answer, body)
                        }
                        body(found.map { _ in .tooLate })
                    }
                }
            })
        tell(.cancel(id, ticket: ticket))
    }

    /// Whether a job was taken back is known: if it was not, and has come meanwhile, it goes on.
    private func cancelAnswered(
        _ id: JobID, _ result: Result<[QueueName: [CountedJob]], StoreFault>
    ) {
        guard let durable, let count = durable.cancelling[id] else { return }
        durable.cancelling[id] = count > 1 ? count - 1 : nil
        guard count == 1, let job = durable.withheld.removeValue(forKey: id),
            let backlog = durable.backlogs[job.queue]
        else { return }
        if !leaveParked(job, backlog) { bringDelayed(job, to: backlog) }
    }

    /// Counts a job that is not in memory as cancelled, and tells who waited for it.
    func tellCancelled(_ id: JobID) {
        store.countCancelled()
        tellWatchers(id, .cancelled)
        let answer = Self.answer(Outcome.cancelled, id)
        durable?.waiters.removeValue(forKey: id)?.tell(answer)
        whenRoomMayBe?()
    }
}
