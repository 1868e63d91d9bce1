// The cancel of one job by a client, wherever the job is.

/// Cancels under way, and the jobs and clients that wait for their answers.
struct PendingCancels {
    /// Parked jobs that the store was asked to end, and how often.
    private var counts: [JobID: Int] = [:]
    /// Jobs among them that were loaded before the answer: they must not begin.
    private var withheld: [JobID: Job] = [:]
    /// Bulk cancels under way.
    var bulk: [BulkCancel] = []
    var bulkTurns = BulkTurns()
    /// Jobs in turn that a shutdown or a stopped thread has left to the store, which takes them for
    /// jobs in memory.
    private var leftInTurn: [JobID: QueueName] = [:]
    /// How often the store was told so of all jobs of some queues.
    private(set) var releaseCount = 0
    /// Jobs among these that the scheduler has ended while another cancel was under way, which may
    /// end them in the store as well.
    private var ended: Set<JobID> = []
    /// Clients that wait for the end of a parked job, and the thread of the job.
    private var waiters: [JobID: (thread: String, clients: WaitingClients)] = [:]
    /// Jobs that were looked for, as clients are to wait for their ends, and how often.
    private var sought: [JobID: Int] = [:]
    /// Jobs among them that have ended since: the answer may not know it.
    private var endedSought: [JobID: Outcome] = [:]

    /// The store is asked to end a job.
    mutating func begin(_ id: JobID) { counts[id, default: 0] += 1 }

    func isPending(_ id: JobID) -> Bool { counts[id] != nil }

    /// Keeps a loaded job back until the answer.
    mutating func withhold(_ job: Job) { withheld[job.id] = job }

    /// A job in turn has left memory, and the store does not know it.
    mutating func leave(_ id: JobID, of queue: QueueName) { leftInTurn[id] = queue }

    func isLeft(_ id: JobID) -> Bool { leftInTurn[id] != nil }

    mutating func forgetLeft(_ id: JobID) { leftInTurn[id] = nil }

    /// The store is told that all jobs of some queues are in no memory.
    mutating func forgetLeft(of queues: [JobQueue]) {
        releaseCount += 1
        guard !leftInTurn.isEmpty else { return }
        let names = Set(queues.map(\.name))
        leftInTurn = leftInTurn.filter { !names.contains($0.value) }
    }

    /// The scheduler ends a job that was left in turn.
    mutating func endLeft(_ id: JobID) {
        forgetLeft(id)
        if !counts.isEmpty || !bulk.isEmpty { ended.insert(id) }
    }

    /// Whether a job that the store has ended was ended before.
    mutating func hasEnded(_ id: JobID) -> Bool {
        if !ended.isEmpty, counts.isEmpty, bulk.isEmpty { ended = [] }
        return ended.contains(id)
    }

    /// A withheld job has ended.
    mutating func forget(_ id: JobID) { withheld[id] = nil }

    /// An answer has come.
    ///
    /// - Returns: the withheld job, if no other answer is awaited: it was not ended, and goes on.
    mutating func end(_ id: JobID) -> Job? {
        guard let count = counts[id] else { return nil }
        counts[id] = count > 1 ? count - 1 : nil
        return count == 1 ? withheld.removeValue(forKey: id) : nil
    }

    /// - Parameter thread: the job's.
    mutating func withWaiters(
        of id: JobID, thread: String = "", _ body: (inout WaitingClients) -> Void
    ) {
        body(&waiters[id, default: (thread, WaitingClients())].clients)
        if waiters[id]?.clients.isEmpty == true { waiters[id] = nil }
    }

    mutating func takeWaiters(of id: JobID) -> WaitingClients? {
        waiters.removeValue(forKey: id)?.clients
    }

    /// Whether clients wait for parked jobs of a thread.
    func hasWaiters(ofThread thread: String) -> Bool {
        waiters.values.contains { $0.thread == thread }
    }

    /// A job is looked for, as a client is to wait for its end.
    mutating func seek(_ id: JobID) { sought[id, default: 0] += 1 }

    /// A job of the store has ended.
    mutating func noteEnd(of id: JobID, _ outcome: Outcome) {
        if sought[id] != nil { endedSought[id] = outcome }
    }

    /// A job was looked for.
    ///
    /// - Returns: how it has ended since that was asked; nil if it has not.
    mutating func found(_ id: JobID) -> Outcome? {
        guard let count = sought[id] else { return nil }
        sought[id] = count > 1 ? count - 1 : nil
        return count > 1 ? endedSought[id] : endedSought.removeValue(forKey: id)
    }

    func hasWaiters(of id: JobID) -> Bool { waiters[id] != nil }

    /// The parked jobs of some threads for which clients wait.
    func waitedFor(ofThreads isMeant: (String) -> Bool) -> [JobID] {
        waiters.filter { isMeant($0.value.thread) }.keys.sorted()
    }

    /// Takes the clients that wait for parked jobs of some threads.
    mutating func takeWaiters(
        ofThreads isMeant: (String) -> Bool
    ) -> [(id: JobID, thread: String, clients: WaitingClients)] {
        let taken = waiters.filter { isMeant($0.value.thread) }.sorted { $0.key < $1.key }
        for (id, _) in taken { waiters[id] = nil }
        return taken.map { ($0.key, $0.value.thread, $0.value.clients) }
    }

