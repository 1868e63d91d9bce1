// Who may begin and who has to wait at the desk because a job before is tried again.
//
// All jobs that are ready are in the queues of their lanes. A worker whose attempt has failed and holds up others
// reports that and waits for the desk (JobRunner): it takes nothing more, and keeps the binding of its key. All
// that follows in the order waits for this one worker, so the desk takes it back from the queue, and none of it
// is in a worker's hands. Then the worker goes on with others. What was taken back waits at the desk, with what
// comes meanwhile, and is handed over again by number when the one that is tried again has ended.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import WorkerThreads

extension JobDesk {
    /// Handles what a worker says.
    func take(_ report: WorkerReport) {
        switch report {
        case .ended(let completion, let worker):
            complete(completion)
            if let worker { runner?.letGo(completion.thread, worker) }
        case .expired(let id):
            if let job = live[id] { endWithdrawn(job, .expired) }
            whenCompleted?()
        }
    }

    /// Lets a job wait for its thread, or for the one that it has to follow.
    func submitInOrder(_ job: LiveJob) {
        if let holdUp = holdUp(before: job) { holdBack(job, holdUp) } else { submit(job) }
    }

    private func holdUp(before job: LiveJob) -> HoldUp? {
        guard orders.holdUpCount > 0 else { return nil }
        for order in [job.orders.thread, job.orders.key] {
            if let holdUp = order?.holdUp, holdUp.blocker != job.id { return holdUp }
        }
        return nil
    }

    private func holdBack(_ job: LiveJob, _ holdUp: HoldUp) {
        job.ticket = nil
        // Going down, and the one to follow has gone: it would wait for ever.
        if isRefusing, live[holdUp.blocker] == nil { return abandon(job) }
        holdUp.hold(job)
        job.holdUp = holdUp
        job.lane.countHeldBack(1)
        hold(job)
    }

    private func abandon(_ job: LiveJob) {
        guard live[job.id] === job else { return }
        live[job.id] = nil
        tell(job, .failed(.abandoned))
    }

    /// Notes where a job has to go through that was handed to its lane.
    func enlist(_ job: LiveJob) {
        if let order = job.orders.thread {
            if !order.notesJobs, job.retry.blocks, job.orders.key == nil {
                beginNoting(of: order, besides: job)
            }
            if order.notesJobs { enlist(job, in: order) }
        }
        if let order = job.orders.key { enlist(job, in: order) }
    }

    /// Notes all jobs of a thread: the first has come that can hold others up.
    ///
    /// - Complexity: O(live jobs), once for each thread.
    private func beginNoting(of order: JobOrder, besides job: LiveJob) {
        order.notesJobs = true
        for other in live.values
        where other.orders.thread === order && other.ticket != nil && other !== job {
            enlist(other, in: order)
        }
    }

    private func enlist(_ job: LiveJob, in order: JobOrder) {
        order.note(JobOrder.Entry(id: job.id, turn: job.turn), liveCount: live.count) {
            self.job(of: $0) != nil
        }
    }

    /// The job that an entry leads to: it waits in its lane, or runs.
    private func job(of entry: JobOrder.Entry) -> LiveJob? {
        guard let job = live[entry.id], job.ticket != nil, job.turn == entry.turn else {
            return nil
        }
        return job
    }

    /// Holds back what follows a job whose failed attempt is to be made good first.
    func holdUpOthers(behind job: LiveJob) {
        guard job.retry.blocks, let order = job.orders.own else { return }
        let holdUp = holdUp(of: order, by: job)
        for entry in order.takeEntries() {
            lookedAtCount += 1
            guard entry.id != job.id, let other = self.job(of: entry), let ticket = other.ticket
            else { continue }
            if other.lane.pool.cancel(ticket) {
                holdBack(other, holdUp)
            } else {
                log.error("job \(other.id) is behind job \(job.id), and began; please report")
            }
        }
        guard isRefusing, live[job.id] == nil else { return }
        for other in takeAll(of: holdUp) { abandon(other) }
    }

    /// Notes that a job is between two attempts since before the restart.
    func restoreHoldUp(by job: LiveJob) {
        if let order = job.orders.own { _ = holdUp(of: order, by: job) }
    }

    private func holdUp(of order: JobOrder, by job: LiveJob) -> HoldUp {
        if let holdUp = order.holdUp { return holdUp }
        let holdUp = HoldUp(by: job.id)
        order.holdUp = holdUp
        orders.holdUpCount += 1
        return holdUp
    }

    /// Takes out what waits behind a job, in the order of their numbers.
    private func takeAll(of holdUp: HoldUp) -> [LiveJob] {
        let jobs = holdUp.takeAll()
        jobs.first?.lane.countHeldBack(-jobs.count)
        return jobs
    }

    /// Lets go what followed a job that is no longer there, if it held anything up.
    func endHoldUp(by job: LiveJob) {
        guard job.retry.blocks, let order = job.orders.own, let holdUp = order.holdUp,
            holdUp.blocker == job.id
        else { return }
        order.holdUp = nil
        orders.holdUpCount -= 1
        for other in takeAll(of: holdUp) where live[other.id] === other {
            other.holdUp = nil
            stopHolding(other)
            submitInOrder(other)
        }
    }
}
