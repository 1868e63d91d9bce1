// Which jobs may be offered, and which wait because a job before them is tried again.
//
// All ready jobs are offered. A worker whose attempt has failed and holds up others reports that
// and takes nothing more before it is let go; it keeps the binding of its key. All that follows in
// the order waits for this one worker, so the scheduler retracts it from the queue, and none of it
// is in a worker's hands. The retracted jobs wait, with the jobs that are accepted meanwhile, and
// are offered again in the same order when the retried job has ended. (PROTOCOL.md, RETRY … BLOCK.)

extension JobScheduler {
    /// Offers a job whose moment has come, behind all jobs of its queue with an earlier one.
    mutating func takeItsTurn(_ job: JobEntry) {
        joinLine(job)
        if let queue = job.queue { offerLine(of: queue) }
    }

    /// Adds a job whose moment has come to the line of its queue.
    ///
    /// The caller calls `offerLine` when all jobs that came with it have joined.
    mutating func joinLine(_ job: JobEntry) {
        if audience.notesOldestWaiting { note(waiting: job) }
        // A job that holds up others goes first.
        guard let queue = job.queue, job.part != .apart,
            !queue.isInMemory || front(of: queue) < .last
        else { return offerInOrder(job) }
        job.move(to: .inLine)
        queue.line.add(job)
    }

    /// Offers the jobs of a queue whose turn has come.
    mutating func offerLine(of queue: JobQueue) {
        guard !queue.line.isEmpty else { return }
        // Nothing more comes into memory, or no delayed job does.
        let isEnd = stage.keepsParked || isStopped(queue)
        let reach = QueueLine.Reach(
            isWhole: queue.window.isWhole || isEnd,
            horizon: stage.keepsDelayed || isEnd ? .last : front(of: queue),
            isFull: queue.delayed.isFull, now: now.unixMilliseconds)
        while let job = queue.line.next(reach) { offerInOrder(job) }
        if !queue.line.isEmpty { bringMore(of: queue) }
    }

    /// Offers a job whose turn has come, or lets it wait behind the one that it has to follow.
    mutating func offerInOrder(_ job: JobEntry) {
        orders.turnCount += 1
        job.takeTurn(orders.turnCount)
        offerOrHoldUp(job)
    }

    /// The same for a job whose turn had come before.
    mutating func offerOrHoldUp(_ job: JobEntry) {
        if let holdUp = holdUp(before: job) { letWait(job, holdUp) } else { offer(job) }
    }

    private mutating func offer(_ job: JobEntry) {
        if job.group.keepsBack(job) {
            job.move(to: .suspended)
            return job.group.suspended.append(job)
        }
        job.beOffered()
        enlist(job)
        effects.append(.offer(job))
    }

    private func holdUp(before job: JobEntry) -> HoldUp? {
        guard orders.holdUps.count > 0 else { return nil }
        // A worker may be at it already: it waits only for others of which that holds, too.
        if job.isInherited {
            guard let holdUp = job.heldUpOrder?.holdUp, holdUp.blocker != job.id else { return nil }
            return holdUp
        }
        for order in [job.orders.thread, job.orders.key] {
            if let holdUp = order?.holdUp, holdUp.blocker != job.id { return holdUp }
        }
        return nil
    }

    private mutating func letWait(_ job: JobEntry, _ holdUp: HoldUp) {
        // Going down, and the job to follow has gone: it would wait for ever.
        if stage.isRefusing, book.active(holdUp.blocker) == nil { return abandon(job) }
        job.move(to: .heldUp(holdUp))
        holdUp.add(job)
    }

    private mutating func abandon(_ job: JobEntry) {
        guard book.active(job.id) === job else { return }
        tellWaiters(of: job, .failed(.abandoned))
        if let queue = job.queue { parkAsStored(job, queue) } else { book.deactivate(job) }
        abandonHeldUp(by: job)
    }

    /// Abandons the jobs behind one that a shutdown has left to the store.
    mutating func abandonHeldUp(by job: JobEntry) {
        for other in keepHoldUp(by: job)?.takeAll() ?? [] { abandon(other) }
    }

    /// Keeps the order of a job that a shutdown has left to the store: jobs loaded later wait too.
    @discardableResult
    mutating func keepHoldUp(by job: JobEntry) -> HoldUp? {
        guard let (order, holdUp) = held(by: job) else { return nil }
        orders.heldUpUntilRestart.append(order)
        return holdUp
    }

    /// The order that a job holds up, and its hold-up; nil if it holds up none.
    private func held(by job: JobEntry) -> (order: JobOrder, holdUp: HoldUp)? {
        guard let order = job.heldUpOrder, let holdUp = order.holdUp, holdUp.blocker == job.id
        else { return nil }
        return (order, holdUp)
    }

