// How a job is accepted: known at once, answered and offered when it is kept as its client wants
// it. That is at once for a job in memory only, and when the store has it for any other.

internal import Wording

extension JobScheduler {
    /// So many jobs without a key get one slot, and then as many the next one.
    private static var slotTurnCount: Int { 64 }

    /// Accepts a job, and answers with its number or why there is none.
    ///
    /// - Parameters:
    ///   - run: recorded with the job, of the schedule that makes it; then `keepRuns` tells the
    ///     store.
    ///   - submitted: the job as it was submitted in the store; it leaves its place there.
    package mutating func perform(
        _ request: borrowing JobRequest, of run: ScheduleRun? = nil,
        from submitted: SubmittedJob? = nil, _ reply: ReplyToken
    ) {
        if served.hasSlots, let slot = slot(for: request, isPlaced: submitted != nil) {
            var placed = copy request
            placed.thread = slot
            return perform(placed, of: run, from: submitted, reply)
        }
        // The one place that decides whether a store keeps a job.
        let isKept = store.isKeeping && !request.isVolatile
        let claim = claim(of: request)
        do throws(JobError) {
            if !isKept, let claim, let earlier = earlierJob(named: claim) {
                return answerKnown(earlier, reply)
            }
            if let job = try accept(
                request, isKept: isKept, of: run, from: submitted, claim, reply)
            {
                answerAccepted(job.id, job, reply)
            }
        } catch {
            // A repeated submit gets the answer of the first one also if there is no room for
            // another job.
            guard let claim, isKept, error != .shuttingDown, !staysInStore(submitted, error) else {
                return effects.answer(reply, .failed(error))
            }
            ask(.repeated(error, reply)) { .findNamed(claim, ticket: $0) }
        }
    }

    /// Whether a job that was submitted in the store waits there, and holds up those behind it at
    /// once.
    private func staysInStore(_ submitted: SubmittedJob?, _ error: JobError) -> Bool {
        guard submitted != nil else { return false }
        switch error {
        case .full, .stoppedThread, .foreignThread: return true
        default: return false
        }
    }

    /// The slot of a new job for a spread pool; nil if it is the one that the request names.
    ///
    /// A job without a key or a unique name goes to the next slot in turn that is owned here. A
    /// submitted one has its slot in the store. In any other slot it could be accepted twice: the
    /// scheduler that its own slot passes to finds it there, too.
    private func slot(for request: borrowing JobRequest, isPlaced: Bool) -> String? {
        guard let group = served.knownGroup(of: request.thread), group.slots.count > 1,
            request.thread == group.name
        else { return nil }
        let slots = group.slots
        var slot: String?
        if let key = request.slotKey {
            slot = PoolSlot.name(of: key, of: group.name, among: slots.count)
        } else if !isPlaced {
            let first = group.slotTurn / Self.slotTurnCount
            group.slotTurn += 1
            for place in first..<first + slots.count {
                let next = slots[place % slots.count]
                if served.releases.refuses(next) { continue }
                slot = next
                break
            }
        }
        return slot == group.name ? nil : slot
    }

    private func claim(of request: borrowing JobRequest) -> NameClaim? {
        guard let unique = request.unique else { return nil }
        let milliseconds = unique.milliseconds ?? book.limits.uniqueMilliseconds
        return NameClaim(
            name: unique.bytes, isAgain: unique.isAgain,
            until: now.unixMilliseconds + milliseconds, fingerprint: request.fingerprint)
    }

