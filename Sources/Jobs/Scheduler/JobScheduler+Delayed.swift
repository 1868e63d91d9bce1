// Delayed and buffered jobs. The delayed jobs of a stored queue that are due next are in memory,
// each with its alarm. The other delayed jobs, and all buffered ones, are parked in the store: see
// `DelayedWindow`.

extension JobScheduler {
    // MARK: - In memory

    /// Keeps a job until a moment in Unix milliseconds.
    mutating func delay(_ job: JobEntry, until dueAt: Int64) {
        job.move(to: .delayed)
        job.release = alarms.set(.release(job), at: now.monotonic(at: dueAt))
    }

    /// A job keeps waiting although its alarm is gone.
    mutating func cancelRelease(of job: JobEntry) {
        guard let release = job.release else { return }
        alarms.cancel(release)
        job.release = nil
    }

    /// Releases jobs whose moment has come, or whose buffer is fired.
    ///
    /// Jobs of one moment are released in the order of their numbers.
    mutating func release(_ jobs: [JobEntry]) {
        let inTurn = jobs.sorted { ($0.job.dueAt ?? 0, $0.id) < ($1.job.dueAt ?? 0, $1.id) }
        for job in inTurn { becomeDue(job) }
        for job in inTurn { if let queue = job.queue { offerLine(of: queue) } }
    }

    private mutating func becomeDue(_ job: JobEntry) {
        job.release = nil
        guard book.active(job.id) === job else { return }
        job.queue?.delayed.released(job.id)
        apply(.release, to: job.id)
        joinLine(job)
    }

    /// A delayed job is kept: it gets its alarm, or is parked.
    mutating func place(_ job: JobEntry, dueAt: Int64) {
        guard let queue = job.queue else { return delay(job, until: dueAt) }
        guard !stage.keepsDelayed else { return park(job, queue) }
        let key = DueKey(dueAt: dueAt, id: job.id)
        guard queue.delayed.takes(key) else { return park(job, queue) }
        queue.delayed.placed(key)
        delay(job, until: dueAt)
        guard queue.delayed.isOverfull else { return }
        let parked = queue.delayed.trim { book.active($0)?.payloadByteCount ?? 0 }
        for id in parked {
            if let job = book.active(id) { park(job, queue) }
        }
    }

    /// The next attempt of a job comes at a moment, and the store has been told.
    ///
    /// Going down, a job in memory only is abandoned.
    mutating func placeAgain(_ job: JobEntry, dueAt: Int64) {
        guard let queue = job.queue else {
            guard stage.isRefusing else { return delay(job, until: dueAt) }
            return abandonInMemory(job, hasBegun: true)
        }
        queue.removeFromMemory(job)
        job.part = job.retry.blocks && !queue.isReleased && isServed(job) ? .apart : .delayed
        queue.addInMemory(job.part, byteCount: job.payloadByteCount)
        if queue.isReleased || stage.isRefusing || !isServed(job) {
            park(job, queue)
        } else if job.part == .apart {
            // Others wait for it: it stays in memory.
            delay(job, until: dueAt)
        } else if queue.delayed.isLoading {
            // A load in flight may bring this job as it was: it stays until that has come.
            queue.delayed.placed(DueKey(dueAt: dueAt, id: job.id))
            delay(job, until: dueAt)
        } else {
            place(job, dueAt: dueAt)
        }
        bringMore(of: queue)
    }

    /// Lets go of a job that the store has.
    mutating func park(_ job: JobEntry, _ queue: JobQueue, as state: JobState = .delayed) {
        cancelRelease(of: job)
        leaveExpiry(of: job)
        book.deactivate(job)
        book.letGo(job.id)
        queue.removeFromMemory(job)
        countParked(job, state, of: queue)
        audience.watches.note(job.slot, of: job.id)
        guard job.hasWaiters else { return }
        if let error = reasonToStay(job, in: queue) {
            return tellWaiters(of: job, .failed(error))
        }
        let waiters = job.takeWaiters()
        cancels.withWaiters(of: job.id, thread: job.slot) {
            $0.add(waiters, &alarms, environment)
        }
    }

