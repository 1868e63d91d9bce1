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
        job.part = job.order.retry.blocks && job.order.own != nil ? .apart : .held
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
        stopHolding(job)
        store.letGo(job.id)
        backlog.removeFromMemory(job.id, job.part, byteCount: byteCount)
        durable?.park(job.id, .delayed, byteCount: byteCount, in: backlog)
        let waiters = job.takeWaiters()
        if !waiters.isEmpty { durable?.waiters[job.id, default: Waiters()].add(waiters) }
    }

    /// Asks the journal for the next delayed jobs of a queue, if there is room for some.
    func bringMoreHeld(of backlog: Backlog) {
        guard let durable, !durable.isClosed, !durable.isHeldClosed else { return }
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
        guard let durable, let backlog = durable.backlogs[queue] else { return }
        switch result {
        case .success(let batch):
            let found = backlog.held.loadEnded(batch, after: place) { live[$0] != nil }
            // Going down: they are in the journal, and stay there.
            guard !durable.isClosed, !durable.isHeldClosed else { return }
            for job in found.jobs where isServed(job) {
                guard found.isCurrent, durable.cancelling[job.id] == nil,
                    !leaveParked(job, backlog)
                else {
                    // The journal has given it away and counts it no more.
                    if !durable.hasCounted(job.id) {
                        durable.park(
                            job.id, .delayed, byteCount: job.payload.count, in: backlog)
                    }
                    if found.isCurrent, durable.cancelling[job.id] != nil {
                        durable.withheld[job.id] = job
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
        guard let durable else { return }
        guard let adopted = adopt(job, backlog) else { return }
        durable.unpark(job.id, .delayed, byteCount: job.payload.count, from: backlog)
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
        guard let durable, isServed(job) else { return }
        guard let lane = try? lane(of: job.thread) else { return durable.orphan(job) }
        let backlog = durable.backlog(of: job.queue, lane, mayHoldMore: true)
        guard job.key != nil || lane.gate(of: job.thread) != nil,
            let adopted = adopt(job, backlog, as: .apart)
        else {
            durable.park(job.id, .delayed, byteCount: job.payload.count, in: backlog)
            return
        }
        hold(adopted)
        restoreHoldUp(by: adopted)
        delay(adopted, until: job.dueAt ?? job.acceptedAt)
    }

    // MARK: - Buffered jobs

    /// Lets buffered jobs go once that is on the disk.
    func fireDurably(
        _ thread: String, _ body: @escaping (Result<Int, JobError>) -> Void
    ) throws(JobError) {
        guard let durable else { return }
        let lane = try lane(of: thread)
        fire(
            ReleaseBatch(
                queues: durable.backlogs(of: lane, addressedBy: thread).map(\.queue),
                before: JobID(store.nextNumber), moment: wall.unixMilliseconds(),
                countMax: durable.window.changedAtOnce), besides: 0, body)
    }

    /// Lets a part of them go, then the next one, and tells how many there were.
    private func fire(
        _ part: ReleaseBatch, besides count: Int,
        _ body: @escaping (Result<Int, JobError>) -> Void
    ) {
        guard let durable else { return }
        var part = part
        part.loadCountMax = durable.window.loadCountMax
        part.loadByteCountMax = durable.window.byteCountMax
        for queue in part.queues {
            guard let room = durable.backlogs[queue]?.held.beginLoad() else { continue }
            part.loadCountMax = min(part.loadCountMax, room.limit)
            part.loadByteCountMax = min(part.loadByteCountMax, room.byteCount)
        }
        let ticket = durable.expect(
            .fired { [unowned self, isSynced = part.isSynced] result in
                switch result {
                case .failure(let fault): body(.failure(Self.busy(fault)))
                case .success(let firing):
                    let count = count + firing.count
                    guard let rest = firing.rest else {
                        return isSynced ? body(.success(count)) : confirm(count, body)
                    }
                    if isRefusing { return body(.failure(Self.notAll(count))) }
                    fire(rest, besides: count, body)
                }
            })
        tell(.fire(part, ticket: ticket))
    }

    /// The daemon goes down before all parts of a command were done.
    static func notAll(_ count: Int) -> JobError {
        .interrupted(jobCount: count)
    }

    /// What was buffered is due, and its first jobs come with the next answers.
    func noteFired(_ firing: BufferRelease, _ part: ReleaseBatch) {
        for (queue, amount) in firing.counted {
            guard let backlog = durable?.backlogs[queue] else { continue }
            backlog.held.fired(behind: part.place(of: queue))
            backlog.removeParked(.buffered, amount)
            backlog.addParked(.delayed, amount)
        }
    }

    // MARK: - Taking stock

    /// More of what was in the journal has been counted.
    func noteCounted(_ part: RecoveryCount.Part) {
        guard let durable else { return }
        durable.add(part)
        for (queue, amounts) in part.amounts {
            guard let lane = try? lane(of: queue.thread) else {
                for amount in amounts.values { durable.orphans.add(amount, to: queue) }
                continue
            }
            let backlog = durable.backlog(of: queue, lane)
            for (state, amount) in amounts { backlog.addParked(state, amount) }
        }
        for (queue, amounts) in part.unserved { noteUnserved(amounts, of: queue) }
        if part.isLast {
            reportOrphans()
            reportUnserved()
        }
    }
}
