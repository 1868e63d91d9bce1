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
    ///   - grant: kept until the store has been asked.
    func wait(
        for id: JobID, _ receiver: any OutcomeReceiver, token: UInt64, within limit: Int?,
        _ grant: QuestionQueue.Grant? = nil
    ) {
        if let job = live[id] {
            return job.waiters.add(waiter(receiver, token: token, within: limit, for: id))
        }
        forgetExpired()
        guard store.job(id) == nil, let durable else {
            return receiver.receive(result(of: id), token: token)
        }
        lookUp(id) { [unowned self] found in
            defer { withExtendedLifetime(grant) {} }
            // It may have come into memory, or ended, since the question was asked.
            if live[id] != nil || store.job(id) != nil {
                wait(for: id, receiver, token: token, within: limit)
            } else {
                switch found.flatMap({ Self.answer($0, id) }) {
                case .success(nil) where durable.isClosed:
                    receiver.receive(.failure(Self.abandoned), token: token)
                case .success(nil):
                    durable.waiters[id, default: Waiters()].add(
                        waiter(receiver, token: token, within: limit, for: id))
                case .success(let bytes?): receiver.receive(.success(bytes), token: token)
                case .failure(let error): receiver.receive(.failure(error), token: token)
                }
            }
        }
    }

    /// Somebody who waits for a job, with the alarm that ends their waiting.
    private func waiter(
        _ receiver: any OutcomeReceiver, token: UInt64, within limit: Int?, for id: JobID
    ) -> Waiter {
        var alarm: ThreadRunLoop.Timer?
        if let limit {
            let timeout = Confined((desk: self, receiver: receiver), to: loop)
            let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: .milliseconds(limit))) {
                timer in
                timer.invalidate()
                let (desk, receiver) = timeout.value
                let live = desk.live[id]
                if let live { live.waiters.alarmRang() } else { desk.durable?.alarmRang(for: id) }
                let timeout = Self.notEnded(id, within: limit, live?.lastFailure)
                receiver.receive(.failure(timeout), token: token)
            }
            loop.add(timer)
            alarm = timer
        }
        return Waiter(receiver: receiver, token: token, alarm: alarm)
    }

    private static func notEnded(
        _ id: JobID, within limit: Int, _ lastFailure: String?
    ) -> JobError {
        .waitedInVain(id, milliseconds: limit, lastFailure: lastFailure)
    }

    /// What a job that has ended left behind, as its client gets it.
    func result(of id: JobID) -> Result<[UInt8], JobError> {
        guard let job = store.job(id) else { return .failure(noJob(id)) }
        guard let outcome = job.outcome else {
            // It is no longer live either: a shutdown has abandoned it.
            return .failure(Self.abandoned)
        }
        return Self.answer(outcome, id)
    }

    /// Takes back all jobs of a thread and selector that have not begun.
    ///
    /// - Parameter payload: only those with this payload; nil for all.
    /// - Returns: which of those in memory.
    func cancel(
        thread: String, selector: String, payload: [UInt8]?
    ) throws(JobError) -> [JobID] {
        let lane = try lane(of: thread)
        let matching = matching(thread: thread, selector: selector, payload: payload, of: lane)
        // The end of one may make others leave memory: the journal takes those back.
        let cancelled = matching.filter { live[$0.id] === $0 && withdraw($0, staysInBuffer: true) }
        // All at once: to look for each among those that were collected takes too long if there are many.
        if !cancelled.isEmpty { buffered[lane.name]?.removeAll { live[$0] == nil } }
        return cancelled.map(\.id)
    }

    /// The jobs in memory that are for a thread and ask for the same.
    func matching(
        thread: String, selector: String, payload: [UInt8]?, of lane: Lane
    ) -> [LiveJob] {
        live.values.filter { job in
            job.lane === lane && (thread == lane.name || job.thread == thread)
                && job.context.selector == selector
                && (payload == nil || job.context.payload == payload)
        }
    }

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

    static let abandoned = JobError.abandoned

    private func abandon(_ isAbandoned: (LiveJob) -> Bool) -> Abandoned {
        var abandoned = Abandoned()
        // The newest first: workers go on beginning the oldest, and none may begin before an older one of its
        // thread that is left for the next start.
        for job in live.values.sorted(by: { $0.id > $1.id }) where isAbandoned(job) {
            live[job.id] = nil
            cancelRelease(of: job)
            job.leaveHoldUp()
            job.tell(.failure(Self.abandoned))
            if job.isDurable { abandoned.keptCount += 1 } else { abandoned.count += 1 }
        }
        return abandoned
    }

    /// Takes back a job, unless it has begun.
    ///
    /// - Parameter staysInBuffer: the caller takes it from those that were collected.
    func withdraw(_ job: LiveJob, staysInBuffer: Bool = false) -> Bool {
        guard job.context.withdraw() else { return false }
        if let ticket = job.ticket {
            job.lane.pool.cancel(ticket)
        } else {
            cancelRelease(of: job)
            if !staysInBuffer { buffered[job.lane.name]?.removeAll { $0 == job.id } }
            job.leaveHoldUp()
            stopHolding(job)
        }
        apply(.cancel, to: job.id)
        recordEnd(of: job, nil, .cancelled, at: wall.unixMilliseconds())
        tellEnd(of: job.id, .cancelled)
        whenRoomMayBe?()
        return true
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
        if !job.waiters.isEmpty { job.tell(Self.answer(outcome, id)) }
        endHoldUp(by: job)
    }

    static func answer(_ outcome: Outcome, _ id: JobID) -> Result<[UInt8], JobError> {
        switch outcome {
        case .done(let result): .success(result)
        case .failed(let reason): .failure(.failed(id, reason: reason))
        case .timedOut:
            .failure(.timedOut(id))
        case .cancelled: .failure(.cancelled(id))
        }
    }

    func noJob(_ id: JobID) -> JobError {
        .unknownJob(id)
    }
}