    /// Why a job that has left memory does not come back before a restart or a reload; nil if it
    /// may.
    private func reasonToStay(_ job: JobEntry, in queue: JobQueue) -> JobError? {
        if stage.isRefusing { return nil }
        if queue.isOrphaned { return .unknownThread(job.thread) }
        if !isServed(job) { return .unknownSelector(job.details.selector) }
        return isStopped(queue) ? .leftForRestart(job.id, thread: job.thread) : nil
    }

    // MARK: - Loads

    /// Loads the next delayed jobs of a queue, if there is room for some.
    mutating func bringMoreDelayed(of queue: JobQueue) {
        guard !stage.keepsDelayed else { return }
        for id in queue.delayed.giveWay() {
            if let job = book.active(id) { park(job, queue) }
        }
        if queue.delayed.isFull {
            for job in queue.line.takeDue(behind: queue.delayed.horizon) { park(job, queue) }
        }
        guard let load = queue.delayed.nextLoad() else { return }
        keep(
            .loadDelayed(
                queue.name, after: queue.delayed.horizon, limit: load.limit,
                byteCount: load.byteCount))
    }

    /// A load of delayed jobs was answered.
    mutating func loadedDelayed(
        _ name: QueueName, after place: DueKey, _ result: Result<JobBatch, StoreFault>
    ) {
        guard let queue = queues[name] else { return }
        switch result {
        case .success(let batch):
            let found = queue.delayed.loadEnded(batch, after: place) { book.active($0) != nil }
            // Going down: they are in the store, and stay there.
            guard !stage.keepsDelayed else { return }
            for job in found.jobs where isServed(job, of: queue) {
                loadedDelayed(job, isCurrent: found.isCurrent, queue)
            }
            bringMore(of: queue)
            offerLine(of: queue)
        case .failure:
            queue.delayed.loadEnded()
            loadAgainLater(queue)
        }
    }

    private mutating func loadedDelayed(_ job: Job, isCurrent: Bool, _ queue: JobQueue) {
        if isCurrent, !queue.isReleased, !cancels.isPending(job.id), !leaveParked(job, queue) {
            return bringDelayed(job, to: queue)
        }
        // The store has handed it over and counts it no more.
        if !queues.hasCounted(job.id) {
            queues.park(job.id, .delayed, byteCount: job.payload.count, in: queue)
        }
        if isCurrent, cancels.isPending(job.id) { cancels.withhold(job) }
    }

    /// Takes a delayed job of the store into memory; then the line of its queue is to be offered.
    mutating func bringDelayed(_ job: Job, to queue: JobQueue) {
        guard !queue.isReleased, let adopted = adopt(job, queue) else { return }
        queues.unpark(job.id, .delayed, byteCount: job.payload.count, from: queue)
        let due = job.dueAt ?? job.acceptedAt
        if due <= now.unixMilliseconds {
            becomeDue(adopted)
        } else {
            queue.delayed.placed(DueKey(dueAt: due, id: job.id))
            delay(adopted, until: due)
        }
    }

    // MARK: - Buffered jobs

    /// Releases the buffered jobs of a thread; answers how many, once that is kept.
    package mutating func fire(_ thread: String, _ reply: ReplyToken) {
        let group: ThreadGroup
        do throws(JobError) {
            group = try served.group(of: thread)
            if environment.isStopped(thread, of: group) { throw refusal(ofStopped: thread) }
        } catch {
            return effects.answer(reply, .failed(error))
        }
        // Jobs of a stopped member stay collected: a release could only refuse them.
        let stopped = Set(group.memberNames.filter { environment.isStopped($0, of: group) })
        let released = takeBuffered(thread, of: group, except: stopped)
        release(released)
        let count = released.count
        let addressed = ownedQueues(addressedBy: thread, of: group)
        fire(
            ReleaseBatch(
                queues: addressed.filter { !stopped.contains($0.thread) },
                before: JobID(book.nextNumber), moment: now.unixMilliseconds,
                countMax: queues.window.changedAtOnce), besides: count, reply)
    }

