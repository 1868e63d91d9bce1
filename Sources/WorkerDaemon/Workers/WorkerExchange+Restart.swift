// Inherited jobs, which workers of an earlier run hold. Each is offered to its thread before all
// others and goes on there, under the token that its worker knows, as if the daemon had not been
// away. Where the thread is paused, or a pool's threads have other jobs, the worker ends its job
// without a thread. An end that comes before the job is offered is kept until then.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import Wording

extension WorkerExchange {
    /// A job that a worker of an earlier run holds and that its thread does not serve yet.
    final class Inherited {
        let job: Job
        let holder: JobHolder
        /// The worker's process; nil if its end can't be seen.
        let process: JobHolder.Process?
        /// When it is kept no longer; nil for no limit.
        let keptUntil: Instant?
        /// The end that the worker has reported.
        var end: RemoteEnd?
        var waiting: [(reply: ReplyToken, take: TakeRequest?)] = []
        var lease: WorkerLease?

        var id: JobID { job.id }

        init(_ held: HeldJob, _ process: JobHolder.Process?, keptUntil: Instant?) {
            job = held.job
            holder = held.holder
            self.process = process
            self.keptUntil = keptUntil
        }
    }

    /// Takes up the jobs that workers of an earlier run hold, before the scheduler offers them.
    ///
    /// - Parameter selectors: the configuration of a selector for workers.
    func restore(_ jobs: [HeldJob], _ selectors: (String) -> Configuration.Selector?) {
        for job in jobs {
            guard let selector = selectors(job.job.selector) else {
                log.warning(
                    "job \(job.job.id): a worker may have it since before the restart; selector "
                        + "\(quoted(job.job.selector)) is not for workers now, so it runs again")
                continue
            }
            let process = job.holder.process.flatMap { $0.isSeen ? $0 : nil }
            let limit =
                selector.leaseAfterRestart
                ?? job.job.timeoutMilliseconds.map { .milliseconds($0) } ?? selector.timeout
                ?? (process == nil ? selector.lease : nil)
            let held = Inherited(job, process, keptUntil: limit.map { loop.now.advanced(by: $0) })
            inherited[held.id] = held
            let box = Confined((exchange: self, held: held), to: loop)
            held.lease = WorkerLease(of: process, for: limit, on: loop) {
                box.value.exchange.vanished(box.value.held)
            }
        }
    }

    private func vanished(_ held: Inherited) {
        guard inherited[held.id] === held, held.end == nil else { return }
        if let context = attempt(held.id), context.isCancelled, context.isWaiting {
            let outcome = outcome(of: context, "its worker vanished")
            return finishUnserved(held, context, outcome, .never)
        }
        forgetInherited(held.id)
        guard isActive(held.id) else { return endHold(held.job) }
        vanishedCount += 1
        let name = held.holder.name.map { " \($0)" } ?? ""
        log.warning("job \(held.id): its worker\(name) of before the restart vanished")
        noteStart(held.id)
        noteVanished(held.id)
    }

    /// Forgets a job of an earlier run, and the end that its worker has reported.
    func forgetInherited(_ id: JobID) {
        guard !inherited.isEmpty, let held = inherited.removeValue(forKey: id) else { return }
        held.lease?.end()
        for (reply, _) in held.waiting { door?.answer(reply, refuse(id).reply) }
        match()
    }

    /// Ends an attempt that its thread does not have yet.
    func end(
        _ held: Inherited, _ end: RemoteEnd, then next: TakeRequest?, _ reply: ReplyToken
    ) throws(WireError) {
        guard isActive(held.id) else { return endHold(of: held, reply) }
        if let said = held.end, said != end { throw refuse(held.id) }
        held.end = end
        held.waiting.append((reply, next))
        endUnserved(held)
    }

    /// Ends the hold of a job whose thread is not there: another attempt follows once it is.
    ///
    /// Its worker is told once that is kept.
    private func endHold(of held: Inherited, _ reply: ReplyToken) {
        forgetInherited(held.id)
        endHold(held.job)
        let refusal = refuse(held.id).reply
        confirm { [weak self] fault in
            self?.door?.answer(
                reply, fault.map { WireError(JobError.storeFailed($0)).reply } ?? refusal)
        }
    }

    /// A job is offered to its threads: its worker may have ended it already.
    func noteOffered(_ id: JobID) {
        guard inherited[id]?.end != nil else { return }
        let exchange = Confined(self, to: loop)
        // Not amid the scheduler's effects.
        loop.perform {
            if let held = exchange.value.inherited[id] { exchange.value.endUnserved(held) }
        }
    }

