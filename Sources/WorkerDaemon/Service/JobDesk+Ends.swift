// How jobs end at the desk: with an outcome, taken back, or abandoned by a shutdown; and who is told.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import WorkerThreads

extension JobDesk {
    /// Tells somebody the outcome of a job, now or when it has ended.
    ///
    /// - Parameters:
    ///   - token: given back with the outcome.
    ///   - limit: tells TIMEOUT after so many milliseconds; nil waits as long as it takes.
    func wait(for id: JobID, _ receiver: any OutcomeReceiver, token: UInt64, within limit: Int?) {
        guard let job = live[id] else { return receiver.receive(result(of: id), token: token) }
        var alarm: ThreadRunLoop.Timer?
        if let limit {
            let timeout = Confined((job: job, receiver: receiver), to: loop)
            let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: .milliseconds(limit))) { _ in
                let (job, receiver) = timeout.value
                job.removeWaiter(token, of: receiver)
                receiver.receive(.failure(Self.notEnded(id, within: limit)), token: token)
            }
            loop.add(timer)
            alarm = timer
        }
        job.addWaiter(LiveJob.Waiter(receiver: receiver, token: token, alarm: alarm))
    }

    private static func notEnded(_ id: JobID, within limit: Int) -> WireError {
        WireError(
            .timeout,
            "job \(id) has not ended within \(limit) ms; RESULT \(id) WAIT goes on waiting")
    }

    /// What a job that has ended left behind, as its client gets it.
    func result(of id: JobID) -> Result<[UInt8], WireError> {
        guard let job = store.job(id) else { return .failure(noJob(id)) }
        guard let outcome = job.outcome else {
            // It is no longer live either: a shutdown has abandoned it.
            return .failure(Self.abandoned)
        }
        return Self.answer(outcome, id)
    }

    /// Takes back a job that has not begun, or asks a running one to end.
    ///
    /// - Returns: whether there was anything left to cancel.
    func cancel(_ id: JobID) throws(WireError) -> Bool {
        guard let job = live[id] else {
            if store.job(id) == nil { throw noJob(id) }
            return false
        }
        if withdraw(job) { return true }
        job.context.requestCancel()
        return true
    }

    /// Takes back all jobs of a thread and selector that have not begun.
    ///
    /// - Parameter payload: only those with this payload; nil for all.
    /// - Returns: how many.
    func cancel(thread: String, selector: String, payload: [UInt8]?) throws(WireError) -> Int {
        let lane = try lane(of: thread)
        let matching = live.values.filter { job in
            job.lane === lane && (thread == lane.name || job.thread == thread)
                && job.context.selector == selector
                && (payload == nil || job.context.payload == payload)
        }
        return matching.count { withdraw($0) }
    }

    /// Forgets about everything that has not begun; whoever waits for it is told.
    ///
    /// - Returns: how many jobs that were.
    func abandonWaiting() -> Int {
        buffered.removeAll()
        return abandon { $0.context.withdraw() }
    }

    /// Forgets about everything that waits for its time or to be fired, as `abandonWaiting` does.
    func abandonUnreleased() -> Int {
        buffered.removeAll()
        return abandon { $0.ticket == nil && $0.context.withdraw() }
    }

    /// Forgets about everything that is left.
    func abandonRunning() -> Int {
        abandon { _ in true }
    }

    private static let abandoned = WireError(
        .shuttingDown, "the daemon went down before the job ended")

    private func abandon(_ isAbandoned: (LiveJob) -> Bool) -> Int {
        var count = 0
        for job in live.values where isAbandoned(job) {
            live[job.id] = nil
            job.timer?.invalidate()
            job.tell(.failure(Self.abandoned))
            count += 1
        }
        return count
    }

    func withdraw(_ job: LiveJob) -> Bool {
        guard job.context.withdraw() else { return false }
        if let ticket = job.ticket {
            job.lane.pool.cancel(ticket)
        } else {
            job.timer?.invalidate()
            buffered[job.lane.name]?.removeAll { $0 == job.id }
            stopHolding(job)
        }
        apply(.cancel, to: job.id)
        tellEnd(of: job.id, .cancelled)
        return true
    }

    func complete(_ completion: Completion) {
        noteStart(completion.job, on: completion.thread, at: completion.startedAt)
        apply(.finish(completion.outcome), to: completion.job, at: completion.endedAt)
        tellEnd(of: completion.job, completion.outcome)
        whenCompleted?()
    }

    private func tellEnd(of id: JobID, _ outcome: Outcome) {
        guard let job = live.removeValue(forKey: id) else { return }
        if !job.waiters.isEmpty { job.tell(Self.answer(outcome, id)) }
    }

    private static func answer(_ outcome: Outcome, _ id: JobID) -> Result<[UInt8], WireError> {
        switch outcome {
        case .done(let result): .success(result)
        case .failed(let reason): .failure(WireError(.failed, "job \(id): \(reason)"))
        case .timedOut:
            .failure(WireError(.timeout, "job \(id) took longer than its time limit"))
        case .cancelled: .failure(WireError(.cancelled, "job \(id) was cancelled"))
        }
    }

    private func noJob(_ id: JobID) -> WireError {
        WireError(.noJob, "there is no job \(id), or it ended too long ago to be kept")
    }
}
