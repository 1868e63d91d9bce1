// The changes of each command in the store, within a transaction.

internal import Jobs

extension JournalWriter {
    /// Makes the changes of a command.
    func write(
        _ commands: Span<StoreCommand>, _ place: Int, to store: any JournalTables, at now: Int64,
        _ answers: inout JournalAnswers
    ) throws(StoreFault) {
        switch commands[place] {
        case .accept(let new):
            if try mayAccept(new, store, &answers) { try accept(new, store) }
        case .run(let runs): try write(runs, to: store, at: now, &answers)
        case .keepSchedule(let record, _): try store.keep(record)
        case .dropSchedule(let name, let thread, let ticket):
            if try store.threads(ofSchedules: [name])[name] == thread {
                try store.dropSchedule(name)
            } else {
                answers.undropped[ticket] = .scheduleGone(name)
            }
        case .acceptOnce(let new, let claim):
            if try mayAccept(new, store, &answers),
                try giveName(claim, to: new, store, at: now, &answers)
            {
                try accept(new, store)
            } else {
                noteMemory(new)
            }
        case .settle(let failed, let fate, let part, let ticket):
            answers.settled[ticket] = try store.settle(failed, fate, part)
        case .fire(let part, let ticket):
            let firing = try store.fire(part, recoveryCounter.stock)
            answers.fired[ticket] = firing
            for queue in part.queues {
                answers.keepDelayed(fired(queue, part, firing, nil, store))
            }
        case .loadDelayed(let queue, let place, let limit, let byteCount):
            answers.keepDelayed(delayed(queue, after: place, limit, byteCount, nil, store))
        case .load(let queue, let limit, let byteCount):
            answers.keepLoaded(load(queue, limit, byteCount, store))
        case .keepDue(let moment, _): try store.keepDue(at: moment)
        case .pause(let change): try store.keep(change)
        case .askToEnd(let id): try store.askToEnd(id)
        case .start(let id, let attempt): try start(id, attempt, store)
        case .hold(let id, let attempt, let holder) where store.holds.contains(id):
            try store.keep(holder, of: id, attempt)
        case .end(let id, let attempt, let outcome, let moment):
            try store.end(id, attempt, outcome, at: moment)
        case .putBack(let id, let attempt, let forgivenCount, let mayExpire):
            try store.putBack(
                id, attempt: attempt, forgivenCount: forgivenCount, mayExpire: mayExpire)
        case .retry(let id, let attempt, let due):
            try store.retry(id, attempt, dueAt: due, at: now)
        case .reserve(let number): try store.reserve(below: number)
        case .cancel(let id, let outcome, let ticket):
            answers.cancelled[ticket] = try cancel(id, as: outcome, store, at: now)
        case .cancelPart(let part, let ticket):
            answers.cancelledParts[ticket] = try store.cancel(part, behind: broughtThrough, at: now)
        case .release(let queues): for queue in queues { broughtThrough.forget(queue) }
        case .claim(let queues, let ticket):
            answers.claimed[ticket] = try claim(queues, store, at: now)
        case .move(let moves, _): try store.move(moves)
        case .settleSubmitted(let answer): try store.submittedJobs?.settle(answer)
        case .begun, .hold, .confirm, .answer, .limit, .serve: break
        case .find, .findPayload, .findNamed, .findExpired, .list: break
        }
    }

    /// Ends a parked job of this scheduler, if it still is one.
    private func cancel(
        _ id: JobID, as outcome: Outcome, _ store: any JournalTables, at now: Int64
    ) throws(StoreFault) -> [QueueName: [CountedJob]]? {
        guard let job = try store.job(id), store.owns(job.slot), isParked(job) else { return nil }
        // It has begun since it was looked for.
        if outcome == .expired, job.attempt > 0 { return nil }
        try store.end(id, nil, outcome, at: now)
        let counted = CountedJob(
            id: id, state: job.state, selector: job.selector, byteCount: job.payload.count)
        return [job.queue: [counted]]
    }