    /// - Returns: a job in memory only; nil if the store comes first.
    private mutating func accept(
        _ request: borrowing JobRequest, isKept: Bool, of run: ScheduleRun?,
        from submitted: SubmittedJob?, _ claim: NameClaim?, _ reply: ReplyToken
    ) throws(JobError) -> JobEntry? {
        let now = now.unixMilliseconds
        let (group, selector) = try check(request)
        let byteCount = request.payload.count
        let queue = isKept ? queues.queue(request.queue, of: group) : nil
        if queue != nil {
            try checkLimits(byteCount, of: group)
        } else if parkedCount > 0 {
            // Jobs in memory are counted when it gets its number.
            try checkLimits(byteCount)
        }
        let isParked = queue?.parks(request, at: now) ?? false
        let id = isParked ? book.takeNumber() : try takeNumber(for: byteCount, at: now)
        let accepted = Job(
            id: id, request: request,
            served.details(of: request, selector, uniqueUntil: claim?.until), acceptedAt: now)
        reserveNumbers()
        let (state, dueAt, expiresAt) = (accepted.state, accepted.dueAt, accepted.expiresAt)
        // The job then moves into its entry: one in memory only is never copied.
        let new = queue == nil ? nil : NewJob(accepted, isParked: isParked, from: submitted)
        let job =
            isParked
            ? nil : enter(consume accepted, selector.index, consume group, queue, byteCount)
        guard let queue, let new else {
            if let claim { names.give(claim, to: id, at: now) { book.active($0) != nil } }
            if let job {
                if audience.followsChanges { tell(.accepted, of: job) }
                goOn(job, state, dueAt: dueAt)
            }
            return job
        }
        if isParked {
            queue.addParked(state, .one(byteCount))
            if let expiresAt { noteParkedExpiry(at: expiresAt) }
        }
        store.commits.append(
            CommitQueue.Commit(
                id: id, job: job, queue: queue, details: new.job.details, state: state,
                dueAt: dueAt, byteCount: byteCount, reply: reply))
        if let run {
            store.commits.add(MadeRun(run: run, new: new, claim: claim))
        } else if let claim {
            keep(.acceptOnce(new, claim))
        } else {
            keep(.accept(new))
        }
        return nil
    }

    private func earlierJob(named claim: NameClaim) -> NamedJob? {
        names.job(of: claim, at: now.unixMilliseconds) { book.active($0) != nil }
    }

    /// Answers a repeated submit with the number of the first job, or later with its outcome.
    mutating func answerKnown(_ named: NamedJob, _ reply: ReplyToken) {
        guard named.isSame else { return effects.answer(reply, .failed(.nameTaken(named.id))) }
        guard reply.patience != nil, let job = book.active(named.id) else {
            return effects.answer(reply, .known(named.id))
        }
        addWaiter(reply, to: job)
    }

    /// Answers with the number of a job, or later with its outcome.
    private mutating func answerAccepted(_ id: JobID, _ job: JobEntry?, _ reply: ReplyToken) {
        // Mostly it is in memory, and the door need not ask.
        guard reply.patience != nil, let job else {
            return effects.answer(reply, .accepted(id))
        }
        addWaiter(reply, to: job)
    }

    /// Takes a new job into memory.
    private mutating func enter(
        _ accepted: consuming Job, _ selectorIndex: Int, _ group: consuming ThreadGroup,
        _ queue: JobQueue?, _ byteCount: Int
    ) -> JobEntry {
        let isDelayed = accepted.state == .delayed
        let job = entry(accepted, selectorIndex, group, queue)
        job.move(to: .committing)
        book.keep(job)
        if let queue {
            if isDelayed { job.part = .delayed }
            queue.addInMemory(job.part, byteCount: byteCount)
        }
        return job
    }

    /// A job that is in memory from now on.
    mutating func entry(
        _ job: consuming Job, _ selectorIndex: Int, _ group: consuming ThreadGroup,
        _ queue: consuming JobQueue?
    ) -> JobEntry {
        let orders = orders.orders(
            thread: job.thread, isForOne: group.isOneThread(job.thread), key: job.key)
        let entry = book.spares.entry(
            job, selectorIndex: selectorIndex, of: group, orders: orders, queue: queue)
        if entry.expiresAt != .max { watchExpiry(of: entry) }
        return entry
    }

    /// Lets a job go on that is kept as its client wants it.
    private mutating func goOn(_ job: JobEntry, _ state: JobState, dueAt: Int64?) {
        switch state {
        case .delayed: place(job, dueAt: dueAt ?? 0)
        case .buffered:
            job.group.buffer(job)
        case .waiting, .running, .done, .failed, .cancelled, .expired: takeItsTurn(job)
        }
    }

    /// Tells the store the runs of schedules that were accepted.
    package mutating func keepRuns() {
        let runs = store.commits.takeRuns()
        if !runs.isEmpty { keep(.run(runs)) }
    }

    // MARK: - Commits