    /// Keeps the order of a blocker that leaves with its thread, which this scheduler claims next.
    mutating func keepHoldUp(by job: JobEntry, untilClaimOf thread: String) {
        guard let order = held(by: job)?.order else { return }
        orders.heldUpUntilClaim[thread, default: []].append(order)
    }

    /// Ends the hold-ups of a claimed thread whose blockers have not come back.
    mutating func endHoldUpsUntilClaim(of thread: String) {
        for order in orders.heldUpUntilClaim.removeValue(forKey: thread) ?? [] {
            guard let holdUp = order.holdUp, book.active(holdUp.blocker) == nil else { continue }
            end(holdUp, of: order)
        }
    }

    /// The daemon goes down, and claims no more threads: the blockers stay in the store.
    mutating func giveUpHoldUpsUntilClaim() {
        let left = orders.heldUpUntilClaim.sorted { $0.key < $1.key }.flatMap(\.value)
        orders.heldUpUntilClaim = [:]
        for order in left {
            guard let holdUp = order.holdUp, book.active(holdUp.blocker) == nil else { continue }
            orders.heldUpUntilRestart.append(order)
            for job in holdUp.takeAll() { abandon(job) }
        }
    }

    /// Keeps the orders of a job that a shutdown has left to the store although it has held up
    /// nothing: jobs that are loaded later wait too.
    ///
    /// - Parameter kept: its orders, which it has forgotten.
    mutating func holdUpUntilRestart(_ kept: JobOrders, behind job: JobEntry) {
        for case let order? in [kept.thread, kept.key] {
            holdUpUntilRestart(of: order, behind: job)
        }
    }

    private mutating func holdUpUntilRestart(of order: JobOrder, behind job: JobEntry) {
        _ = holdUp(of: order, by: job)
        orders.heldUpUntilRestart.append(order)
    }

    /// Withdraws the offered jobs of a job's orders, all of which are behind it; the last to begin
    /// comes first.
    mutating func withdrawFollowers(of job: JobEntry) -> [JobEntry] {
        if let order = job.orders.thread, !order.notesJobs {
            beginNoting(of: order, besides: job)
        }
        let entries = [job.orders.thread, job.orders.key].flatMap { $0?.takeEntries() ?? [] }
        return entries.compactMap { self.job(of: $0) }.filter { $0 !== job }.lastToBeginFirst()
            .filter { withdrawAttempt(of: $0) }
    }

    /// Notes the orders of a job that is offered.
    private mutating func enlist(_ job: JobEntry) {
        if let order = job.orders.thread {
            if !order.notesJobs, job.retry.blocks, job.orders.key == nil {
                beginNoting(of: order, besides: job)
            }
            if order.notesJobs { enlist(job, in: order) }
        }
        if let order = job.orders.key { enlist(job, in: order) }
    }

    /// Notes all jobs of a thread: the first job has come that can hold others up.
    ///
    /// - Complexity: O(jobs in memory), once for each thread.
    private mutating func beginNoting(of order: JobOrder, besides job: JobEntry) {
        order.notesJobs = true
        let offered = book.activeJobs.filter {
            $0.orders.thread === order && $0.place.isOffered && $0 !== job
        }
        for other in offered.sorted(by: { $0.turn < $1.turn }) { enlist(other, in: order) }
    }

    private func enlist(_ job: JobEntry, in order: JobOrder) {
        order.note(
            JobOrder.Entry(id: job.id, turn: job.turn), activeCount: book.activeCount
        ) { self.job(of: $0) != nil }
    }

    /// Forgets the offers of a job that was taken back, and with it those of its orders: it is
    /// offered once more.
    mutating func forgetOffers(of job: JobEntry) {
        for order in [job.orders.thread, job.orders.key] {
            order?.sweep { self.job(of: $0) != nil }
        }
    }

    /// The job of an entry, if it is offered still.
    private func job(of entry: JobOrder.Entry) -> JobEntry? {
        guard let job = book.active(entry.id), job.place.isOffered, job.turn == entry.turn else {
            return nil
        }
        return job
    }

    /// Holds up all that follows a job whose failed attempt is to be made good first.
    mutating func holdUpOthers(behind job: JobEntry) {
        guard job.retry.blocks, let order = job.orders.own else { return }
        let holdUp = holdUp(of: order, by: job)
        let entries = order.takeEntries()
        orders.lookedAtCount += entries.count
        for other in entries.compactMap({ self.job(of: $0) }).lastToBeginFirst()
        where other.id != job.id && other.id != holdUp.blocker {
            guard takeFromThread(other) else {
                effects.note(
                    .error,
                    "job \(other.id) is behind job \(job.id), and began; please report this fault")
                continue
            }
            retract(other)
            letWait(other, holdUp)
        }
        guard stage.isRefusing, book.active(job.id) == nil else { return }
        abandonHeldUp(by: job)
    }

