// How a scheduler goes down: it refuses new jobs, leaves waiting jobs in the store, asks running
// jobs to end, and abandons the rest.

/// Jobs in memory only that a shutdown keeps from their end: they are gone.
package struct AbandonedJobs {
    /// Jobs that have not begun.
    package internal(set) var waitingCount = 0
    /// Jobs that run, or that failed and would be tried again.
    package internal(set) var begunCount = 0
}

extension JobScheduler {
    /// Refuses new jobs from now on.
    package mutating func refuse() {
        stage.isRefusing = true
        giveUpChanges()
    }

    /// The refusal of a command for a stopped thread: when the daemon goes down, all are.
    package func refusal(ofStopped thread: String) -> JobError {
        stage.isRefusing ? .shuttingDown : .stoppedThread(thread)
    }

    /// Leaves the parked jobs in the store that wait for their moment or to be released.
    ///
    /// - Returns: how many these are, the first time.
    package mutating func keepDelayed() -> Int {
        guard !stage.keepsDelayed else { return 0 }
        stage.keepsDelayed = true
        return parkedCount(.delayed) + parkedCount(.buffered)
    }

    /// Leaves all parked jobs in the store; answers the clients that wait for one.
    ///
    /// - Returns: how many these are, the first time.
    package mutating func keepParked() -> Int {
        guard !stage.keepsParked else { return 0 }
        let count = keepDelayed() + parkedCount(.waiting) - stage.keptInTurnCount
        stage.keepsParked = true
        for waiters in cancels.takeWaiters() {
            waiters.tell(.failed(.abandoned), &alarms, &effects)
        }
        return count
    }

    /// Abandons all jobs that have not begun; answers the clients that wait for one.
    ///
    /// - Returns: how many stored ones are left to the store.
    package mutating func abandonWaiting() -> Int {
        let keptCount = abandon { $0.withdrawAttempt(of: $1) }
        // The jobs in turn are in the store only: it takes part when a client cancels many.
        if store.isKeeping, !queues.all.isEmpty { keep(.release(queues.all.map(\.name))) }
        return keptCount
    }

    /// Abandons all jobs that wait for their moment or to be released, as `abandonWaiting` does.
    package mutating func abandonDelayed() -> Int {
        let offered = Set(book.activeJobs.filter { $0.place.isOffered }.map(\.id))
        // No delayed job comes into memory any more.
        defer { for queue in queues.all { offerLine(of: queue) } }
        return abandon { _, job in
            switch job.place {
            case .offered, .suspended, .outside: false
            // A job behind one whose turn has come is offered when that one has ended.
            case .heldUp(let holdUp): !offered.contains(holdUp.blocker)
            case .delayed, .buffered: true
            case .committing: job.part != .inTurn
            // It runs as soon as those before it have come.
            case .inLine: false
            }
        }
    }

    /// Abandons all jobs that are left; stored ones run again after the restart.
    package mutating func abandonRunning() {
        // A job in a worker's hands since before the start stays there: its attempt counts.
        for job in book.activeJobs where job.isStored && !job.isInHands {
            recordRequeue(job)
        }
        stage.requeuedCount += abandon(hasBegun: true) { _, _ in true }
    }

    private mutating func abandon(
        hasBegun: Bool = false, _ isAbandoned: (borrowing JobScheduler, JobEntry) -> Bool
    ) -> Int {
        var keptCount = 0
        for job in book.activeJobs.lastToBeginFirst() where isAbandoned(self, job) {
            tellWaiters(of: job, .failed(.abandoned))
            retract(job)
            if let queue = job.queue {
                keptCount += 1
                // The store may still be asked to cancel or expire it.
                parkAsStored(job, queue)
                keepHoldUp(by: job)
            } else {
                abandonInMemory(job, hasBegun: hasBegun)
            }
        }
        return keptCount
    }

    /// Abandons a job in memory only, whose clients have been told.
    mutating func abandonInMemory(_ job: JobEntry, hasBegun: Bool) {
        if hasBegun { stage.abandoned.begunCount += 1 } else { stage.abandoned.waitingCount += 1 }
        book.deactivate(job)
        cancelRelease(of: job)
        endExpiry(of: job)
    }

    /// Leaves an active job to the store, as the store has it.
    ///
    /// A delayed job is among the delayed ones there until it ends.
    mutating func parkAsStored(_ job: JobEntry, _ queue: JobQueue) {
        let state: JobState = job.part == .inTurn ? .waiting : .delayed
        if state == .waiting, !queue.isReleased { cancels.leave(job.id, of: queue.name) }
        if state == .waiting, stage.isRefusing { stage.keptInTurnCount += 1 }
        park(job, queue, as: state)
        // In a drain, others go on.
        bringMore(of: queue)
    }

    /// Asks all jobs in memory to end, except for some.
    ///
    /// A stored one that does not end with a result runs after the restart, and another one is
    /// gone, unless a client has asked it to end. A repeated call asks again.
    package mutating func interruptAll(except left: Set<JobID> = []) {
        for job in book.activeJobs where !left.contains(job.id) {
            if !job.isAskedToEnd { job.isInterrupted = true }
            job.isAskedToEnd = true
            effects.append(.interrupt(job))
        }
    }

    /// Lets go of all jobs, and of all clients that wait.
    package mutating func close() {
        book.removeAllActive()
        orders = OrderKeeper()
        cancels = PendingCancels()
        store.removeAll()
        alarms.removeAll()
        effects = JobEffects()
    }
}
