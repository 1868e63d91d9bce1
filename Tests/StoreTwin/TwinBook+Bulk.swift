// Changes of many jobs with one command, part by part.

internal import Jobs

extension TwinBook {
    func delayed(_ queue: QueueName, after key: DueKey, _ limit: Int, _ byteCount: Int) -> JobBatch
    {
        Self.batch(
            jobs(of: queue, .delayed).filter { key < Self.place($0) }, limit: limit,
            byteCount: byteCount)
    }

    /// Cancels a job that has not begun.
    ///
    /// - Returns: its former state.
    mutating func cancel(_ job: Job, as outcome: Outcome = .cancelled, at now: Int64) -> CountedJob
    {
        end(job.id, nil, outcome, at: now)
        return CountedJob(
            id: job.id, state: job.state, selector: job.selector, byteCount: job.payload.count)
    }

    /// The waiting jobs that have expired by a time.
    ///
    /// - Parameter isMeant: whether a job is of a thread that is looked at.
    func expiring(
        at moment: Int64, after place: DueKey, limit: Int, isMeant: (Job) -> Bool = { _ in true }
    ) -> ExpiringJobs {
        let places = live.compactMap { kept in
            isMeant(kept.job)
                ? kept.job.expiresAt.map { DueKey(dueAt: $0, id: kept.job.id) } : nil
        }.sorted()
        var found = ExpiringJobs()
        found.places = Array(places.filter { place < $0 && $0.dueAt <= moment }.prefix(limit))
        found.isEnd = found.places.count < limit
        if found.isEnd { found.next = places.first { $0.dueAt > moment }?.dueAt }
        return found
    }

    mutating func resolve(
        _ failed: FailedJobs, _ action: FailedJobAction, _ part: FailedJobsPart
    ) -> FailedJobsAnswer {
        var answer = FailedJobsAnswer()
        var ids: [JobID]
        switch failed {
        case .one(let id): ids = [id]
        case .all(let selector):
            ids = self.failed(of: selector).filter { part.after < $0 && $0 < part.before }
            ids = Array(ids.prefix(part.countMax))
            if ids.count == part.countMax { answer.last = ids.last }
        }
        var byteCount = 0
        for id in ids {
            switch action {
            case .drop:
                if let job = takeFailed(id)?.job {
                    answer.dropped.append(
                        DroppedJob(id: id, slot: job.slot, selector: job.selector))
                } else {
                    answer.other = job(id)
                }
            case .runAgain(let isServed):
                guard let known = job(id) else { continue }
                answer.other = known
                guard isServed(known),
                    let again = runAgain(id, before: part.before, at: part.moment)
                else { continue }
                answer.jobs.append(again)
                byteCount += again.payload.count
                if byteCount >= part.byteCountMax {
                    answer.last = id
                    return answer
                }
            }
        }
        return answer
    }

    mutating func release(_ batch: ReleaseBatch) -> BufferRelease {
        var release = BufferRelease()
        for (place, queue) in batch.queues.enumerated() {
            let room = batch.countMax - release.count
            let after = batch.place(of: queue).id
            let jobs = jobs(of: queue, .buffered).filter { after < $0.id && $0.id < batch.before }
                .prefix(room)
            release.count += jobs.count
            var amounts: [String: JobAmount] = [:]
            for job in jobs {
                self.release(job, before: batch.before, at: batch.moment)
                amounts[job.selector, default: JobAmount()] += .one(job.payload.count)
            }
            release.counted[queue] = amounts
            if jobs.count == room {
                var rest = batch
                rest.queues = Array(batch.queues[place...])
                rest.after = jobs.last?.id ?? after
                rest.isSynced = false
                release.rest = rest
                break
            }
        }
        return release
    }

    /// - Parameter memory: the boundary of each queue: jobs in turn up to it are in memory.
    mutating func cancel(
        _ part: BulkCancelPart, behind memory: [QueueName: JobID], at now: Int64
    ) -> BulkCancelAnswer {
        var answer = BulkCancelAnswer()
        var room = JobAmount(count: part.countMax, byteCount: part.byteCountMax)
        var rest = part
        while let place = rest.places.first {
            let behind = part.filter.isUnserved ? JobID(0) : memory[place.queue] ?? JobID(0)
            let jobs = jobs(of: place.queue, place.state).filter { job in
                switch place.state {
                case .delayed: rest.after < Self.place(job)
                case .buffered: rest.after.id < job.id
                default: max(rest.after.id, behind) < job.id
                }
            }
            let batch = Self.batch(jobs, limit: room.count, byteCount: room.byteCount)
            for job in batch.jobs {
                room -= .one(job.payload.count)
                guard part.filter.means(job) else { continue }
                answer.jobs[place.queue, default: []].append(cancel(job, at: now))
            }
            let isPast =
                place.state != .delayed
                && batch.jobs.last.map { $0.id >= part.filter.before } == true
            if batch.isEnd || isPast {
                rest.places.removeFirst()
                rest.after = .first
            } else if let last = batch.jobs.last {
                rest.after = Self.place(last)
            }
            guard room.count > 0, room.byteCount > 0 else { break }
        }
        if !rest.places.isEmpty { answer.rest = rest }
        return answer
    }
}
