// Delayed and buffered durable jobs at the desk. Those that are due next are in memory, each with its
// timer; the rest is parked in the journal, and all that is buffered: see `DelayedWindow`.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Structures

extension JobDesk {
    /// A delayed job is on the disk: it gets its timer, or is parked.
    func place(_ job: LiveJob, dueAt: Int64) {
        guard let backlog = job.backlog else { return delay(job, until: dueAt) }
        let key = DueKey(dueAt: dueAt, id: job.id)
        guard backlog.held.takes(key) else { return park(job, backlog) }
        backlog.held.placed(key)
        delay(job, until: dueAt)
        guard backlog.held.isOverfull else { return }
        let parked = backlog.held.trim { live[$0]?.context.payload.count ?? 0 }
        for id in parked {
            if let job = live[id] { park(job, backlog) }
        }
    }

    /// The next attempt of a job comes at a moment, and the journal has been told.
    func placeAgain(_ job: LiveJob, dueAt: Int64) {
        guard let backlog = job.backlog else { return delay(job, until: dueAt) }
        let byteCount = job.context.payload.count
        backlog.removeFromMemory(job.id, job.part, byteCount: byteCount)
        job.part = job.retry.blocks ? .apart : .held
        backlog.addInMemory(job.part, byteCount: byteCount)
        if job.part == .apart {
            // Others wait for it: it stays at hand.
            delay(job, until: dueAt)
        } else if backlog.held.isLoading {
            // What is on its way may be this job as it was: it stays until that has come.
            backlog.held.placed(DueKey(dueAt: dueAt, id: job.id))
            delay(job, until: dueAt)
        } else {
            place(job, dueAt: dueAt)
        }
        bringMore(of: backlog)
    }

    /// Lets go of a delayed job that the journal has.
    private func park(_ job: LiveJob, _ backlog: Backlog) {
        let byteCount = job.context.payload.count
        live[job.id] = nil
        cancelRelease(of: job)
        leaveExpiry(of: job)
        stopHolding(job)
        store.letGo(job.id)
        backlog.removeFromMemory(job.id, job.part, byteCount: byteCount)
        stored.park(job.id, .delayed, byteCount: byteCount, in: backlog)
        let waiters = job.takeWaiters()
        if !waiters.isEmpty {
            stored.waiters[job.id, default: Waiters()].add(waiters, by: door)
        }
    }

    /// Asks the journal for the next delayed jobs of a queue, if there is room for some.
    func bringMoreHeld(of backlog: Backlog) {
        guard !stored.isClosed, !stored.isHeldClosed else { return }
        for id in backlog.held.giveWay() {
            if let job = live[id] { park(job, backlog) }
        }
        guard let load = backlog.held.nextLoad() else { return }
        tell(
            .loadDelayed(
                backlog.queue, after: backlog.held.horizon, limit: load.limit,
                byteCount: load.byteCount))
    }

    /// Delayed jobs have come.
    func loadedDelayed(
        _ queue: QueueName, after place: DueKey, _ result: Result<JobBatch, StoreFault>
    ) {
        guard let backlog = stored.backlogs[queue] else { return }
        switch result {
        case .success(let batch):
            let found = backlog.held.loadEnded(batch, after: place) { live[$0] != nil }
            // Going down: they are in the journal, and stay there.
            guard !stored.isClosed, !stored.isHeldClosed else { return }
            for job in found.jobs where isServed(job) {
                guard found.isCurrent, stored.cancelling[job.id] == nil,
                    !leaveParked(job, backlog)
                else {
                    // The journal has given it away and counts it no more.
                    if !stored.hasCounted(job.id) {
                        stored.park(
                            job.id, .delayed, byteCount: job.payload.count, in: backlog)
                    }
                    if found.isCurrent, stored.cancelling[job.id] != nil {
                        stored.withheld[job.id] = job
                    }
                    continue
                }
                bringDelayed(job, to: backlog)
            }
            bringMore(of: backlog)
        case .failure:
            backlog.held.loadEnded()
            lookAgain(at: backlog)
        }
    }

    /// Takes a delayed job of the journal into memory.
    func bringDelayed(_ job: Job, to backlog: Backlog) {
        guard let adopted = adopt(job, backlog) else { return }
        stored.unpark(job.id, .delayed, byteCount: job.payload.count, from: backlog)
        let due = job.dueAt ?? job.acceptedAt
        hold(adopted)
        if due <= wall.unixMilliseconds() {
            release(adopted)
        } else {
            backlog.held.placed(DueKey(dueAt: due, id: job.id))
            delay(adopted, until: due)
        }
    }

