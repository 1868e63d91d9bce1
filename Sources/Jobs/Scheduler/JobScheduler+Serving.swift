// Threads and selectors that come, go and change while jobs are served.
//
// A thread that comes claims its stored jobs, orphans until then: first those that hold up others,
// then the rest in turn. One that goes begins nothing more; its running jobs end, its stored jobs
// are orphans, and its jobs in memory only are cancelled. A group whose threads change is suspended
// first: its waiting jobs are withdrawn, and offered again in their order when the new threads are
// there.
//
// Indices never change: drivers find threads and handlers by them.

extension JobScheduler {
    // MARK: - Selectors

    /// Serves these selectors and no others from now on.
    ///
    /// Waiting jobs of a selector that goes leave memory: stored ones stay in the store, others are
    /// cancelled.
    ///
    /// - Returns: the threads whose stored jobs have to be released and claimed, since some of them
    ///   have a handler now.
    package mutating func serve(_ selectors: [String: SharedJobOptions]) -> [String] {
        let before = Set(served.selectors.map(\.name))
        served.serve(selectors)
        keep(.serve(Set(selectors.keys)))
        let gone = before.subtracting(selectors.keys)
        if !gone.isEmpty {
            leaveJobs { gone.contains($0.details.selector) }
            lookForEnds(ofThreads: { _ in true })
        }
        var threads: Set<String> = []
        for selector in Set(selectors.keys).subtracting(before) {
            queues.orphans.serve(selector)
            for (name, amounts) in queues.unserved.take(selector: selector) {
                for (state, amount) in amounts { queues[name]?.addParked(state, amount) }
                if amounts.values.contains(where: { $0.count > 0 }) { threads.insert(name.thread) }
            }
            // Jobs that are on their way into memory may not have been served when the store read
            // them: it takes those for parked ones.
            for queue in queues.all
            where !queue.isOrphaned && (queue.skipped.contains(selector) || queue.isLoading) {
                threads.insert(queue.name.thread)
            }
        }
        return threads.sorted()
    }

    /// The names of all selectors that were ever served, by their indices.
    package var selectorNames: [String] { served.allSelectors.map(\.name) }

    /// Whether there is a handler for a job in memory.
    func isServed(_ job: JobEntry) -> Bool {
        served.closedSelectors.isEmpty || served.knownSelector(job.details.selector) != nil
    }

    /// Whether there is a handler for a job that was loaded; else it stays in the store.
    func isServed(_ job: Job, of queue: JobQueue) -> Bool {
        if served.knownSelector(job.selector) != nil { return true }
        if served.closedSelectors.contains(job.selector) { queue.skipped.insert(job.selector) }
        return false
    }

    // MARK: - Threads

    /// Serves a group from now on; the driver claims the names that this returns.
    ///
    /// - Returns: its index, and the names of its threads.
    package mutating func serve(
        group name: String, memberNames: [String], maxQueued: Int, maxQueuedByteCount: Int
    ) -> (index: Int, names: [String]) {
        let group =
            served.group(named: name)
            ?? ThreadGroup(
                name: name, memberNames: memberNames, maxQueued: maxQueued,
                maxQueuedByteCount: maxQueuedByteCount, index: served.groups.count,
                startedAt: now.unixMilliseconds)
        (group.maxQueued, group.maxQueuedByteCount) = (maxQueued, maxQueuedByteCount)
        served.serve(group, memberNames: memberNames)
        let names = group.names
        prepare(names, of: group)
        return (group.index, names)
    }

    /// Changes the limits of a group's waiting jobs.
    package mutating func limit(group name: String, maxQueued: Int, maxQueuedByteCount: Int) {
        guard let group = served.group(named: name) else { return }
        (group.maxQueued, group.maxQueuedByteCount) = (maxQueued, maxQueuedByteCount)
    }

    /// Begins nothing more of a group, and forgets its names; answers `done` when its running jobs
    /// have ended.
    package mutating func remove(group name: String, _ reply: ReplyToken) {
        guard let group = served.group(named: name), group.isServed else {
            return effects.answer(reply, .done)
        }
        served.remove(group)
        leave(group.names, of: group)
        served.releases.endings.append(Releases.Request(subject: group, reply: reply))
        endReleases()
    }

    /// Makes the queues of threads that come: what is accepted before they are claimed is parked.
    private mutating func prepare(_ names: [String], of group: ThreadGroup) {
        for thread in names {
            served.releases.add(thread, keepsNew: true)
            for priority in Priority.allCases {
                let name = QueueName(thread: thread, priority: priority)
                let queue = queues.queue(name, of: group, mayHaveEarlierJobs: true)
                queue.release()
                queue.isOrphaned = false
                guard let counts = queues.orphans.take(name) else { continue }
                for (state, amount) in counts.amounts { queue.addParked(state, amount) }
                for (selector, amounts) in counts.unserved {
                    for (state, amount) in amounts {
                        queues.unserved.add(amount, state, of: selector, to: name)
                    }
                }
            }
        }
    }

