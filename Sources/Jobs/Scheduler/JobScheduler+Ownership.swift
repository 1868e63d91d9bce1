// Which threads' stored jobs this scheduler owns: all of them, until it releases some. A thread
// that is released and claimed again may have had another owner meanwhile, so nothing that memory
// knew of its jobs is believed.
//
//     owned ── release ──▶ leaving ── its last running job ends ──▶ released ── claim ──▶ owned
//
// A claim of a leaving thread waits for the release: a job must not be loaded while its end is in
// flight.
//
// Jobs in memory only stay: no other scheduler knows them.

/// The threads that were released, and the releases that wait for running jobs.
struct Releases {
    /// A request that waits for jobs of a thread or a group.
    struct Request<Subject> {
        let subject: Subject
        let reply: ReplyToken
        /// One of the jobs that it waits for.
        var awaited: JobEntry?
    }

    fileprivate var waiting: [Request<String>] = []
    /// Claims of threads that are leaving.
    fileprivate var claims: [Request<String>] = []
    /// The threads that are released, and the number of the release of each.
    private var threads: [String: UInt64] = [:]
    private var latest: UInt64 = 0
    /// The released threads that are not taken over by another owner: new jobs are kept for them.
    private var kept: Set<String> = []
    /// The released threads of whose stored jobs nothing is known, not even how many there are.
    private var forgotten: Set<String> = []
    /// Requests that are answered when no job of a group runs any more.
    var endings: [Request<ThreadGroup>] = []

    /// Whether a thread is released.
    func includes(_ thread: String) -> Bool { !threads.isEmpty && threads[thread] != nil }

    /// The number of the present release of a thread; nil if it is not released.
    func number(of thread: String) -> UInt64? { threads[thread] }

    /// A thread is released, perhaps once more: a claim that was asked for before is void.
    ///
    /// - Parameter keepsNew: whether new jobs are kept for it.
    mutating func add(_ thread: String, keepsNew: Bool) {
        latest += 1
        threads[thread] = latest
        if keepsNew { kept.insert(thread) } else { kept.remove(thread) }
    }

    /// A thread is owned again.
    mutating func remove(_ thread: String) {
        threads[thread] = nil
        kept.remove(thread)
        forgotten.remove(thread)
    }

    /// The jobs of a released thread are counted no more.
    mutating func forget(_ thread: String) { if includes(thread) { forgotten.insert(thread) } }

    /// Whether the jobs of a thread are not counted.
    func hasForgotten(_ thread: String) -> Bool { forgotten.contains(thread) }

    /// Whether new jobs of a thread are refused.
    func refuses(_ thread: String) -> Bool { includes(thread) && !kept.contains(thread) }
}

/// Whether a thread, a pool or a slot can pass to another scheduler unnoticed.
package enum PassingReadiness: Comparable, Sendable {
    /// It can.
    case ready
    /// A command or a commit is under way that may change jobs of it.
    case commanded
    /// Jobs of it run, or are in workers' hands.
    case running
    /// A client watches a job of it, or a job is in memory only.
    case needed
}

extension JobScheduler {
    /// Lets go of the stored jobs of a thread, while others are served: none of them begins here
    /// any more.
    ///
    /// Answers `done` when the jobs that run have ended. Jobs that are accepted meanwhile are
    /// refused, or kept in the store.
    ///
    /// - Parameter keepsNew: whether the same scheduler claims the thread next.
    package mutating func release(
        _ thread: String, keepsNew: Bool = false, _ reply: ReplyToken
    ) {
        served.releases.add(thread, keepsNew: keepsNew)
        let released = queues.all.filter { $0.name.thread == thread }
        for queue in released { queue.release() }
        cancels.forgetLeft(of: released)
        for job in book.activeJobs.lastToBeginFirst() {
            guard let queue = job.queue, queue.isReleased, queue.name.thread == thread else {
                continue
            }
            // A job whose commit is awaited leaves when that has come.
            if case .committing = job.place { continue }
            if withdrawAttempt(of: job) { leaveToOwner(job, queue) }
        }
        if !released.isEmpty { keep(.release(released.map(\.name))) }
        served.releases.waiting.append(Releases.Request(subject: thread, reply: reply))
        endReleases()
    }

