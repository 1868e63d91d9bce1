// The jobs of one thread or pool, when another daemon takes it over.

internal import Jobs

extension TwinBook {
    /// Recovers the jobs of a thread or pool as a restart would.
    ///
    /// - Parameters:
    ///   - mayHaveBegun: whether the daemon before may have begun some without a record.
    ///   - windowCountMax: how many jobs of each queue it had in memory at most.
    ///   - fault: what is done wrongly.
    /// - Returns: the jobs that workers in other processes may still hold.
    mutating func recover(
        _ group: String, mayHaveBegun: Bool, windowCountMax: Int, at now: Int64,
        _ fault: SharingFault?
    ) -> [HeldJob] {
        if mayHaveBegun, fault != .countsNoBeginnings {
            countBeginnings(of: group, windowCountMax, at: now)
        }
        for id in askedToEnd.sorted() where isOf(group, id) {
            end(id, nil, .cancelled, at: now)
            askedToEnd.remove(id)
        }
        if fault != .keepsStarts { endStarts(of: group) }
        return takeHeld(at: now) { ThreadGroup.name(of: $0.slot) == group }
    }

    private func isOf(_ group: String, _ id: JobID) -> Bool {
        job(id).map { ThreadGroup.name(of: $0.slot) == group } == true
    }

    /// Counts an attempt of each job that may have begun without a record.
    private mutating func countBeginnings(
        of group: String, _ windowCountMax: Int, at now: Int64
    ) {
        var seen: [QueueName: Int] = [:]
        // In the order of their numbers.
        for job in live.map(\.job) where ThreadGroup.name(of: job.slot) == group {
            let mayHaveBegun: Bool
            if job.state == .waiting {
                seen[job.queue, default: 0] += 1
                mayHaveBegun = seen[job.queue] ?? 0 <= windowCountMax && job.startedAt == nil
            } else {
                let isHeld = holders[job.id].map { $0.attempt <= job.attempt } == true
                mayHaveBegun = job.state == .delayed && job.dueAt ?? 0 <= now && !isHeld
            }
            if mayHaveBegun { forgiveOne(job) }
        }
    }

    /// Counts an attempt that does not count against the retries.
    private mutating func forgiveOne(_ job: Job) {
        change(job.id) {
            $0.attempt += 1
            $0.forgivenCount += 1
        }
    }

    /// No attempt of a thread or pool runs any more: the next one is another, of which there may be
    /// no record.
    private mutating func endStarts(of group: String) {
        for job in live.map(\.job) where ThreadGroup.name(of: job.slot) == group {
            if job.startedAt != nil { change(job.id) { $0.startedAt = nil } }
        }
    }

    /// No attempt of a waiting job runs any more, and there may be no record of the next one.
    mutating func forgetBeginnings() {
        for job in live.map(\.job) where job.state == .waiting && job.startedAt != nil {
            change(job.id) { ($0.startedAt, $0.workerName) = (nil, nil) }
        }
    }

    /// The jobs that have not ended of a thread, by queue, selector and state.
    func counts(of thread: String) -> [QueueName: [String: [JobState: JobAmount]]] {
        var counts: [QueueName: [String: [JobState: JobAmount]]] = [:]
        for job in live.map(\.job) where job.slot == thread {
            counts[job.queue, default: [:]][job.selector, default: [:]][
                job.state, default: JobAmount()] += .one(job.payload.count)
        }
        return counts
    }
}