    /// The next jobs are kept, or could not be.
    mutating func committed(_ count: Int, _ fault: StoreFault?) {
        // Neighbours are mostly of the same queue, which is looked after once for all of them.
        var wanting: JobQueue?
        for _ in 0..<count {
            guard let commit = store.commits.popFirst() else { break }
            guard !committed(commit, fault), wanting !== commit.queue else { continue }
            if let wanting { bringMore(of: wanting) }
            wanting = commit.queue
        }
        if let wanting { bringMore(of: wanting) }
    }

    /// - Returns: whether the job goes on in memory; else its queue may want a load. A delayed one
    ///   may be parked, or have others parked.
    private mutating func committed(_ commit: CommitQueue.Commit, _ fault: StoreFault?) -> Bool {
        if let fault {
            forget(commit, .failed(.storeFailed(fault)))
            return false
        }
        if audience.followsChanges { tellAccepted(commit) }
        let job = commit.job.flatMap { book.active(commit.id) === $0 ? $0 : nil }
        if job == nil, commit.reply.patience != nil, let outcome = commit.job?.job.outcome {
            // It ended before it began, and may be forgotten already.
            effects.answer(commit.reply, JobAnswer(outcome, of: commit.id))
            return false
        }
        answerAccepted(commit.id, job, commit.reply)
        guard let job else { return false }
        if commit.queue.isOrphaned || !isServed(job) {
            leaveUnserved(job)
            endReleases()
            return false
        }
        if commit.queue.isReleased {
            leaveToOwner(job, commit.queue)
            endReleases()
            return false
        }
        goOn(job, commit.state, dueAt: commit.dueAt)
        return commit.state != .delayed
    }

    /// The next job has the name of another one, whose number its client gets.
    mutating func existing(_ other: NamedJob) {
        guard let commit = store.commits.popFirst() else { return }
        forget(commit, other.isSame ? .known(other.id) : .failed(.nameTaken(other.id)))
        bringMore(of: commit.queue)
    }

    /// A job is not accepted after all.
    private mutating func forget(_ commit: CommitQueue.Commit, _ answer: JobAnswer) {
        if let job = commit.job {
            tellWaiters(of: job, .failed(.unknownJob(commit.id)))
            if book.active(commit.id) === job {
                book.deactivate(job)
                endExpiry(of: job)
                commit.queue.removeFromMemory(job)
            } else if job.job.state.isEnded {
                uncountCancelled(commit.id)
            } else {
                // A shutdown has left it to the store.
                uncountParked(commit)
            }
            book.discard(commit.id, endedAs: job.job.state)
        } else {
            uncountParked(commit)
        }
        effects.answer(commit.reply, answer)
        endReleases()
    }

    // MARK: - Refusals

    /// Finds out whether there is a thread and a handler for a job.
    package mutating func checkServed(_ request: borrowing JobRequest) throws(JobError) {
        _ = try served.group(of: request.thread)
        _ = try served.selector(request.selector)
    }

    /// Finds out whether a job can be accepted.
    private mutating func check(
        _ request: borrowing JobRequest
    ) throws(JobError) -> (ThreadGroup, JobSelector) {
        if stage.isRefusing { throw JobError.shuttingDown }
        let group = try served.group(of: request.thread)
        let selector = try served.selector(request.selector)
        if served.releases.refuses(request.thread) {
            throw JobError.foreignThread(PoolSlot.shown(request.thread))
        }
        if environment.isStopped(request.thread, of: group) {
            throw JobError.stoppedThread(PoolSlot.shown(request.thread))
        }
        // The number of all jobs bounds that of a group; reading it asks no thread.
        if book.activeCount + queues.load.parkedSum.count >= group.maxQueued {
            let waiting = waitingCount(of: group)
            if waiting >= group.maxQueued {
                throw full(
                    "thread \(group.name) holds \(counted(waiting, "waiting job")), its limit",
                    group)
            }
        }
        return (group, selector)
    }

    /// The number of a new job that is in memory.
    private mutating func takeNumber(
        for byteCount: Int, at now: Int64
    ) throws(JobError) -> JobID {
        do throws(JobStoreError) {
            return try book.takeNumber(forPayloadOf: byteCount, at: now)
        } catch .full(let count, let byteCount) {
            throw full(
                "\(counted(count, "job")) of \(counted(byteCount, "byte")) waiting or running, "
                    + "the limit",
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