    /// Whether the stored jobs of a thread may be another scheduler's.
    package func isReleased(_ thread: String) -> Bool { served.releases.includes(thread) }

    /// Takes over the stored jobs of a thread; answers `done` when it knows the jobs that hold up
    /// others.
    package mutating func claim(_ thread: String, _ reply: ReplyToken) {
        guard served.releases.includes(thread) else { return effects.answer(reply, .done) }
        guard !stage.isRefusing else { return effects.answer(reply, .failed(.shuttingDown)) }
        guard !served.releases.waiting.contains(where: { $0.subject == thread }) else {
            return served.releases.claims.append(Releases.Request(subject: thread, reply: reply))
        }
        guard cancels.bulkTurns.enter(.claim(thread, reply)) else { return }
        beginToClaim(thread, reply)
    }

    mutating func beginToClaim(_ thread: String, _ reply: ReplyToken) {
        guard !stage.isRefusing else {
            effects.answer(reply, .failed(.shuttingDown))
            return endBulkTurn()
        }
        let names = Priority.allCases.map { QueueName(thread: thread, priority: $0) }
        let release = served.releases.number(of: thread)
        ask(.claim(thread, reply, of: release)) { .claim(names, ticket: $0) }
    }

    /// The store has told which jobs of a claimed thread hold up others.
    ///
    /// - Parameter release: the number of the thread's release when that was asked.
    mutating func claimed(
        _ thread: String, of release: UInt64?, _ result: Result<ClaimedJobs, StoreFault>,
        _ reply: ReplyToken
    ) {
        switch result {
        case .failure(let fault): effects.answer(reply, .failed(.storeFailed(fault)))
        case .success where stage.isRefusing:
            effects.answer(reply, .failed(.shuttingDown))
        // An earlier claim has been answered.
        case .success where !served.releases.includes(thread): effects.answer(reply, .done)
        // It was claimed and released meanwhile, and its jobs may have ended.
        case .success where served.releases.number(of: thread) != release:
            endBulkTurn()
            return claim(thread, reply)
        case .success(let jobs):
            let hasForgotten = served.releases.hasForgotten(thread)
            served.releases.remove(thread)
            let claimed = claimedQueues(of: thread)
            for queue in claimed { queue.claim() }
            if let taken = jobs.taken {
                // A thread that was only released here is counted, with the jobs accepted since the
                // claim was asked.
                if hasForgotten { count(taken, claimed) }
                take(taken)
            }
            // Before anything is loaded that they hold up.
            for job in jobs.blockers where book.active(job.id) == nil {
                if cancels.isPending(job.id) { cancels.withhold(job) } else { claimBlocker(job) }
            }
            endHoldUpsUntilClaim(of: thread)
            lookForEnds { $0 == thread }
            for queue in claimed { bringMore(of: queue) }
            effects.answer(reply, .done)
        }
        endBulkTurn()
    }

    /// Counts the jobs of a thread that another scheduler had.
    private mutating func count(_ taken: TakenJobs, _ claimed: [JobQueue]) {
        for queue in claimed {
            _ = queue.takeParked()
            _ = queues.unserved.take(queue.name)
            for (selector, amounts) in taken.counts[queue.name] ?? [:] {
                for (state, amount) in amounts {
                    if served.countsAsParked(selector) {
                        queue.addParked(state, amount)
                    } else {
                        queues.unserved.add(amount, state, of: selector, to: queue.name)
                    }
                }
            }
        }
    }

    /// Takes up the held jobs of a thread that another scheduler had.
    private mutating func take(_ taken: TakenJobs) {
        book.leap(to: taken.nextNumber)
        if let next = taken.nextExpiry { noteParkedExpiry(at: next) }
        for held in taken.held where book.active(held.job.id) == nil {
            if takeOutParked(held.job) { restoreHeld(held.job) }
        }
    }

    /// Takes up a job that holds up others between two attempts, and was parked.
    mutating func claimBlocker(_ job: Job) { if takeOutParked(job) { restoreBlocker(job) } }

