// The answer to each command, once its transaction is on the disk or has failed; and the commands
// that only read the store.

internal import Jobs
internal import Kernel

extension JournalWriter {
    /// Answers a command, once the transaction is on the disk or has failed.
    func finish(
        _ commands: Span<StoreCommand>, _ place: Int, _ store: any JournalTables,
        _ answers: inout JournalAnswers
    ) {
        let fault = answers.fault
        switch commands[place] {
        case .begun, .start, .hold, .end, .putBack, .retry, .reserve, .pause, .askToEnd: break
        case .release, .limit: break
        case .serve(let selectors):
            recoveryCounter.serve(selectors)
            tryRefusedAgain()
        case .settleSubmitted(let answer): settled(answer)
        case .claim(let queues, let ticket):
            let result = answers.claimed[ticket] ?? claimed(queues, store, after: fault)
            if case .success(let jobs) = result { noteClaimed(queues, jobs) }
            answers.append(.claimed(ticket: ticket, result))
        case .answer(let send):
            self.send = send
            scheduleStockTaking()
            watchSubmitted()
        case .acceptOnce(let new, _) where fault == nil && answers.existing[new.job.id] != nil:
            if let other = answers.existing[new.job.id] { answers.append(.existing(other)) }
        case .settle(_, _, _, let ticket):
            let settled = answers.settled[ticket] ?? FailedJobsAnswer()
            if fault == nil { recoveryCounter.give(settled.jobs) }
            answers.append(
                .settled(ticket: ticket, fault.map { .failure($0) } ?? .success(settled)))
        case .accept(let new), .acceptOnce(let new, _): answers.appendAccepted(new.job.id)
        case .run(let runs):
            for made in runs {
                if fault == nil, let other = answers.existing[made.new.job.id] {
                    answers.append(.existing(other))
                } else {
                    answers.appendAccepted(made.new.job.id)
                }
            }
        case .confirm(let ticket), .keepSchedule(_, let ticket), .dropSchedule(_, _, let ticket),
            .keepDue(_, let ticket), .move(_, let ticket):
            answers.append(.confirmed(ticket: ticket, fault ?? answers.undropped[ticket]))
        case .fire(let part, let ticket):
            let firing = answers.fired[ticket] ?? BufferRelease()
            let result = fault.map { Result.failure($0) } ?? .success(firing)
            answers.append(.fired(ticket: ticket, part, result))
            // With the answer: a client that fires and then submits has the fired jobs in front.
            for queue in part.queues {
                let batch = answers.takeDelayed() ?? fired(queue, part, firing, fault, store)
                answers.append(loaded(queue, after: part.place(of: queue), batch))
            }
        case .loadDelayed(let queue, let place, let limit, let byteCount):
            let batch =
                answers.takeDelayed()
                ?? delayed(queue, after: place, limit, byteCount, fault, store)
            answers.append(loaded(queue, after: place, batch))
        case .cancelPart(_, let ticket):
            let cancelled = answers.cancelledParts[ticket] ?? BulkCancelAnswer()
            let result = fault.map { Result.failure($0) } ?? .success(cancelled)
            answers.append(.cancelledPart(ticket: ticket, result))
        case .cancel(_, _, let ticket):
            let cancelled = answers.cancelled[ticket] ?? [:]
            let result = fault.map { Result.failure($0) } ?? .success(cancelled)
            answers.append(.cancelled(ticket: ticket, result))
        case .load(let queue, let limit, let byteCount):
            let result = answers.takeLoaded() ?? load(queue, limit, byteCount, store)
            if case .success(let batch) = result { recoveryCounter.give(batch.jobs) }
            answers.append(.loaded(queue, result))
        case .find, .findPayload, .findNamed, .findExpired, .list:
            answers.questions.append(commands[place])
        }
    }

    /// Sends the answers of a transaction, then each answer to a question, which may take a while.
    func tell(_ answers: JournalAnswers, _ store: any JournalTables) {
        let all = answers.all
        if !all.isEmpty { send?(all) }
        for question in answers.questions {
            if let answer = browsed(question, store) { send?([answer]) }
        }
    }

    /// The answer to a question of a client.
    private func browsed(_ command: StoreCommand, _ store: any JournalTables) -> StoreAnswer? {
        switch command {
        case .find(let id, let ticket):
            let result = reading { () throws(StoreFault) in try store.job(id) }
            return .found(ticket: ticket, result)
        case .findPayload(let id, let ticket):
            let result = reading { () throws(StoreFault) in try store.payload(of: id) }
            return .payload(ticket: ticket, result)
        case .findNamed(let claim, let ticket):
            let now = wall.unixMilliseconds()
            let result = reading { () throws(StoreFault) in try store.job(of: claim, at: now) }
            return .named(ticket: ticket, result)
        case .findExpired(let moment, let place, let limit, let ticket):
            let result = reading { () throws(StoreFault) in
                try store.expiring(at: moment, after: place, limit: limit)
            }
            return .expiring(ticket: ticket, result)
        case .list(let listing, let ticket):
            let result = reading { () throws(StoreFault) in try list(listing, store) }
            return .listed(ticket: ticket, result)
        default: return nil
        }
    }

    /// The next parked jobs of a queue in turn.
    func load(
        _ queue: QueueName, _ limit: Int, _ byteCount: Int, _ store: any JournalTables
    ) -> Result<JobBatch, StoreFault> {
        reading { () throws(StoreFault) in
            let batch = try store.inTurn(
                queue, after: broughtThrough[queue], limit: limit, byteCount: byteCount)
            if let last = batch.jobs.last {
                throughBeforeLoads.append((queue, broughtThrough[queue]))
                broughtThrough.note(last.id, of: queue)
            }
            return batch
        }
    }

