// Durable jobs at the desk: they are known at once, and begin and are answered once the journal has
// them on the disk. Of a long queue only the head is in memory.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Structures
internal import Wording
internal import WorkerThreads

extension JobDesk {
    /// Whether a request goes through the journal.
    func isDurable(_ request: borrowing JobRequest) -> Bool {
        durable != nil && !request.isVolatile
    }

    // MARK: - Accepting

    /// Accepts a job durably.
    ///
    /// - Parameters:
    ///   - run: what is recorded of the schedule that makes it, together with it; then it is told to
    ///     the journal by `takeRuns`.
    ///   - answer: told its id when it is on the disk, or why it could not get there.
    /// - Throws: why it is refused at once; then `answer` is not called.
    func acceptDurably(
        _ request: consuming JobRequest, of run: ScheduleRun? = nil,
        answer: @escaping (Result<JobID, JobError>) -> Void
    ) throws(JobError) {
        guard let durable else { return }
        let (lane, handler) = try check(request)
        request.fill(from: handler.retries)
        let now = wall.unixMilliseconds()
        let queue = QueueName(thread: request.thread, priority: request.priority)
        let backlog = durable.backlog(of: queue, lane)
        let byteCount = request.payload.count
        try checkLimits(byteCount, of: lane, backlog.laneLoad, durable.load)
        let isDelayed = request.dueAt.map { $0 > now } == true
        // What is delayed is parked only when it is on the disk, if at all.
        let isParked = request.schedule == .buffered || !isDelayed && !backlog.window.admit()
        let id = isParked ? store.takeNumber() : try takeNumber(for: request, at: now)
        let name = request.uniqueName
        let kept = Job(id: id, request: request, acceptedAt: now)
        if !isParked { store.keep(kept) }
        reserveNumbers()
        var job: LiveJob?
        if isParked {
            backlog.addParked(kept.state, .one(byteCount))
        } else {
            let accepted = liveJob(kept, handler, lane, backlog: backlog)
            accepted.part = isDelayed ? .held : .inTurn
            live[id] = accepted
            self.hold(accepted)
            backlog.addInMemory(accepted.part, byteCount: byteCount)
            job = accepted
        }
        durable.expectCommit(
            DurableJobs.Accepting(
                id: id, job: job, backlog: backlog, state: kept.state, dueAt: kept.dueAt,
                byteCount: byteCount, answer: answer))
        let new = NewJob(kept, isParked: isParked)
        if let run {
            // Whoever makes it tells the journal, of several at once.
            durable.add(MadeRun(run: run, new: new))
        } else if let name {
            tell(.acceptOnce(new, name: name))
        } else {
            tell(.accept(new))
        }
    }

    /// Sends the journal a command; all of this pass are handled together.
    func tell(_ command: consuming StoreCommand) {
        guard let durable else { return }
        durable.journal.add(command)
        guard !durable.isFireScheduled else { return }
        durable.isFireScheduled = true
        let desk = Confined(self, to: loop)
        loop.perform {
            desk.value.durable?.isFireScheduled = false
            desk.value.durable?.journal.fire()
        }
    }

    /// Has the journal keep back numbers before they are given to jobs that leave no trace there.
    func reserveNumbers() {
        guard let durable else { return }
        let half = StoreRecovery.reservedCount / 2
        guard store.nextNumber + half > durable.reservedBelow else { return }
        durable.reservedBelow = store.nextNumber + StoreRecovery.reservedCount
        tell(.reserve(below: durable.reservedBelow))
    }

    // MARK: - What the journal says

    /// Handles the journal's answers.
    func take(_ answers: [StoreAnswer]) {
        guard let durable else { return }
        for answer in answers {
            switch answer {
            case .accepted(let count, let fault):
                committed(count, fault)
            case .existing(let other):
                if let accepting = durable.takeCommitted() {
                    forget(accepting, .success(other))
                    bringMore(of: accepting.backlog)
                }
            case .settled(let ticket, let result):
                if case .settled(let body) = durable.take(ticket) { body(result) }
            case .loaded(let queue, let result): loaded(queue, result)
            case .loadedDelayed(let queue, let place, let result):
                loadedDelayed(queue, after: place, result)
            case .fired(let ticket, let part, let result):
                if case .success(let firing) = result { noteFired(firing, part) }
                if case .fired(let body) = durable.take(ticket) { body(result) }
            case .counted(let part): noteCounted(part)
            case .confirmed(let ticket, let fault):
                if case .confirmed(let body) = durable.take(ticket) { body(fault) }
            case .found(let ticket, let result):
                if case .found(let body) = durable.take(ticket) { body(result) }
            case .named(let ticket, let result):
                if case .named(let body) = durable.take(ticket) { body(result) }
            case .listed(let ticket, let result):
                if case .listed(let body) = durable.take(ticket) { body(result) }
            case .cancelled(let ticket, let result):
                if case .success(let cancelled) = result { _ = noteCancelled(cancelled) }
                if case .cancelled(let body) = durable.take(ticket) { body(result) }
            case .cancelledPart(let ticket, let result):
                if case .cancelledPart(let body) = durable.take(ticket) { body(result) }
            }
        }
        whenCompleted?()
    }