    /// Takes a delayed job of a claimed thread out of the parked ones.
    ///
    /// - Returns: false if it stays there, as it has no handler.
    private mutating func takeOutParked(_ job: Job) -> Bool {
        guard let queue = queues[job.queue] else { return true }
        guard isServed(job, of: queue) else { return false }
        queues.unpark(job.id, .delayed, byteCount: job.payload.count, from: queue)
        return true
    }

    /// All queues that a thread may have: another owner may have made some.
    private mutating func claimedQueues(of thread: String) -> [JobQueue] {
        guard let group = served.knownGroup(of: thread) else { return [] }
        return Priority.allCases.map { priority in
            let name = QueueName(thread: thread, priority: priority)
            return queues.queue(name, of: group, mayHaveEarlierJobs: true)
        }
    }

    /// A job that has not begun leaves memory without an end: the owner of its thread has it in the
    /// store.
    mutating func leaveToOwner(_ job: JobEntry, _ queue: JobQueue) {
        retract(job)
        parkAsStored(job, queue)
        // Jobs in memory only may wait behind it: until the claim, if this scheduler makes it.
        if served.releases.refuses(queue.name.thread) {
            endHoldUp(by: job)
        } else {
            keepHoldUp(by: job, untilClaimOf: queue.name.thread)
        }
        job.forgetOrders()
    }

    // MARK: - Threads that another scheduler gets

    /// Whether a thread, a pool or a slot can pass to another scheduler unnoticed.
    ///
    /// - Complexity: O(jobs in memory).
    package func readiness(toPass unit: String) -> PassingReadiness {
        guard let group = served.group(ofUnit: unit) else { return .ready }
        if unitsOfWatchedParkedJobs.contains(unit) { return .needed }
        let waitedFor = store.commits.waitedFor
        var readiness = commandReadiness
        for job in book.activeJobs where job.group === group && job.unit == unit {
            readiness = max(readiness, self.readiness(toPass: job, waitedFor))
        }
        return readiness
    }

    /// Has a thread, a pool or a slot begin nothing more if it can pass to another scheduler.
    ///
    /// Then none of its jobs runs, and `release` is answered at once.
    ///
    /// - Complexity: O(jobs in memory).
    package mutating func prepareToPass(_ unit: String) -> PassingReadiness {
        let readiness = readiness(toPass: unit)
        guard readiness == .ready, let group = served.group(ofUnit: unit),
            !group.drained.contains(unit)
        else { return readiness }
        // A job that is offered may begin at any moment, until it is withdrawn.
        drain(unit)
        let afterDrain = self.readiness(toPass: unit)
        if afterDrain != .ready { endDrain(of: unit) }
        return afterDrain
    }

    /// The jobs that wait for the threads of a spread pool, and those of its slots that can pass to
    /// another scheduler unnoticed once their running jobs have ended.
    ///
    /// - Complexity: O(jobs in memory).
    package func slotLoad(of pool: String) -> SlotLoad {
        guard let group = served.group(named: pool) else { return SlotLoad() }
        let waitedFor = store.commits.waitedFor
        var counts: [String: Int] = [:]
        var readiness: [String: PassingReadiness] = [:]
        for queue in queues.all where queue.group === group && !queue.isReleased {
            counts[ThreadGroup.name(of: queue.name.thread), default: 0] += queue.parkedInTurn.count
        }
        for job in book.activeJobs where job.group === group {
            let (unit, ofJob) = (job.unit, self.readiness(toPass: job, waitedFor))
            readiness[unit] = max(readiness[unit] ?? .ready, ofJob)
            let isInTurn = job.place.isInLine || job.place.isOffered && ofJob != .running
            if isInTurn { counts[unit, default: 0] += 1 }
        }
        for unit in unitsOfWatchedParkedJobs { readiness[unit] = .needed }
        var load = SlotLoad()
        for (unit, count) in counts where count > 0 {
            load.sum += count
            let ofUnit = max(readiness[unit] ?? .ready, commandReadiness)
            if ofUnit < .needed { load.lendable[unit] = count }
        }
        return load
    }

    private var unitsOfWatchedParkedJobs: Set<String> {
        Set(audience.watches.threads { book.active($0) == nil }.lazy.map(ThreadGroup.name))
    }