    /// Records an attempt that lasts, and the first worker that holds it.
    private func start(
        _ id: JobID, _ attempt: Attempt, _ store: any JournalTables
    ) throws(StoreFault) {
        try store.start(id, attempt)
        if let holder = holders[id] { try store.keep(holder, of: id, attempt.number) }
    }

    /// Keeps the jobs of schedules; refuses each whose schedule is gone or has another thread.
    private func write(
        _ runs: [MadeRun], to store: any JournalTables, at now: Int64,
        _ answers: inout JournalAnswers
    ) throws(StoreFault) {
        let threads = try store.threads(ofSchedules: Set(runs.map(\.run.name)))
        for made in runs {
            if threads[made.run.name] == made.run.thread {
                try write(made, to: store, at: now, &answers)
            } else {
                answers.refused[made.new.job.id] = .scheduleGone(made.run.name)
            }
            noteMemory(made.new)
        }
    }

    private func write(
        _ made: MadeRun, to store: any JournalTables, at now: Int64, _ answers: inout JournalAnswers
    ) throws(StoreFault) {
        if let claim = made.claim,
            try !giveName(claim, to: made.new, store, at: now, &answers)
        {
            if answers.existing[made.new.job.id]?.isSame == true { try store.note(made.run) }
        } else {
            try store.accept(made.new.job, of: made.run)
        }
    }

    /// Gives a name to a new job.
    ///
    /// - Returns: false if another job has it, or another daemon uses it just now.
    private func giveName(
        _ claim: NameClaim, to new: NewJob, _ store: any JournalTables, at now: Int64,
        _ answers: inout JournalAnswers
    ) throws(StoreFault) -> Bool {
        do throws(StoreFault) {
            answers.existing[new.job.id] = try store.giveName(claim, to: new.job.id, at: now)
            return answers.existing[new.job.id] == nil
        } catch {
            guard error.kind == .nameInUse else { throw error }
            answers.refused[new.job.id] = error
            if new.submitted != nil { submitted.heldUp[new.job.thread] = error }
            return false
        }
    }

    /// Whether a new job may be accepted.
    ///
    /// Of jobs that were submitted in the store, another scheduler may have accepted this one, and
    /// an earlier job of its thread may be waiting for another try.
    private func mayAccept(
        _ new: NewJob, _ store: any JournalTables, _ answers: inout JournalAnswers
    ) throws(StoreFault) -> Bool {
        guard let job = new.submitted else { return true }
        if let fault = submitted.heldUp[new.job.thread] {
            answers.refused[new.job.id] = fault
            return false
        }
        guard try store.submittedJobs?.isThere(job) == false else { return true }
        answers.refused[new.job.id] = StoreFault(
            .foreignThread, path: "ticket \(job.ticket)",
            detail: "another daemon has accepted it")
        return false
    }

    /// Keeps a new job; one that was submitted in the store leaves its place there.
    private func accept(_ new: NewJob, _ store: any JournalTables) throws(StoreFault) {
        try store.accept(new.job)
        noteMemory(new)
        if let submitted = new.submitted { try store.submittedJobs?.remove(submitted) }
    }

    /// Records that a new job is in memory: the parked jobs of its queue are behind it.
    private func noteMemory(_ new: NewJob) {
        // Without a copy of the job, which is large.
        if !new.isParked, new.job.state == .waiting {
            broughtThrough.note(new.job.id, of: new.job.queue)
        }
    }

    /// Whether a job waits in the store and is not in the scheduler's memory.
    ///
    /// The scheduler knows its deferred jobs, and asks for none that is in its memory.
    private func isParked(_ job: Job) -> Bool {
        switch job.state {
        case .waiting:
            job.id > broughtThrough[job.queue] || !recoveryCounter.serves(job.selector)
        case .delayed, .buffered: true
        case .running, .done, .failed, .cancelled, .expired: false
        }
    }
}
