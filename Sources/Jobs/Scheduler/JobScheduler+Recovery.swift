// The start with the contents of a store. Its jobs are counted in small parts while others are
// served.

internal import Wording

extension JobScheduler {
    /// Recovers the jobs that the store had when it was opened.
    package mutating func restore(_ recovery: StoreRecovery) {
        if recovery.endedCount > 0 {
            effects.note(
                .notice,
                "not run again, as asked to end before: \(counted(recovery.endedCount, "job"))")
        }
        for name in recovery.queues.sorted() {
            guard let group = served.knownGroup(of: name.thread) else {
                queues.orphans.add(name)
                continue
            }
            _ = queues.queue(name, of: group, mayHaveEarlierJobs: true)
        }
        queues.beginCount(recovery.stock)
        // Before anything is loaded that they hold up.
        for held in recovery.held { restoreHeld(held.job) }
        for job in recovery.blockers where book.active(job.id) == nil { restoreBlocker(job) }
        noteCounted(recovery.part)
        book.reservedBelow = recovery.reservedBelow
        if let next = recovery.nextExpiry { noteParkedExpiry(at: next) }
        for queue in queues.all { bringMore(of: queue) }
    }

    /// Takes up a job of an earlier run that holds up others between two attempts.
    mutating func restoreBlocker(_ job: Job) {
        guard served.knownSelector(job.selector) != nil else { return }
        guard let group = served.knownGroup(of: job.thread) else { return queues.addOrphan(job) }
        let queue = queues.queue(job.queue, of: group, mayHaveEarlierJobs: true)
        guard isInOrder(job, of: group),
            let adopted = adopt(job, queue, as: .apart)
        else {
            return queues.park(job.id, .delayed, byteCount: job.payload.count, in: queue)
        }
        restoreHoldUp(by: adopted)
        delay(adopted, until: job.dueAt ?? job.acceptedAt)
    }

    /// Takes up a job that a worker of an earlier run may still hold: it is offered before all
    /// others, and those of its order wait for its end.
    mutating func restoreHeld(_ job: Job) {
        guard served.knownSelector(job.selector) != nil else { return }
        guard let group = served.knownGroup(of: job.thread) else { return queues.addOrphan(job) }
        let queue = queues.queue(job.queue, of: group, mayHaveEarlierJobs: true)
        guard let adopted = adopt(job, queue, as: .apart) else {
            return queues.park(job.id, .delayed, byteCount: job.payload.count, in: queue)
        }
        endExpiry(of: adopted)
        adopted.hasBegunElsewhere(isInherited: true)
        restoreHoldUp(by: adopted)
        delay(adopted, until: job.dueAt ?? job.acceptedAt)
    }

    /// No worker can end a held job any more, as its thread or selector is not there, or the
    /// selector is not for workers: another attempt follows, beside its retries.
    package mutating func endHold(of job: Job) {
        guard book.state(of: job.id)?.isEnded != true else { return }
        guard book.active(job.id) == nil else { return vanished(job.id) }
        // As many attempts as with the held one, which it leaves out.
        effects.record(
            .putBack(
                job.id, attempt: job.attempt + 1, forgivenCount: job.forgivenCount + 1,
                mayExpire: false))
    }

    /// Whether other jobs wait for a job that holds up others: those of its key or its one thread.
    func isInOrder(_ job: Job, of group: ThreadGroup) -> Bool {
        job.key != nil || group.isOneThread(job.thread)
    }

    /// More of the jobs of an earlier run has been counted.
    mutating func noteCounted(_ part: RecoveryCount.Part) {
        queues.add(part)
        for (name, amounts) in part.amounts.sorted(by: { $0.key < $1.key }) {
            guard let group = served.knownGroup(of: name.thread) else {
                for (state, amount) in amounts { queues.orphans.add(amount, state, to: name) }
                continue
            }
            let queue = queues.queue(name, of: group)
            for (state, amount) in amounts { queue.addParked(state, amount) }
        }
        for (name, amounts) in part.unserved { noteUnserved(amounts, of: name) }
        if part.isLast {
            reportOrphans()
            reportUnserved()
            tellCounted()
        }
    }

    // MARK: - Jobs without a thread or selector

    /// How many jobs in the store wait for a thread or selector that is not there.
    package var orphanedCount: Int { queues.orphans.count + queues.unserved.count }

    /// Jobs of a queue have been counted that have no handler, by their selectors.
    private mutating func noteUnserved(
        _ unserved: [String: [JobState: JobAmount]], of name: QueueName
    ) {
        let isOrphaned = served.knownGroup(of: name.thread) == nil
        for (selector, amounts) in unserved {
            for (state, amount) in amounts {
                if isOrphaned {
                    queues.orphans.add(amount, state, of: selector, to: name)
                } else {
                    queues.unserved.add(amount, state, of: selector, to: name)
                }
            }
        }
    }

    private mutating func reportOrphans() {
        for (thread, count) in queues.orphans.threads {
            effects.note(
                .warning,
                "thread \(quoted(thread)) is not configured any more, and has "
                    + "\(counted(count, "job")) in the journal: configure it again and they run, "
                    + "or take them back (JOBS \(thread) lists them, CANCEL ends them)")
        }
    }

    private mutating func reportUnserved() {
        for (selector, thread, count) in queues.unserved.byThread {
            effects.note(
                .warning,
                "selector \(quoted(selector)) is not configured any more, and has "
                    + "\(counted(count, "job")) for thread \(quoted(thread)) in the journal: "
                    + "configure it again and they run, or take them back "
                    + "(JOBS \(thread) lists them, CANCEL \(thread) \(selector) ends them)")
        }
    }

    /// The group of a thread or pool.
    package func knownGroup(of thread: String) -> ThreadGroup? { served.knownGroup(of: thread) }

    /// Whether a name is that of a thread, or of a missing one that has jobs.
    package func isKnown(_ thread: String) -> Bool {
        queues.orphans.count(of: thread) != nil || served.knownGroup(of: thread) != nil
    }

    /// The queues that a name of a group addresses, without the slots of a spread pool that another
    /// scheduler has.
    func ownedQueues(addressedBy thread: String, of group: ThreadGroup) -> [QueueName] {
        queues.addressed(by: thread, of: group).map(\.name).filter {
            !served.releases.refuses($0.thread)
        }
    }

    /// The queues that a command about the jobs of a thread means, of a missing thread too.
    func queues(of thread: String, _ group: ThreadGroup?) -> [QueueName] {
        guard let group else { return queues.orphans.queues(of: thread) }
        return ownedQueues(addressedBy: thread, of: group)
    }
}
