// Cancels parked jobs that match a filter, a part at a time.

internal import Jobs

extension JournalTables {
    /// Cancels some jobs; part of a transaction.
    ///
    /// - Parameter memory: the boundary of each queue: jobs in turn up to it are in memory.
    func cancel(
        _ part: BulkCancelPart, behind memory: BroughtThrough, at now: Int64
    ) throws(StoreFault) -> BulkCancelAnswer {
        var cancelled = BulkCancelAnswer()
        var room = JobAmount(count: part.countMax, byteCount: part.byteCountMax)
        var rest = part
        while let place = rest.places.first {
            let behind = part.filter.isUnserved ? JobID(0) : memory[place.queue]
            let batch = try jobs(at: place, after: rest.after, behind: behind, room)
            for job in batch.jobs {
                room -= .one(job.payload.count)
                guard part.filter.means(job) else { continue }
                try end(job.id, nil, .cancelled, at: now)
                cancelled.jobs[place.queue, default: []].append(
                    CountedJob(
                        id: job.id, state: job.state, selector: job.selector,
                        byteCount: job.payload.count))
            }
            // Numbers grow in every state but the delayed one.
            let isPast =
                place.state != .delayed
                && batch.jobs.last.map { $0.id >= part.filter.before } == true
            if batch.isEnd || isPast {
                rest.places.removeFirst()
                rest.after = .first
            } else if let last = batch.jobs.last {
                rest.after = DueKey(dueAt: last.dueAt ?? 0, id: last.id)
            }
            guard room.count > 0, room.byteCount > 0 else { break }
        }
        if !rest.places.isEmpty { cancelled.rest = rest }
        return cancelled
    }

    private func jobs(
        at place: BulkCancelPart.Place, after key: DueKey, behind memory: JobID,
        _ room: JobAmount
    ) throws(StoreFault) -> JobBatch {
        let (queue, limit, byteCount) = (place.queue, room.count, room.byteCount)
        switch place.state {
        case .delayed:
            return try delayed(queue, after: key, limit: limit, byteCount: byteCount)
        case .buffered:
            return try buffered(queue, after: key.id, limit: limit, byteCount: byteCount)
        case .waiting, .running, .done, .failed, .cancelled, .expired:
            let last = max(key.id, memory)
            return try inTurn(queue, after: last, limit: limit, byteCount: byteCount)
        }
    }
}
