// Jobs of the store that come into memory: of a long queue only the head is there.

extension JobScheduler {
    /// How many jobs are in the store and not in memory.
    package var parkedCount: Int { queues.load.parkedSum.count }

    /// How many jobs of a state are in the store and not in memory.
    package func parkedCount(_ state: JobState) -> Int { queues.load.parked(state).count }

    /// Whether every job in turn is in memory; those of stopped threads wait for a restart.
    package var areAllInMemory: Bool {
        queues.all.allSatisfy { $0.window.isWhole || $0.isReleased || isStopped($0) }
    }

    /// How many queues have jobs to load although no load is in flight or due: each is a fault.
    package var stalledQueueCount: Int {
        guard !stage.keepsParked else { return 0 }
        return queues.all.count {
            $0.window.wantsLoad && !$0.isLoadDue && !$0.isReleased && !isStopped($0)
        }
    }

    func isStopped(_ queue: JobQueue) -> Bool {
        environment.isStopped(queue.name.thread, of: queue.group)
    }

    /// Loads the next jobs of a queue, if there is room for some.
    mutating func bringMore(of queue: JobQueue) {
        // Mostly there is none: all that is in turn is in memory, and all that is delayed.
        if queue.window.isWhole, queue.delayed.horizon == .last { return }
        guard !stage.keepsParked, !queue.isReleased, !isStopped(queue) else { return }
        bringMoreDelayed(of: queue)
        guard let load = queue.window.nextLoad() else { return }
        keep(.load(queue.name, limit: load.limit, byteCount: load.byteCount))
    }

    /// A load of jobs in turn was answered.
    mutating func loaded(_ name: QueueName, _ result: Result<JobBatch, StoreFault>) {
        guard let queue = queues[name] else { return }
        switch result {
        case .success(let batch):
            let isCurrent = queue.endLoad(isEnd: batch.isEnd)
            // Going down: they are in the store, and stay there.
            guard !stage.keepsParked else { return }
            guard isCurrent else { return bringMore(of: queue) }
            for job in batch.jobs where isServed(job, of: queue) {
                loaded(job, queue)
            }
            bringMore(of: queue)
            offerLine(of: queue)
            if !stage.isRefusing, served.closedSelectors.isEmpty { queue.checkParked() }
        case .failure:
            _ = queue.endLoad(isEnd: false)
            loadAgainLater(queue)
        }
    }

    private mutating func loaded(_ job: Job, _ queue: JobQueue) {
        guard book.active(job.id) == nil else {
            return effects.note(
                .error,
                "job \(job.id) is in memory and was loaded once more; please report this fault")
        }
        queues.unpark(job.id, .waiting, byteCount: job.payload.count, from: queue)
        guard !cancelLoaded(job, queue), let adopted = adopt(job, queue) else { return }
        joinLine(adopted)
    }

    /// Tries in a while to load what could not be read.
    mutating func loadAgainLater(_ queue: JobQueue) {
        queue.isLoadDue = true
        _ = alarms.set(.loadAgain(queue), at: now.monotonic(after: 1_000_000_000))
    }

    mutating func loadAgain(_ queue: JobQueue) {
        queue.isLoadDue = false
        bringMore(of: queue)
    }

    /// Takes a job of the store into memory; nil if there is no handler for it.
    mutating func adopt(
        _ job: Job, _ queue: JobQueue, as part: JobQueue.Part? = nil
    ) -> JobEntry? {
        guard let selector = served.knownSelector(job.selector) else { return nil }
        let adopted = entry(job, selector.index, queue.group, queue)
        adopted.part = part ?? (job.state == .delayed ? .delayed : .inTurn)
        adopted.move(to: .committing)
        guard book.adopt(adopted) else {
            adopted.move(to: .outside)
            endExpiry(of: adopted)
            effects.note(
                .error, "job \(job.id) has ended and was loaded once more; please report this fault"
            )
            return nil
        }
        queue.addInMemory(adopted.part, byteCount: job.payload.count)
        if let waiters = cancels.takeWaiters(of: job.id) {
            adopted.withWaiters { $0.add(waiters, &alarms, environment) }
        }
        if audience.watches.isWatched(job.id) { effects.append(.listen(adopted)) }
        return adopted
    }
}