    /// Leaves the stored jobs of threads that go to the store, as orphans.
    private mutating func leave(_ names: [String], of group: ThreadGroup) {
        guard !names.isEmpty else { return }
        let threads = Set(names)
        for thread in names { served.releases.add(thread, keepsNew: true) }
        let left = queues.all.filter { threads.contains($0.name.thread) }
        cancels.forgetLeft(of: left)
        tellWaiters(ofThreads: threads.contains) { _, thread in .unknownThread(thread) }
        for queue in left {
            queue.release()
            queue.isOrphaned = true
            for (state, amount) in queue.takeParked() {
                queues.orphans.add(amount, state, to: queue.name)
            }
            for (selector, amounts) in queues.unserved.take(queue.name) {
                for (state, amount) in amounts {
                    queues.orphans.add(amount, state, of: selector, to: queue.name)
                }
            }
        }
        leaveJobs { $0.group === group && threads.contains($0.thread) }
        if !left.isEmpty { keep(.release(left.map(\.name))) }
    }

    // MARK: - Jobs that leave

    /// Has jobs leave memory that have not begun.
    private mutating func leaveJobs(where leaves: (JobEntry) -> Bool) {
        for job in book.activeJobs.lastToBeginFirst()
        where leaves(job) && book.active(job.id) === job {
            // A job whose commit is awaited leaves when that has come.
            if case .committing = job.place { continue }
            if withdrawAttempt(of: job) { leaveUnserved(job) }
        }
    }

    /// A job that does not begin leaves memory: its thread or its handler has gone.
    mutating func leaveUnserved(_ job: JobEntry) {
        guard let queue = job.queue else { return endWithdrawn(job, .cancelled) }
        let error: JobError =
            queue.isOrphaned
            ? .unknownThread(job.thread) : .unknownSelector(job.details.selector)
        tellWaiters(of: job, .failed(error))
        retract(job)
        parkAsStored(job, queue)
        endHoldUp(by: job)
        job.forgetOrders()
    }

    /// A worker in another process has let go of a job that its thread held: it waits again, and
    /// its thread may have gone meanwhile, or been released.
    mutating func leaveIfChanging(_ job: JobEntry) {
        let isGone = !job.group.isServed || job.queue?.isOrphaned == true || !isServed(job)
        let released = job.queue.flatMap { $0.isReleased ? $0 : nil }
        guard isGone || released != nil || job.group.keepsBack(job), withdrawAttempt(of: job) else {
            return
        }
        if isGone {
            leaveUnserved(job)
        } else if let released {
            leaveToOwner(job, released)
        } else {
            suspend(job)
        }
        endReleases()
    }

    private mutating func suspend(_ job: JobEntry) {
        retract(job)
        job.attempt = nil
        job.move(to: .suspended)
        job.group.suspended.append(job)
    }

    /// Counts a job that has left memory.
    mutating func countParked(_ job: JobEntry, _ state: JobState, of queue: JobQueue) {
        guard queue.isOrphaned else {
            // Also one that ran while its handler went, and is tried again.
            if !isServed(job) { queue.skipped.insert(job.details.selector) }
            return queues.park(job.id, state, byteCount: job.payloadByteCount, in: queue)
        }
        queues.orphans.add(.one(job.payloadByteCount), state, to: queue.name)
    }

    /// A job that was counted as parked is none.
    mutating func uncountParked(_ commit: CommitQueue.Commit) {
        let queue = commit.queue
        guard queue.isOrphaned else {
            return queue.removeParked(commit.state, .one(commit.byteCount))
        }
        let counted = CountedJob(
            id: commit.id, state: commit.state, selector: "", byteCount: commit.byteCount)
        queues.removeOrphan(counted, from: queue.name)
    }

    /// Answers the requests for groups of which no job runs any more.
    mutating func tellEnded() {
        served.releases.endings = answerOver(served.releases.endings) { group, job in
            guard job.group === group else { return false }
            switch job.place {
            case .offered: return true
            case .committing: return !group.isServed
            case .outside, .delayed, .buffered, .inLine, .heldUp, .suspended: return false
            }
        }
    }

    // MARK: - Counts of threads

    /// Offers nothing more to a group; answers `done` when its running jobs have ended.
    ///
    /// Its waiting jobs are withdrawn, and keep their order.
    package mutating func suspend(group name: String, _ reply: ReplyToken) {
        guard !stage.isRefusing, let group = served.group(named: name), group.isServed else {
            return effects.answer(reply, .failed(.shuttingDown))
        }
        group.isSuspended = true
        withdrawKeptBack(of: group)
        served.releases.endings.append(Releases.Request(subject: group, reply: reply))
        endReleases()
    }

