// Who may begin and who has to wait at the desk because a job before is tried again.
//
// What waits behind a failed job is in one of three places: at the desk, in its lane, or in the hands
// of a worker that finds the gate closed and gives it back. When the desk learns of the failure it
// takes back what is in the lane; what can't be taken back is in a worker's hands, and its return is
// waited for before anything is let go. So they go on in the order of their numbers.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import WorkerThreads

extension JobDesk {
    /// The order that a job keeps.
    func order(of job: Job, _ lane: Lane, _ retry: RetryPlan) -> JobOrder {
        JobOrder(
            thread: lane.gate(of: job.thread),
            key: job.key.map { gates.gate(of: $0, thread: job.thread) }, retry: retry)
    }

    /// Handles what a worker says.
    func take(_ report: WorkerReport) {
        switch report {
        case .ended(let completion): complete(completion)
        case .heldBack(let id, let order): takeBack(id, order)
        case .expired(let id):
            if let job = live[id] { endWithdrawn(job, .expired) }
            whenCompleted?()
        }
    }

    /// Lets a job wait for its thread, or for the one that it has to follow.
    func submitInOrder(_ job: LiveJob) {
        if let holdUp = holdUp(before: job) { holdBack(job, holdUp) } else { submit(job) }
    }

    private func holdUp(before job: LiveJob) -> HoldUp<LiveJob>? {
        guard !holdUps.isEmpty else { return nil }
        for gate in [job.order.thread, job.order.key] {
            guard let gate, let holdUp = holdUps[ObjectIdentifier(gate)] else { continue }
            if holdUp.blocker != job.id { return holdUp }
        }
        return nil
    }

    private func holdBack(_ job: LiveJob, _ holdUp: HoldUp<LiveJob>) {
        job.ticket = nil
        // Going down, and the one to follow has gone: it would wait for ever.
        if isRefusing, !holdUp.isOver, live[holdUp.blocker] == nil { return abandon(job) }
        holdUp.hold(job, job.id)
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
        let entry = GateQueue.Entry(id: job.id, turn: job.turn)
        if let gate = job.order.thread {
            if !gate.notesJobs, job.order.retry.blocks, job.order.key == nil {
                beginNoting(of: gate, besides: job)
            }
            if gate.notesJobs { gate.withQueue { enlist(entry, in: &$0) } }
        }
        job.order.key?.withQueue { enlist(entry, in: &$0) }
    }

    /// Notes all jobs of a thread: the first has come that can hold others up.
    ///
    /// - Complexity: O(live jobs), once for each thread.
    private func beginNoting(of gate: OrderGate, besides job: LiveJob) {
        gate.beginNoting()
        for other in live.values
        where other.order.thread === gate && other.ticket != nil && other !== job {
            let entry = GateQueue.Entry(id: other.id, turn: other.turn)
            gate.withQueue { enlist(entry, in: &$0) }
        }
    }

    private func enlist(_ entry: GateQueue.Entry, in queue: inout GateQueue) {
        queue.append(entry, liveCount: live.count) { job(of: $0) != nil }
    }

    /// The job that an entry leads to: it waits in its lane, or a worker has it.
    private func job(of entry: GateQueue.Entry) -> LiveJob? {
        guard let job = live[entry.id], job.ticket != nil, job.turn == entry.turn else {
            return nil
        }
        return job
    }

    /// Holds back what follows a job, if its failed attempt has closed its gate.
    func holdUpOthers(behind job: LiveJob) {
        guard let gate = job.order.own, gate.isClosed(by: job.id) else { return }
        let holdUp = holdUp(of: gate, by: job)
        guard isRefusing, live[job.id] == nil else { return }
        for other in takeAll(of: holdUp) { abandon(other) }
    }

    /// Notes that a job is between two attempts since before the restart.
    func restoreHoldUp(by job: LiveJob) {
        guard let gate = job.order.own, holdUps[ObjectIdentifier(gate)] == nil else { return }
        gate.close(by: job.id)
        holdUps[ObjectIdentifier(gate)] = HoldUp(gate, by: job.id)
    }

    private func holdUp(
        of gate: OrderGate, by job: LiveJob, isOver: Bool = false
    ) -> HoldUp<LiveJob> {
        if let holdUp = holdUps[ObjectIdentifier(gate)] {
            if isOver { holdUp.end() }
            return holdUp
        }
        let holdUp = HoldUp<LiveJob>(gate, by: job.id)
        if isOver { holdUp.end() }
        holdUps[ObjectIdentifier(gate)] = holdUp
        for entry in gate.withQueue({ $0.all }) {
            lookedAtCount += 1
            guard entry.id != job.id, let other = self.job(of: entry), let ticket = other.ticket
            else { continue }
            if other.lane.pool.cancel(ticket) {
                holdBack(other, holdUp)
            } else {
                holdUp.expect(other.id)
            }
        }
        gate.withQueue { $0.keep { self.job(of: $0) != nil } }
        return holdUp
    }

    /// Takes out what waits behind a job, in the order of their numbers.
    private func takeAll(of holdUp: HoldUp<LiveJob>) -> [LiveJob] {
        let jobs = holdUp.takeAll()
        jobs.first?.lane.countHeldBack(-jobs.count)
        return jobs
    }

    /// A worker gives a job back that it has not begun.
    private func takeBack(_ id: JobID, _ order: JobOrder) {
        if let job = live[id], job.ticket != nil {
            if let holdUp = holdUp(before: job) {
                holdBack(job, holdUp)
            } else {
                job.ticket = nil
                submit(job)
            }
        }
        for gate in [order.thread, order.key] {
            guard let gate, let holdUp = holdUps[ObjectIdentifier(gate)] else { continue }
            holdUp.noteReturn(of: id)
            letGo(holdUp)
        }
        whenCompleted?()
    }

    /// Lets go what followed a job that is no longer there, if it held anything up.
    func endHoldUp(by job: LiveJob) {
        guard job.order.retry.blocks, let gate = job.order.own, gate.isClosed(by: job.id) else {
            return
        }
        letGo(holdUp(of: gate, by: job, isOver: true))
    }

    private func letGo(_ holdUp: HoldUp<LiveJob>) {
        guard holdUp.mayLetGo else { return }
        holdUps[ObjectIdentifier(holdUp.gate)] = nil
        holdUp.gate.open()
        for job in takeAll(of: holdUp) where live[job.id] === job {
            job.holdUp = nil
            stopHolding(job)
            submitInOrder(job)
        }
    }
}