    /// The next jobs are on the disk, or could not get there.
    private func committed(_ count: Int, _ fault: StoreFault?) {
        // Neighbours are mostly of the same queue, which is looked after once for all of them.
        var wanting: Backlog?
        for _ in 0..<count {
            guard let accepting = durable?.takeCommitted() else { break }
            guard !committed(accepting, fault), wanting !== accepting.backlog else { continue }
            if let wanting { bringMore(of: wanting) }
            wanting = accepting.backlog
        }
        if let wanting { bringMore(of: wanting) }
    }

    /// A job is on the disk, or could not get there.
    ///
    /// - Returns: whether it goes on in memory; else its queue may want a load.
    private func committed(_ accepting: DurableJobs.Accepting, _ fault: StoreFault?) -> Bool {
        let id = accepting.id
        if let fault {
            forget(accepting, .failure(Self.busy(fault)))
            return false
        }
        accepting.answer(.success(id))
        guard let job = accepting.job, live[id] === job else { return false }
        if accepting.state == .delayed {
            place(job, dueAt: accepting.dueAt ?? 0)
        } else {
            stopHolding(job)
            submitInOrder(job)
        }
        return true
    }

    /// A job is not accepted after all.
    private func forget(_ accepting: DurableJobs.Accepting, _ answer: Result<JobID, JobError>) {
        let id = accepting.id
        if let job = accepting.job {
            if live[id] === job {
                live[id] = nil
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
        accepting.answer(answer)
    }

    static func busy(_ fault: StoreFault) -> JobError {
        .storeFailed(fault)
    }

    // MARK: - Parked jobs

    /// How many jobs are in the journal and not in memory.
    var parkedCount: Int { durable?.parkedCount ?? 0 }

    /// How many jobs in a state are in the journal and not in memory.
    func parkedCount(_ state: JobState) -> Int { durable?.load.parked(state).count ?? 0 }

    /// Whether every job in turn is in memory; those of stopped threads wait for a restart.
    var areAllInMemory: Bool {
        durable?.backlogs.values.allSatisfy { $0.window.isWhole || isStopped($0) } != false
    }

    /// How many queues have jobs to load although nothing is on its way to load them: a fault.
    var stalledQueueCount: Int {
        guard let durable, !durable.isClosed else { return 0 }
        return durable.backlogs.values.count { $0.window.wantsLoad && !isStopped($0) }
    }

    private func isStopped(_ backlog: Backlog) -> Bool {
        (try? backlog.lane.pool.isStopped(onThread: backlog.queue.thread)) != false
    }

    /// How many jobs wait for a lane's threads, in memory or not.
    func shownWaitingCount(of lane: Lane) -> Int {
        lane.pool.waitingCount + (durable?.load(of: lane).parked(.waiting).count ?? 0)
            + lane.heldBackCount
    }

    /// Asks the journal for the next jobs of a queue, if there is room for some.
    func bringMore(of backlog: Backlog) {
        // Mostly there is none: all that is in turn is in memory, and all that is delayed.
        if backlog.window.isWhole, backlog.held.horizon == .last { return }
        guard let durable, !durable.isClosed, !isStopped(backlog) else { return }
        bringMoreHeld(of: backlog)
        guard let load = backlog.window.nextLoad() else { return }
        tell(.load(backlog.queue, limit: load.limit, byteCount: load.byteCount))
    }

    private func loaded(_ queue: QueueName, _ result: Result<JobBatch, StoreFault>) {
        guard let durable, let backlog = durable.backlogs[queue] else { return }
        switch result {
        case .success(let batch):
            backlog.window.loadEnded(isEnd: batch.isEnd)
            // Going down: they are in the journal, and stay there.
            guard !durable.isClosed else { return }
            for job in batch.jobs where isServed(job) {
                guard live[job.id] == nil else {
                    log.error("job \(job.id) is in memory and was loaded once more; please report")
                    continue
                }
                durable.unpark(job.id, .waiting, byteCount: job.payload.count, from: backlog)
                if !takeBack(job, backlog) { bring(job, to: backlog) }
            }
            bringMore(of: backlog)
            backlog.checkParked()
        case .failure:
            backlog.window.loadEnded(isEnd: false)
            lookAgain(at: backlog)
        }
    }

    /// Tries in a while to bring what could not be read.
    func lookAgain(at backlog: Backlog) {
        let held = Confined((desk: self, backlog: backlog), to: loop)
        loop.schedule(after: .seconds(1)) { held.value.desk.bringMore(of: held.value.backlog) }
    }

    /// Takes a job of before into memory and lets it wait for its thread.
    private func bring(_ job: Job, to backlog: Backlog) {
        guard let live = adopt(job, backlog) else { return }
        submitInOrder(live)
    }

    /// Takes up a failed job that runs again.
    func readmit(_ job: Job) {
        guard let durable, let lane = try? lane(of: job.thread) else { return }
        _ = store.dropFailed(job.id)
        let backlog = durable.backlog(of: job.queue, lane)
        let due = job.dueAt ?? job.acceptedAt
        guard backlog.held.takesDue(DueKey(dueAt: due, id: job.id)) else {
            durable.park(job.id, .delayed, byteCount: job.payload.count, in: backlog)
            backlog.held.fired(at: due)
            return bringMore(of: backlog)
        }
        guard let adopted = adopt(job, backlog) else { return }
        hold(adopted)
        delay(adopted, until: due)
    }

    /// Takes a job of the journal into memory; nil if nobody can run it.
    func adopt(
        _ job: Job, _ backlog: Backlog, as part: Backlog.Part? = nil
    ) -> LiveJob? {
        guard let handler = handlers[job.selector] else { return nil }
        let adopted = liveJob(job, handler, backlog.lane, backlog: backlog)
        store.adopt(job)
        live[job.id] = adopted
        adopted.part = part ?? (job.state == .delayed ? .held : .inTurn)
        backlog.addInMemory(adopted.part, byteCount: job.payload.count)
        if let waiters = durable?.waiters.removeValue(forKey: job.id) {
            adopted.waiters.add(waiters)
        }
        if watches.isWatched(job.id) { listen(to: adopted) }
        return adopted
    }

    /// Takes up what was in the journal when it was opened.
    func restore(_ recovery: StoreRecovery) {
        guard let durable else { return }
        pauseAgain(recovery.pausedThreads)
        if recovery.endedCount > 0 {
            log.notice(
                "not run again, as asked to end before: \(counted(recovery.endedCount, "job"))")
        }
        for queue in recovery.queues {
            guard let lane = try? lane(of: queue.thread) else {
                durable.orphans.add(JobAmount(), to: queue)
                continue
            }
            _ = durable.backlog(of: queue, lane, mayHoldMore: true)
        }
        durable.stock = recovery.stock
        // Before anything comes that they hold up.
        for job in recovery.blockers { restoreBlocker(job) }
        noteCounted(recovery.part)
        durable.reservedBelow = recovery.reservedBelow
        for backlog in durable.backlogs.values { bringMore(of: backlog) }
    }

    // MARK: - Ends

    /// Records how a durable job ended; makes room for the next of its queue.
    func recordEnd(of job: LiveJob, _ attempt: Attempt?, _ outcome: Outcome, at time: Int64) {
        guard let durable, let backlog = job.backlog else { return }
        durable.journal.record(.end(job.id, attempt, outcome, at: time))
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
        job.tell(.failure(Self.abandoned))
        whenCompleted?()
    }

    /// Has the journal record that the attempt of a job does not count.
    func recordPutBack(_ job: LiveJob) {
        guard job.isDurable else { return }
        durable?.journal.record(.putBack(job.id, attempt: job.context.attempt - 1))
    }

    /// Leaves a job to the journal that has not begun: it runs after a restart.
    func leaveToJournal(_ job: LiveJob) {
        guard job.context.withdraw(), live[job.id] === job else { return }
        live[job.id] = nil
        job.tell(
            .failure(
                .leftForRestart(job.id, thread: job.thread)))
        endHoldUp(by: job)
    }

    /// Calls `body` when everything that was said to the journal is on the disk, or can't get there.
    func flush(_ body: @escaping () -> Void) {
        guard let durable else { return body() }
        let ticket = durable.expect(
            .confirmed { [log] fault in
                if let fault { log.error("not all could be recorded: \(fault)") }
                body()
            })
        tell(.confirm(ticket: ticket))
    }
}