    /// Goes on with a suspended group and its new threads; the driver claims the names that this
    /// returns.
    ///
    /// Jobs for a thread that has gone are orphans, or cancelled if no store has them.
    package mutating func resume(group name: String, memberNames: [String]) -> [String] {
        guard let group = served.group(named: name) else { return [] }
        let before = Set(group.names)
        let wasOneThread = group.memberNames.count == 1
        // Slots stay, whatever threads their jobs run on.
        let gone = Set(group.memberNames).subtracting([name] + memberNames).sorted()
        leave(gone, of: group)
        served.serve(group, memberNames: memberNames)
        let new = group.names.filter { !before.contains($0) }
        prepare(new, of: group)
        if wasOneThread != (memberNames.count == 1) { orderAnew(group) }
        group.isSuspended = false
        offerSuspended(of: group)
        return new
    }

    /// Withdraws the jobs of a group that are not to be offered any more.
    ///
    /// - Parameter leavesStopped: leaves alone the jobs of threads that were stopped.
    private mutating func withdrawKeptBack(of group: ThreadGroup, leavesStopped: Bool = false) {
        let environment = environment
        let offered = book.activeJobs.filter {
            $0.group === group && $0.place.isOffered && group.keepsBack($0)
                && !(leavesStopped && environment.isStopped($0.thread, of: group))
        }
        for job in offered.lastToBeginFirst() where withdrawAttempt(of: job) {
            suspend(job)
        }
    }

    /// Begins no more jobs of a thread, pool or slot that is to pass to another scheduler.
    ///
    /// Its running jobs go on; its waiting jobs are withdrawn, and keep their order.
    package mutating func drain(_ unit: String) {
        guard !stage.isRefusing, let group = served.group(ofUnit: unit), group.isServed else {
            return
        }
        group.drained.insert(unit)
        withdrawKeptBack(of: group)
    }

    /// Goes on with a thread, pool or slot that was drained.
    package mutating func endDrain(of unit: String) {
        guard let group = served.group(ofUnit: unit), group.drained.remove(unit) != nil else {
            return
        }
        offerSuspended(of: group)
    }

    /// Whether a job that was suspended still waits to be offered again.
    func isSuspended(_ job: JobEntry) -> Bool {
        if case .suspended = job.place { book.active(job.id) === job } else { false }
    }

    /// Offers the waiting jobs of all groups again that have offered jobs of selectors.
    ///
    /// - Complexity: O(jobs in memory).
    package mutating func offerAgain(jobsOf selectors: Set<String>) {
        var groups: [ThreadGroup] = []
        book.forEachActive { job in
            if job.place.isOffered, selectors.contains(job.details.selector),
                !groups.contains(where: { $0 === job.group })
            {
                groups.append(job.group)
            }
            return true
        }
        for group in groups { offerAgain(group) }
    }

    /// Withdraws the waiting jobs of a group, and offers them again in their order: to the code
    /// that their selectors have now.
    ///
    /// A stopped thread takes none, and ends the jobs that it has.
    package mutating func offerAgain(_ group: ThreadGroup) {
        // The end of a suspension offers them again.
        guard !stage.isRefusing, group.isServed, !group.isSuspended else { return }
        group.isSuspended = true
        withdrawKeptBack(of: group, leavesStopped: true)
        group.isSuspended = false
        offerSuspended(of: group)
    }

    private mutating func offerSuspended(of group: ThreadGroup) {
        let jobs = group.suspended.filter { isSuspended($0) }
        group.suspended = []
        for job in jobs { forgetOffers(of: job) }
        for job in jobs.sorted(by: { $0.turn < $1.turn }) { offerOrHoldUp(job) }
    }

    /// The name of a suspended group means one thread where it meant a pool, or the other way: its
    /// waiting jobs keep the orders of what it means now.
    private mutating func orderAnew(_ group: ThreadGroup) {
        for job in book.activeJobs where job.group === group && job.thread == group.name {
            switch job.place {
            case .offered, .outside: continue
            case .committing, .delayed, .buffered, .inLine, .heldUp, .suspended: break
            }
            let orders = orders.orders(
                thread: job.thread, isForOne: group.isOneThread(job.thread), key: job.job.key)
            if orders.heldUp(isInherited: job.isInherited) !== job.heldUpOrder {
                endHoldUp(by: job)
            }
            job.keep(orders)
        }
    }

    /// The daemon goes down: suspended groups go on with their present threads.
    mutating func giveUpChanges() {
        giveUpHoldUpsUntilClaim()
        for group in served.groups where group.isSuspended || !group.drained.isEmpty {
            (group.isSuspended, group.drained) = (false, [])
            offerSuspended(of: group)
        }
        let endings = served.releases.endings
        served.releases.endings = []
        for ending in endings { effects.answer(ending.reply, .failed(.shuttingDown)) }
    }

    // MARK: - Counts of an earlier run

    /// Whether all jobs of an earlier run are counted: before, no thread may come or go.
    package var areCounted: Bool { queues.areCounted }

    /// Has the effect `confirm` with this tag come when all jobs of an earlier run are counted.
    package mutating func whenCounted(tag: UInt64) {
        if areCounted { effects.confirm(tag, nil) } else { queues.countTags.append(tag) }
    }

    mutating func tellCounted() {
        for tag in queues.countTags { effects.confirm(tag, nil) }
        queues.countTags = []
    }
}