    /// Notes that a job is between two attempts since before the restart.
    mutating func restoreHoldUp(by job: JobEntry) {
        guard let order = job.heldUpOrder else { return }
        if !order.notesJobs { beginNoting(of: order, besides: job) }
        let holdUp = holdUp(of: order, by: job)
        // Of a claimed thread, jobs in memory only may have been offered meanwhile.
        for other in order.takeEntries().compactMap({ self.job(of: $0) }).lastToBeginFirst()
        where other.id != holdUp.blocker && other !== job && takeFromThread(other) {
            retract(other)
            letWait(other, holdUp)
        }
    }

    private mutating func holdUp(of order: JobOrder, by job: JobEntry) -> HoldUp {
        if let holdUp = order.holdUp {
            if holdUp.blocker != job.id { holdUp.follow(job) }
            return holdUp
        }
        let holdUp = HoldUp(by: job.id, on: job.thread)
        order.holdUp = holdUp
        orders.holdUps.append(holdUp)
        return holdUp
    }

    /// Offers the jobs behind one that has left, if it held any up.
    mutating func endHoldUp(by job: JobEntry) {
        guard job.holdsUpOthers, let (order, holdUp) = held(by: job) else { return }
        end(holdUp, of: order)
    }

    private mutating func end(_ holdUp: HoldUp, of order: JobOrder) {
        order.holdUp = nil
        orders.holdUps.remove(holdUp)
        // Another one of the order may be between two attempts, too: now it holds up the rest.
        for next in holdUp.followers
        where next.heldUpOrder === order && !next.place.isOffered {
            if book.active(next.id) === next {
                _ = self.holdUp(of: order, by: next)
            } else if stage.isRefusing {
                // A shutdown has left it to the store: one that has ended knows no order.
                holdUpUntilRestart(of: order, behind: next)
            }
        }
        for other in holdUp.takeAll() where book.active(other.id) === other {
            offerOrHoldUp(other)
        }
    }

    // MARK: - For people

    /// The hold-up before a job that waits; nil if there is none.
    func holdUp(before job: Job) -> JobHoldUp? {
        guard orders.holdUps.count > 0 else { return nil }
        if let active = book.active(job.id) {
            guard case .heldUp(let holdUp) = active.place else { return nil }
            return shown(holdUp)
        }
        guard job.state == .waiting || isDue(job), let group = served.knownGroup(of: job.thread)
        else { return nil }
        let holdUp = orders.holdUp(
            thread: job.thread, isForOne: group.isOneThread(job.thread), key: job.key)
        return holdUp.map { shown($0) }
    }

    /// The hold-up before jobs of a thread, or else of its pool; nil if there is none.
    ///
    /// Several keys may be held up: then it is the job that has held up others for longest.
    package func holdUp(ofThread thread: String) -> JobHoldUp? {
        let first = orders.holdUps.first(of: thread)
        if let first { return shown(first) }
        guard let group = served.knownGroup(of: thread), group.name != thread else { return nil }
        return orders.holdUps.first(of: group.name).map { shown($0) }
    }

    private func shown(_ holdUp: HoldUp) -> JobHoldUp {
        let blocker = book.job(holdUp.blocker)
        return JobHoldUp(
            blocker: holdUp.blocker, until: blocker?.state == .delayed ? blocker?.dueAt : nil)
    }

    /// Whether all waiting jobs of a thread's group are held up: an idle thread has no work.
    package func isHeldUp(_ thread: String, of group: ThreadGroup) -> Bool {
        guard orders.holdUps.count > 0 else { return false }
        if group.memberNames.count == 1,
            orders.holdUp(thread: thread, isForOne: true, key: nil) != nil
        {
            return true
        }
        return group.heldUpCount > 0 && group.heldUpCount == shownWaitingCount(of: group)
    }
}

extension Sequence<JobEntry> {
    /// The jobs in the reverse of the order in which threads begin them.
    ///
    /// Threads go on beginning jobs while some are withdrawn, and none may begin before one of its
    /// order that is withdrawn later.
    func lastToBeginFirst() -> [JobEntry] {
        sorted {
            ($0.details.priority.rawValue, $0.turn, $0.id)
                > ($1.details.priority.rawValue, $1.turn, $1.id)
        }
    }
}