    /// The readiness of all units, as far as their jobs in memory do not decide it.
    private var commandReadiness: PassingReadiness {
        store.inquiries.haveCommands || !cancels.bulkTurns.isEmpty ? .commanded : .ready
    }

    private func readiness(toPass job: JobEntry, _ waitedFor: Set<JobID>) -> PassingReadiness {
        if job.isInHands || job.place.isOffered && beginning(of: job) != nil { return .running }
        guard job.isStored, !audience.watches.isWatched(job.id) else { return .needed }
        switch job.place {
        case .delayed, .buffered, .inLine, .heldUp, .suspended, .offered: return .ready
        case .committing: return waitedFor.contains(job.id) ? .commanded : .ready
        case .outside: return .commanded
        }
    }

    /// Forgets the failed jobs of a released thread, pool or slot, which its new owner may run
    /// again, and the counts of its jobs in the store: a claim tells these.
    package mutating func forgetJobs(of unit: String) {
        guard let group = served.group(ofUnit: unit) else { return }
        group.drained.remove(unit)
        // The unit's jobs have left memory; the entries have payloads yet.
        group.suspended.removeAll { !isSuspended($0) }
        for thread in group.names(ofUnit: unit) { served.releases.forget(thread) }
        var failed: [JobID] = []
        book.forEach { job in
            if job.group === group, job.unit == unit, job.isStored, job.job.state == .failed {
                failed.append(job.id)
            }
        }
        for id in failed { _ = book.dropFailed(id) }
        for queue in queues.all
        where queue.group === group && ThreadGroup.name(of: queue.name.thread) == unit {
            _ = queue.takeParked()
            _ = queues.unserved.take(queue.name)
        }
    }

    /// Has the clients that wait for parked jobs of threads wait where another scheduler has these
    /// now.
    ///
    /// - Returns: the clients that watch such jobs: they are told no change of them.
    package mutating func leaveClients(ofThreads isElsewhere: (String) -> Bool) -> Set<UInt64> {
        var left: [(reply: ReplyToken, answer: JobAnswer)] = []
        for waiting in cancels.takeWaiters(ofThreads: isElsewhere) {
            for (reply, rest) in waiting.clients.left(&alarms, at: now) {
                left.append(
                    (reply, .moved(waiting.id, thread: waiting.thread, milliseconds: rest)))
            }
        }
        // Each client gets its answers in the order in which it has asked.
        left.sort { ($0.reply.client, $0.reply.number) < ($1.reply.client, $1.reply.number) }
        for (reply, answer) in left { effects.answer(reply, answer) }
        return audience.watches.clients(ofThreads: isElsewhere) { book.active($0) == nil }
    }

    /// Answers the releases whose last running job has ended.
    mutating func endReleases() {
        if !served.releases.endings.isEmpty { tellEnded() }
        guard !served.releases.waiting.isEmpty else { return }
        served.releases.waiting = answerOver(served.releases.waiting) { thread, job in
            job.isActive && job.queue.map { $0.isReleased && $0.name.thread == thread } == true
        }
        let awaited = Set(served.releases.waiting.map(\.subject))
        for claim in served.releases.claims where !awaited.contains(claim.subject) {
            served.releases.claims.removeAll { $0.reply == claim.reply }
            self.claim(claim.subject, claim.reply)
        }
    }

    /// Answers the requests that wait for no job any more.
    ///
    /// - Returns: the others.
    /// - Complexity: O(1) for each that waits for the same job as before, O(jobs in memory) for the
    ///   others.
    mutating func answerOver<Subject>(
        _ requests: [Releases.Request<Subject>], where isAwaited: (Subject, JobEntry) -> Bool
    ) -> [Releases.Request<Subject>] {
        var left: [Releases.Request<Subject>] = []
        for var request in requests {
            if let job = request.awaited, !isAwaited(request.subject, job) { request.awaited = nil }
            if request.awaited == nil {
                book.forEachActive { job in
                    if isAwaited(request.subject, job) { request.awaited = job }
                    return request.awaited == nil
                }
            }
            if request.awaited == nil {
                effects.answer(request.reply, .done)
            } else {
                left.append(request)
            }
        }
        return left
    }
}