    /// The jobs of a thread that this scheduler takes over; part of a transaction.
    func claim(
        _ queues: [QueueName], _ store: any JournalTables, at now: Int64
    ) throws(StoreFault) -> Result<ClaimedJobs, StoreFault> {
        guard store.isShared else { return claimed(queues, store) }
        do throws(StoreFault) {
            let taken = try store.take(queues, at: now)
            return claimed(queues, store, taken)
        } catch {
            // The transaction goes on: nothing has changed.
            guard error.kind == .foreignThread else { throw error }
            return .failure(error)
        }
    }

    /// The jobs of a thread that this scheduler has had, or has taken.
    ///
    /// Refused while an event could not be written: of the jobs that are read from the first one
    /// on next, some would be read in their former state.
    ///
    /// - Parameter fault: why a transaction has failed.
    private func claimed(
        _ queues: [QueueName], _ store: any JournalTables, _ taken: TakenJobs? = nil,
        after fault: StoreFault? = nil
    ) -> Result<ClaimedJobs, StoreFault> {
        if let fault, store.isShared || !pending.isEmpty { return .failure(fault) }
        return reading { () throws(StoreFault) in
            let blockers = try store.blockers().filter { queues.contains($0.queue) }
            return ClaimedJobs(blockers: blockers, taken: taken)
        }
    }

    private func noteClaimed(_ queues: [QueueName], _ jobs: ClaimedJobs) {
        recoveryCounter.give(jobs.blockers)
        guard let taken = jobs.taken else { return }
        for (queue, selectors) in taken.counts {
            recoveryCounter.noteCounted(selectors.keys, in: queue)
        }
        scheduleStockTaking()
        lookForSubmitted(in: .zero)
    }

    private func loaded(
        _ queue: QueueName, after place: DueKey, _ batch: Result<JobBatch, StoreFault>
    ) -> StoreAnswer {
        if case .success(let batch) = batch { recoveryCounter.give(batch.jobs) }
        return .loadedDelayed(queue, after: place, batch)
    }

    /// The first jobs of a queue that a part of a firing has released.
    func fired(
        _ queue: QueueName, _ part: ReleaseBatch, _ firing: BufferRelease, _ fault: StoreFault?,
        _ store: any JournalTables
    ) -> Result<JobBatch, StoreFault> {
        guard fault != nil || firing.counted[queue] != nil else {
            // This part did not reach the queue.
            return .success(JobBatch(isEnd: false))
        }
        return delayed(
            queue, after: part.place(of: queue), part.loadCountMax, part.loadByteCountMax, fault,
            store)
    }

    /// The delayed jobs of a queue behind a place.
    ///
    /// Refused while an event could not be written: a job that has ended, or waits for a retry,
    /// would be read in its former state.
    func delayed(
        _ queue: QueueName, after place: DueKey, _ limit: Int, _ byteCount: Int,
        _ fault: StoreFault?, _ store: any JournalTables
    ) -> Result<JobBatch, StoreFault> {
        if let fault, !pending.isEmpty { return .failure(fault) }
        return reading { () throws(StoreFault) in
            try store.delayed(queue, after: place, limit: limit, byteCount: byteCount)
        }
    }

    private func reading<Value>(
        _ body: () throws(StoreFault) -> Value
    ) -> Result<Value, StoreFault> {
        do throws(StoreFault) {
            // Jobs that are to be dropped are seen by no reader.
            if !isWriting, !refused.isEmpty { throw awayFault }
            return .success(try body())
        } catch {
            if !health.isFailing { log.error("the journal can't read: \(error)") }
            return .failure(error)
        }
    }

    private var awayFault: StoreFault {
        StoreFault(
            .away, path: "the journal", detail: "jobs that were refused are still to be dropped")
    }

    private func list(
        _ listing: JobListing, _ store: any JournalTables
    ) throws(StoreFault) -> ListedJobs {
        let (state, span, limit) = (listing.state, listing.span, listing.limit)
        var jobs: [Job] = []
        var searched = span.end
        if state?.isEnded != false {
            (jobs, searched) = try store.listEnded(
                thread: listing.thread, state: state, in: span, limit: limit,
                hasReasons: listing.hasReasons)
        }
        for queue in listing.queues {
            if state == nil || state == .waiting {
                let brought = broughtThrough[queue]
                var parked = span
                parked.after = max(span.after, brought)
                jobs += try store.listInTurn(queue, in: parked, limit: limit)
                if recoveryCounter.hasUnserved(in: queue) {
                    var unserved = span
                    unserved.before = min(span.before, JobID(brought.number + 1))
                    jobs += try store.listInTurn(
                        queue, in: unserved, limit: limit, searched: &searched
                    ) { !recoveryCounter.serves($0.selector) }
                }
            }
            for deferred in [JobState.delayed, .buffered] where state == nil || state == deferred {
                jobs += try store.listDeferred(queue, state: deferred, in: span, limit: limit)
            }
        }
        jobs.removeAll { span.precedes(searched, $0.id) }
        jobs.sort { span.precedes($0.id, $1.id) }
        if jobs.count >= limit {
            jobs.removeLast(jobs.count - limit)
            searched = jobs.last?.id ?? searched
        }
        return ListedJobs(jobs: jobs, searched: searched)
    }
}
