// Taking back parked jobs that ask for the same, however many there are: part by part, each a transaction
// of its own, so that others have their turn in between and memory holds one part at a time.

internal import Jobs
internal import SQLiteJobs

/// Which jobs of a thread a command takes back.
struct CancelWish: Sendable {
    let selector: String
    /// Only those with this payload; nil for all.
    let payload: [UInt8]?
    /// None that was accepted later than the command came.
    let before: JobID
    /// Whether nobody serves the selector: then none of its jobs is in memory.
    var isUnserved = false
    /// None of these: they had begun by then.
    var begun: Set<JobID> = []

    func means(_ job: Job) -> Bool {
        job.id < before && job.selector == selector && (payload == nil || job.payload == payload)
            && !begun.contains(job.id)
    }
}

/// Parked jobs that are to be taken back, and how many are looked at at once.
struct CancelPart: Sendable {
    /// Where some of them may be.
    struct Place: Sendable {
        let queue: QueueName
        /// Waiting, buffered or delayed.
        let state: JobState
    }

    let wish: CancelWish
    /// What is left to look through, one after another.
    var places: [Place]
    /// Of the first place, what is not behind this one has been looked at.
    var after = DueKey.first
    let countMax: Int
    /// No further one is looked at, once the payloads have this size together.
    let byteCountMax: Int

    /// All of some queues.
    ///
    /// What was buffered may be fired meanwhile: it is found among the delayed, which come later.
    static func places(of queues: [QueueName]) -> [Place] {
        queues.flatMap { queue in
            [JobState.waiting, .buffered, .delayed].map { Place(queue: queue, state: $0) }
        }
    }
}

/// What a part has taken back.
struct CancelledPart: Sendable {
    var jobs: [QueueName: [CountedJob]] = [:]
    /// What is left to do; nil if nothing is.
    var rest: CancelPart?
}

extension SQLiteStore {
    /// Takes some jobs back; part of a transaction.
    ///
    /// - Parameter memory: what is in turn and not behind this is in memory.
    func cancel(
        _ part: CancelPart, behind memory: BroughtThrough, at now: Int64
    ) throws(StoreFault) -> CancelledPart {
        var cancelled = CancelledPart()
        var room = JobAmount(count: part.countMax, byteCount: part.byteCountMax)
        var rest = part
        while let place = rest.places.first {
            let behind = part.wish.isUnserved ? JobID(0) : memory[place.queue]
            let batch = try jobs(at: place, after: rest.after, behind: behind, room)
            for job in batch.jobs {
                room -= .one(job.payload.count)
                guard part.wish.means(job) else { continue }
                try end(job.id, nil, .cancelled, at: now)
                cancelled.jobs[place.queue, default: []].append(
                    CountedJob(
                        id: job.id, state: job.state, selector: job.selector,
                        byteCount: job.payload.count))
            }
            // Numbers go up, but among the delayed.
            let isPast =
                place.state != .delayed && batch.jobs.last.map { $0.id >= part.wish.before } == true
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
        at place: CancelPart.Place, after key: DueKey, behind memory: JobID,
        _ room: JobAmount
    ) throws(StoreFault) -> JobBatch {
        let (queue, limit, byteCount) = (place.queue, room.count, room.byteCount)
        switch place.state {
        case .delayed:
            return try delayed(queue, after: key, limit: limit, byteCount: byteCount)
        case .buffered:
            return try buffered(queue, after: key.id, limit: limit, byteCount: byteCount)
        case .waiting, .running, .done, .failed, .cancelled:
            let last = max(key.id, memory)
            return try inTurn(queue, after: last, limit: limit, byteCount: byteCount)
        }
    }
}