    mutating func takeWaiters() -> [WaitingClients] {
        defer { waiters = [:] }
        return waiters.sorted { $0.key < $1.key }.map(\.value.clients)
    }
}

extension JobScheduler {
    /// Takes back a job that has not begun, or asks a running one to end; answers what became of
    /// it.
    package mutating func cancel(_ id: JobID, _ reply: ReplyToken) {
        forgetExpired()
        if let answer = cancelInMemory(id) {
            // The store keeps the cancel before the client is answered.
            return mustConfirm(answer, of: id)
                ? confirm(.cancel(answer), reply) : effects.answer(reply, .cancel(answer))
        }
        cancels.begin(id)
        ask(.cancel(id, releaseCount: cancels.releaseCount, reply)) {
            .cancel(id, as: .cancelled, ticket: $0)
        }
    }

    /// - Returns: what became of it; nil if it is not in memory.
    private mutating func cancelInMemory(_ id: JobID) -> CancelOutcome? {
        guard let job = book.active(id) else {
            // Jobs in the book that are not active have ended.
            return book.state(of: id) == nil ? nil : .tooLate
        }
        if withdraw(job) { return .cancelled }
        // Should the daemon die first, it must not run again as if no client had asked.
        if job.isStored, !job.isAskedToEnd || job.isInterrupted { keep(.askToEnd(id)) }
        job.isAskedToEnd = true
        effects.append(.cancel(job))
        guard job.stuckSince == nil else {
            effects.append(.reportStuck(job))
            return .stuck
        }
        return .requested
    }

    private func mustConfirm(_ answer: CancelOutcome, of id: JobID) -> Bool {
        switch answer {
        case .cancelled: true
        case .requested, .stuck: book.active(id)?.isStored == true
        case .tooLate: false
        }
    }

    // MARK: - Not in memory

    /// The store has ended a job, or found none that is parked.
    mutating func cancelledParked(
        _ id: JobID, _ result: Result<[QueueName: [CountedJob]], StoreFault>,
        releaseCount count: Int, _ reply: ReplyToken
    ) {
        noteCancelAnswer(id)
        switch result {
        case .failure(let fault): effects.answer(reply, .failed(.storeFailed(fault)))
        case .success(let cancelled) where !cancelled.isEmpty:
            effects.answer(reply, .cancel(.cancelled))
        case .success:
            // It has come into memory, or ended, or never was.
            if let answer = cancelInMemory(id) { return confirm(.cancel(answer), reply) }
            ask(.lookAfterCancel(id, releaseCount: count, reply)) { .find(id, ticket: $0) }
        }
    }

    /// A job was looked for that was to be cancelled and is not parked.
    mutating func cancel(
        _ id: JobID, found: Result<Job, JobError>, releaseCount: Int, _ reply: ReplyToken
    ) {
        switch found {
        case .failure(let error): effects.answer(reply, .failed(error))
        case .success(let job):
            if let answer = cancelInMemory(id) { return confirm(.cancel(answer), reply) }
            guard !job.state.isEnded, cancels.isLeft(id) else {
                // Its queue may have been released since, and then the store ends it.
                let isOver = job.state.isEnded || releaseCount == cancels.releaseCount
                return isOver ? effects.answer(reply, .cancel(.tooLate)) : cancel(id, reply)
            }
            // The store knows since that it is in no memory.
            if stage.keepsParked { return cancel(id, reply) }
            effects.record(.end(id, nil, .cancelled, at: now.unixMilliseconds))
            let counted = CountedJob(
                id: id, state: .waiting, selector: job.selector, byteCount: job.payload.count)
            _ = noteCancelled([job.queue: [counted]])
            cancels.endLeft(id)
            confirm(.cancel(.cancelled), reply)
        }
    }

    /// The store has said whether it ended a job: if it did not, and has loaded it meanwhile, the
    /// job goes on.
    mutating func noteCancelAnswer(_ id: JobID) {
        guard let job = cancels.end(id), let queue = queues[job.queue] else { return }
        // Going down: it is in the store, and stays there.
        guard !stage.keepsDelayed else { return }
        // Its handler may have gone while the store was asked.
        if isServed(job, of: queue), !leaveParked(job, queue) {
            let isBlocker = job.isBlocker && isInOrder(job, of: queue.group)
            isBlocker ? claimBlocker(job) : bringWithheld(job, to: queue)
        }
        offerLine(of: queue)
    }

    /// Takes a withheld job into memory, unless jobs that are due before it are parked since: then
    /// it comes after them, with a load.
    private mutating func bringWithheld(_ job: Job, to queue: JobQueue) {
        let place = DueKey(dueAt: job.dueAt ?? job.acceptedAt, id: job.id)
        queue.delayed.takes(place) ? bringDelayed(job, to: queue) : bringMore(of: queue)
    }

    /// Counts a job that is not in memory as ended, and tells all that waited for it.
    mutating func endParked(
        _ id: JobID, thread: String, selector: String, _ outcome: Outcome
    ) {
        book.countEnd(in: outcome.state)
        cancels.noteEnd(of: id, outcome)
        tellWatchers(id, outcome)
        environment.endedUnbegun(id, of: thread, outcome)
        if audience.followsChanges { tellEnd(of: id, thread: thread, selector: selector, outcome) }
        cancels.takeWaiters(of: id)?.tell(JobAnswer(outcome, of: id), &alarms, &effects)
        if audience.awaitsRoom { effects.append(.roomMayBe) }
    }
}
