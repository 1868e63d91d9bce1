// Jobs of the store that come into memory: of a long queue only the head is there.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import WorkerThreads

extension JobDesk {
    /// How many jobs are in the journal and not in memory.
    var parkedCount: Int { stored.parkedCount }

    /// How many jobs in a state are in the journal and not in memory.
    func parkedCount(_ state: JobState) -> Int { stored.load.parked(state).count }

    /// Whether every job in turn is in memory; those of stopped threads wait for a restart.
    var areAllInMemory: Bool {
        stored.backlogs.values.allSatisfy { $0.window.isWhole || isStopped($0) }
    }

    /// How many queues have jobs to load although nothing is on its way to load them: a fault.
    var stalledQueueCount: Int {
        guard !stored.isClosed else { return 0 }
        return stored.backlogs.values.count { $0.window.wantsLoad && !isStopped($0) }
    }

    private func isStopped(_ backlog: Backlog) -> Bool {
        (try? backlog.lane.pool.isStopped(onThread: backlog.queue.thread)) != false
    }

    /// How many jobs wait for a lane's threads, in memory or not.
    func shownWaitingCount(of lane: Lane) -> Int {
        lane.pool.waitingCount + stored.load(of: lane).parked(.waiting).count
            + lane.heldBackCount
    }

    /// Asks the journal for the next jobs of a queue, if there is room for some.
    func bringMore(of backlog: Backlog) {
        // Mostly there is none: all that is in turn is in memory, and all that is delayed.
        if backlog.window.isWhole, backlog.held.horizon == .last { return }
        guard !stored.isClosed, !isStopped(backlog) else { return }
        bringMoreHeld(of: backlog)
        guard let load = backlog.window.nextLoad() else { return }
        tell(.load(backlog.queue, limit: load.limit, byteCount: load.byteCount))
    }

    func loaded(_ queue: QueueName, _ result: Result<JobBatch, StoreFault>) {
        guard let backlog = stored.backlogs[queue] else { return }
        switch result {
        case .success(let batch):
            backlog.window.loadEnded(isEnd: batch.isEnd)
            // Going down: they are in the journal, and stay there.
            guard !stored.isClosed else { return }
            for job in batch.jobs where isServed(job) {
                guard live[job.id] == nil else {
                    log.error("job \(job.id) is in memory and was loaded once more; please report")
                    continue
                }
                stored.unpark(job.id, .waiting, byteCount: job.payload.count, from: backlog)
                if !takeBack(job, backlog) { bring(job, to: backlog) }
            }
            bringMore(of: backlog)
            backlog.checkParked()
        case .failure:
            backlog.window.loadEnded(isEnd: false)
            lookAgain(at: backlog)
        }
    }

    /// Tries in a while to bring what could not be read.
    func lookAgain(at backlog: Backlog) {
        let held = Confined((desk: self, backlog: backlog), to: loop)
        loop.schedule(after: .seconds(1)) { held.value.desk.bringMore(of: held.value.backlog) }
    }

    /// Takes a job of before into memory and lets it wait for its thread.
    private func bring(_ job: Job, to backlog: Backlog) {
        guard let live = adopt(job, backlog) else { return }
        submitInOrder(live)
    }

    /// Takes up a failed job that runs again.
    func readmit(_ job: Job) {
        guard let lane = try? lane(of: job.thread) else { return }
        _ = store.dropFailed(job.id)
        let backlog = stored.backlog(of: job.queue, lane)
        let due = job.dueAt ?? job.acceptedAt
        guard backlog.held.takesDue(DueKey(dueAt: due, id: job.id)) else {
            stored.park(job.id, .delayed, byteCount: job.payload.count, in: backlog)
            backlog.held.fired(at: due)
            return bringMore(of: backlog)
        }
        guard let adopted = adopt(job, backlog) else { return }
        hold(adopted)
        delay(adopted, until: due)
    }

    /// Takes a job of the journal into memory; nil if nobody can run it.
    func adopt(
        _ job: Job, _ backlog: Backlog, as part: Backlog.Part? = nil
    ) -> LiveJob? {
        guard let handler = handlers[job.selector] else { return nil }
        let adopted = liveJob(job, handler, backlog.lane, backlog: backlog)
        store.adopt(job)
        live[job.id] = adopted
        adopted.part = part ?? (job.state == .delayed ? .held : .inTurn)
        backlog.addInMemory(adopted.part, byteCount: job.payload.count)
        if let waiters = stored.waiters.removeValue(forKey: job.id) {
            adopted.waiters.add(waiters, by: door)
        }
        if watches.isWatched(job.id) { listen(to: adopted) }
        return adopted
    }
}