    /// Ends an attempt that no thread serves.
    private func endUnserved(_ held: Inherited) {
        guard let end = held.end, let context = attempt(held.id), context.isWaiting else { return }
        noteStart(held.id)
        switch end {
        case .done(let result): finishUnserved(held, context, .done(result), .asPlanned)
        case .failed(let reason, let retry):
            finishUnserved(held, context, outcome(of: context, reason), retry)
        case .givenBack where context.isCancelled:
            let outcome = outcome(of: context, "it was given back")
            finishUnserved(held, context, outcome, .asPlanned)
        case .givenBack(let milliseconds):
            leave(held, context)
            answer(held.waiting, nil)
            rest(held.id, milliseconds, isAsked: true)
            noteGivenBack(held.id)
        }
    }

    private func finishUnserved(
        _ held: Inherited, _ context: JobContext, _ outcome: Outcome, _ retry: RetryWish
    ) {
        guard let completion = context.endUnserved(outcome, retry, since: held.holder.since)
        else { return }
        leave(held, context)
        noteCompletion(completion)
        confirm { [weak self] fault in self?.answer(held.waiting, fault) }
    }

    /// A worker of an earlier run holds a job no longer.
    private func leave(_ held: Inherited, _ context: JobContext) {
        inherited[held.id] = nil
        held.lease?.end()
        // An end with a result is marked itself.
        if held.end?.isDone != true { noteHolder(context, nil) }
        ended.append(held.holder.token, of: held.id, held.end)
        match()
    }

    /// Whether a TAKE is of a worker that will get its job of the earlier run.
    ///
    /// Not while the job's thread is paused or missing: the worker gets other jobs.
    func isToGoOn(_ taker: Taker) -> Bool {
        guard !inherited.isEmpty, taker.request.name != nil else { return false }
        return inherited.values.contains { isOf($0.holder, taker) && mayBeServed($0.id) }
    }

    private func isOf(_ holder: JobHolder, _ taker: Taker) -> Bool {
        taker.request.name == holder.name && taker.request.name != nil
            && JobHolder.Process.mayBeOfOneUser(holder.process, taker.worker.process)
    }

    /// Has a thread go on with the job of an earlier run.
    ///
    /// - Returns: false if it is no such job.
    func goOn(with remote: RemoteJob) -> Bool {
        guard !inherited.isEmpty, let held = inherited.removeValue(forKey: remote.id)
        else { return false }
        held.lease?.end()
        guard let delivery = begin(remote, held.holder, for: Worker(held.holder)) else {
            for (reply, _) in held.waiting { door?.answer(reply, refuse(held.id).reply) }
            return true
        }
        if let end = held.end {
            delivery.waiting = held.waiting
            carryOut(end, of: delivery)
            return true
        }
        let waiting = takers.first { isOf(held.holder, $0) && $0.mayTouch(remote) }
        if let waiting, door?.isNext(waiting.reply) == true {
            takers.removeAll { $0 === waiting }
            if let timeout = waiting.timeout.take() { loop.cancel(timeout) }
            give(delivery, to: waiting)
        } else {
            beginLease(
                of: delivery, in: held.process,
                held.keptUntil.map { max(.zero, loop.now.duration(to: $0)) })
        }
        return true
    }

    /// The jobs that workers go on with while the daemon is away.
    var leavable: Set<JobID> {
        let delivered = deliveries.values.filter {
            $0.remote.isStored && $0.end == nil && !$0.remote.context.isCancelled
        }
        let unserved = inherited.keys.filter {
            isActive($0) && attempt($0)?.isCancelled != true
        }
        return Set(delivered.map(\.remote.id) + unserved)
    }

    /// Leaves jobs to the workers that hold them: the daemon ends.
    func leaveToWorkers(_ ids: Set<JobID>) {
        hasLeft = true
        for id in ids {
            guard let delivery = deliveries.removeValue(forKey: id) else { continue }
            endLease(of: delivery)
            endLimit(of: delivery)
            delivery.remote.leaveToWorker()
        }
        for held in inherited.values { held.lease?.end() }
        inherited = [:]
    }
}

extension SchedulerDriver {
    /// Recovers the jobs that the store had when it was opened, and the pauses.
    func restore(_ recovery: StoreRecovery) {
        pauseAgain(recovery.pausedThreads)
        exchange.restore(recovery.held) { handlers[$0]?.forWorkers }
        input {
            $0.restore(recovery)
            endHolds(of: recovery.held, &$0)
        }
    }

    /// Counts the held attempts of selectors that are not for workers any more.
    func endHolds(of held: [HeldJob], _ scheduler: inout JobScheduler) {
        for job in held.map(\.job) where handlers[job.selector]?.isForWorkers != true {
            scheduler.endHold(of: job)
        }
    }
}