    /// Takes up a job of before that holds up others between two attempts.
    func restoreBlocker(_ job: Job) {
        guard isServed(job) else { return }
        guard let lane = try? lane(of: job.thread) else { return stored.orphan(job) }
        let backlog = stored.backlog(of: job.queue, lane, mayHoldMore: true)
        guard job.key != nil || lane.isOneThread(job.thread),
            let adopted = adopt(job, backlog, as: .apart)
        else {
            stored.park(job.id, .delayed, byteCount: job.payload.count, in: backlog)
            return
        }
        hold(adopted)
        restoreHoldUp(by: adopted)
        delay(adopted, until: job.dueAt ?? job.acceptedAt)
    }

    // MARK: - Buffered jobs

    /// Lets buffered jobs go; answers how many, once that is on the disk.
    func fire(_ thread: String, _ reply: ReplyToken) {
        let lane: Lane
        do throws(JobError) {
            lane = try self.lane(of: thread)
        } catch {
            return door.answer(reply, .failed(error))
        }
        let count = release(takeBuffered(thread, of: lane))
        fire(
            ReleaseBatch(
                queues: stored.backlogs(of: lane, addressedBy: thread).map(\.queue),
                before: JobID(store.nextNumber), moment: wall.unixMilliseconds(),
                countMax: stored.window.changedAtOnce), besides: count, reply)
    }

    /// Takes out what was collected for a thread in memory, to be released.
    private func takeBuffered(_ thread: String, of lane: Lane) -> [JobID] {
        let collected = buffered.removeValue(forKey: lane.name) ?? []
        // A member's name fires what was collected for this member; the pool's name fires it all.
        let isFired = { [live] (id: JobID) in thread == lane.name || live[id]?.thread == thread }
        let kept = collected.filter { !isFired($0) }
        if !kept.isEmpty { buffered[lane.name] = kept }
        return collected.filter { isFired($0) }
    }

    /// - Returns: how many of them there still are.
    private func release(_ ids: [JobID]) -> Int {
        let jobs = ids.compactMap { live[$0] }
        for job in jobs { release(job) }
        return jobs.count
    }

    /// Has the store let a part of them go, which says how many there were.
    private func fire(_ part: ReleaseBatch, besides count: Int, _ reply: ReplyToken) {
        var part = part
        part.loadCountMax = stored.window.loadCountMax
        part.loadByteCountMax = stored.window.byteCountMax
        for queue in part.queues {
            guard let room = stored.backlogs[queue]?.held.beginLoad() else { continue }
            part.loadCountMax = min(part.loadCountMax, room.limit)
            part.loadByteCountMax = min(part.loadByteCountMax, room.byteCount)
        }
        ask(.fire(count, reply)) { .fire(part, ticket: $0) }
    }

    /// A part was let go, or could not be: the next one.
    func fired(
        _ part: ReleaseBatch, _ result: Result<BufferRelease, StoreFault>, besides count: Int,
        _ reply: ReplyToken
    ) {
        switch result {
        case .failure(let fault): door.answer(reply, .failed(.storeFailed(fault)))
        case .success(let firing):
            noteFired(firing, part)
            let count = count + firing.count
            guard let rest = firing.rest else {
                return part.isSynced
                    ? door.answer(reply, .count(count)) : confirm(.count(count), reply)
            }
            if isRefusing { return door.answer(reply, .failed(.interrupted(jobCount: count))) }
            fire(rest, besides: count, reply)
        }
    }

    /// What was buffered is due, and its first jobs come with the next answers.
    private func noteFired(_ firing: BufferRelease, _ part: ReleaseBatch) {
        for (queue, amount) in firing.counted {
            guard let backlog = stored.backlogs[queue] else { continue }
            backlog.held.fired(behind: part.place(of: queue))
            backlog.removeParked(.buffered, amount)
            backlog.addParked(.delayed, amount)
        }
    }

    // MARK: - Taking stock

    /// More of what was in the journal has been counted.
    func noteCounted(_ part: RecoveryCount.Part) {
        stored.add(part)
        for (queue, amounts) in part.amounts {
            guard let lane = try? lane(of: queue.thread) else {
                for amount in amounts.values { stored.orphans.add(amount, to: queue) }
                continue
            }
            let backlog = stored.backlog(of: queue, lane)
            for (state, amount) in amounts { backlog.addParked(state, amount) }
        }
        for (queue, amounts) in part.unserved { noteUnserved(amounts, of: queue) }
        if part.isLast {
            reportOrphans()
            reportUnserved()
        }
    }
}