    /// Takes out the jobs in memory that were collected for a thread.
    private func takeBuffered(
        _ thread: String, of group: ThreadGroup, except stopped: Set<String>
    ) -> [JobEntry] {
        // A member's name releases the buffered jobs of this member; the pool's name releases all.
        group.takeBuffered(
            { bufferedJob($0) },
            where: { group.addresses($0.slot, by: thread) && !stopped.contains($0.thread) })
    }

    /// The job of a number, if it is collected in memory.
    func bufferedJob(_ id: JobID) -> JobEntry? {
        guard let job = book.active(id), case .buffered = job.place else { return nil }
        return job
    }

    /// Has the store release a part of them, which answers how many there were.
    private mutating func fire(_ part: ReleaseBatch, besides count: Int, _ reply: ReplyToken) {
        var part = part
        part.loadCountMax = queues.window.loadCountMax
        part.loadByteCountMax = queues.window.byteCountMax
        for name in part.queues {
            guard let room = queues[name]?.delayed.beginLoad() else { continue }
            part.loadCountMax = min(part.loadCountMax, room.limit)
            part.loadByteCountMax = min(part.loadByteCountMax, room.byteCount)
        }
        ask(.fire(count, reply)) { .fire(part, ticket: $0) }
    }

    /// A part was released, or could not be: the next one.
    mutating func fired(
        _ part: ReleaseBatch, _ result: Result<BufferRelease, StoreFault>, besides count: Int,
        _ reply: ReplyToken
    ) {
        switch result {
        case .failure(let fault): effects.answer(reply, .failed(.storeFailed(fault)))
        case .success(let release):
            noteFired(release, part)
            let count = count + release.count
            if audience.followsChanges { tellFired(part, rest: release.rest) }
            guard let rest = release.rest else {
                return part.isSynced
                    ? effects.answer(reply, .count(count)) : confirm(.count(count), reply)
            }
            if stage.isRefusing {
                return effects.answer(reply, .failed(.interrupted(jobCount: count)))
            }
            fire(rest, besides: count, reply)
        }
    }

    /// Buffered jobs are due, and the first of them come with the next answers.
    private mutating func noteFired(_ release: BufferRelease, _ part: ReleaseBatch) {
        for (name, amounts) in release.counted.sorted(by: { $0.key < $1.key }) {
            guard let queue = queues[name] else { continue }
            guard !queue.isOrphaned else {
                for (selector, amount) in amounts {
                    queues.orphans.release(amount, of: selector, to: name)
                }
                continue
            }
            queue.delayed.fired(behind: part.place(of: name))
            for (selector, amount) in amounts {
                guard served.countsAsParked(selector) else {
                    queues.unserved.release(amount, of: selector, to: name)
                    continue
                }
                queue.removeParked(.buffered, amount)
                queue.addParked(.delayed, amount)
            }
        }
    }

    // MARK: - The clock

    /// Dates all jobs anew that wait for a time of day: the clock on the wall was set, or has slept
    /// with the machine.
    ///
    /// - Complexity: O(jobs in memory).
    package mutating func clockWasSet() {
        for job in book.activeJobs where job.goesByClock && job.release != nil {
            guard let dueAt = book.job(job.id)?.dueAt else { continue }
            cancelRelease(of: job)
            delay(job, until: dueAt)
        }
        dateExpiriesAnew()
        keepDue()
    }

    /// Parked jobs that a command has made due stay due: the store dates them anew, and then they
    /// are loaded.
    ///
    /// Those in memory were released when they were due.
    mutating func keepDue() {
        let moment = now.unixMilliseconds
        ask(.keepDue(at: moment)) { .keepDue(at: moment, ticket: $0) }
    }

    mutating func keptDue(at moment: Int64, _ fault: StoreFault?) {
        if fault != nil {
            // The store may be able to write in a while.
            _ = alarms.set(.keepDue, at: now.monotonic(after: 1_000_000_000))
            return
        }
        for queue in queues.all {
            queue.delayed.fired(at: moment)
            bringMore(of: queue)
        }
    }
}
