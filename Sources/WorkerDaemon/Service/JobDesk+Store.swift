// The desk and the store: what is told to it and asked of it, and what becomes of its answers.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Wording

extension JobDesk {
    /// Sends the store a command; all of this pass are handled together.
    func tell(_ command: consuming StoreCommand) {
        stored.journal.add(command)
        guard !stored.isFireScheduled else { return }
        stored.isFireScheduled = true
        let desk = Confined(self, to: loop)
        loop.perform {
            desk.value.stored.isFireScheduled = false
            desk.value.stored.journal.fire()
        }
    }

    /// Asks the store something.
    func ask(_ inquiry: Inquiry, _ command: (UInt64) -> StoreCommand) {
        tell(command(stored.expect(inquiry)))
    }

    /// Has the store record what has happened to a job, if it knows it.
    func record(_ command: @autoclosure () -> StoreCommand, of job: LiveJob) {
        if job.isDurable { stored.journal.record(command()) }
    }

    /// Answers when everything that was said to the store is on the disk.
    func confirm(_ answer: JobAnswer, _ reply: ReplyToken) {
        ask(.confirm(reply, answer)) { .confirm(ticket: $0) }
    }

    /// Calls `body` when everything that was said to the store is on the disk, or can't get there.
    func confirm(then body: @escaping (StoreFault?) -> Void) {
        ask(.then(body)) { .confirm(ticket: $0) }
    }

    /// Has the store keep back numbers before they are given to jobs that leave no trace there.
    func reserveNumbers() {
        let half = StoreRecovery.reservedCount / 2
        guard store.nextNumber + half > stored.reservedBelow else { return }
        stored.reservedBelow = store.nextNumber + StoreRecovery.reservedCount
        tell(.reserve(below: stored.reservedBelow))
    }

    // MARK: - What the store says

    /// Handles the store's answers.
    func take(_ answers: [StoreAnswer]) {
        for answer in answers { take(answer) }
        whenCompleted?()
    }

    private func take(_ answer: StoreAnswer) {
        switch answer {
        case .accepted(let count, let fault): committed(count, fault)
        case .existing(let other): existing(other)
        case .loaded(let queue, let result): loaded(queue, result)
        case .loadedDelayed(let queue, let place, let result):
            loadedDelayed(queue, after: place, result)
        case .counted(let part): noteCounted(part)
        case .confirmed(let ticket, let fault): confirmed(stored.take(ticket), fault)
        case .found(let ticket, let result): found(stored.take(ticket), result)
        case .named(let ticket, let result):
            guard case .repeated(let error, let reply) = stored.take(ticket) else { return }
            if case .success(let id?) = result { return door.answer(reply, .accepted(id)) }
            door.answer(reply, .failed(error))
        case .settled(let ticket, let result):
            if case .resolve(let change) = stored.take(ticket) { resolved(change, result) }
        case .fired(let ticket, let part, let result):
            if case .fire(let count, let reply) = stored.take(ticket) {
                fired(part, result, besides: count, reply)
            }
        case .listed(let ticket, let result):
            if case .list(let listing) = stored.take(ticket) { listed(listing, result) }
        case .cancelled(let ticket, let result):
            tookBack(stored.take(ticket), result)
        case .expiring(let ticket, let result):
            if case .findExpired = stored.take(ticket) { foundExpiring(result) }
        case .cancelledPart(let ticket, let result):
            if case .cancelMany(let recall) = stored.take(ticket) {
                cancelledPart(recall, result)
            }
        }
    }

    /// A parked job has ended, or was not there.
    private func tookBack(
        _ inquiry: Inquiry?, _ result: Result<[QueueName: [CountedJob]], StoreFault>
    ) {
        let ended = (try? result.get()) ?? [:]
        switch inquiry {
        case .cancel(let id, let reply):
            _ = noteCancelled(ended)
            cancelledParked(id, result, reply)
        case .expire(let id):
            _ = noteCancelled(ended, as: .expired)
            noteCancelAnswer(id)
            if case .failure = result { findExpiringLater() }
        default: break
        }
    }

    private func confirmed(_ inquiry: Inquiry?, _ fault: StoreFault?) {
        switch inquiry {
        case .confirm(let reply, let answer):
            door.answer(reply, fault.map { .failed(.storeFailed($0)) } ?? answer)
        case .then(let body): body(fault)
        default: break
        }
    }

    /// A job that is not in memory was looked for.
    private func found(_ inquiry: Inquiry?, _ result: Result<Job?, StoreFault>) {
        switch inquiry {
        case .describe(let id, let reply): describe(id, known(result, id), reply)
        case .result(let id, let reply):
            switch known(result, id) {
            case .success(let job): door.answer(reply, JobAnswer(job.outcome, of: id))
            case .failure(let error): door.answer(reply, .failed(error))
            }
        case .wait(let id, let reply): wait(for: id, known(result, id), reply)
        case .watch(let id, let request): request.found(id, known(result, id), self)
        case .lookAfterCancel(let id, let reply): cancel(id, found: known(result, id), reply)
        default: break
        }
    }

    /// The job as it was found, if it has not expired.
    private func known(
        _ result: Result<Job?, StoreFault>, _ id: JobID
    ) -> Result<Job, JobError> {
        switch result {
        case .success(let job?)
        where !store.limits.haveExpired(for: job, at: wall.unixMilliseconds()):
            .success(job)
        case .success: .failure(.unknownJob(id))
        case .failure(let fault): .failure(.storeFailed(fault))
        }
    }

    // MARK: - At the start

    /// Takes up what was in the store when it was opened.
    func restore(_ recovery: StoreRecovery) {
        pauseAgain(recovery.pausedThreads)
        if recovery.endedCount > 0 {
            log.notice(
                "not run again, as asked to end before: \(counted(recovery.endedCount, "job"))")
        }
        for queue in recovery.queues {
            guard let lane = try? lane(of: queue.thread) else {
                stored.orphans.add(JobAmount(), to: queue)
                continue
            }
            _ = stored.backlog(of: queue, lane, mayHoldMore: true)
        }
        stored.stock = recovery.stock
        // Before anything comes that they hold up.
        for job in recovery.blockers { restoreBlocker(job) }
        noteCounted(recovery.part)
        stored.reservedBelow = recovery.reservedBelow
        if let next = recovery.nextExpiry { noteParkedExpiry(at: next) }
        for backlog in stored.backlogs.values { bringMore(of: backlog) }
    }
}
