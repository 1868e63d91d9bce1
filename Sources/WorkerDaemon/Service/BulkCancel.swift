// Taking back all jobs of a thread and selector that have not begun, wherever they are: those in memory
// at once, the parked ones by the journal, part by part. What is meant does not begin any more from the
// moment of the command on, though others may be served for seconds until the last part is done:
//
// - What is in turn and comes into memory meanwhile is taken back by the desk as it comes; the journal
//   leaves alone what it has brought.
// - What is delayed and comes stays parked, because the journal does not know what the desk has of these
//   and takes it back when it gets there.
//
// So each job is taken back by one of the two, and counted once. Confined to the desk's thread.

internal import Jobs
internal import Kernel

/// A command under way that takes back all of a thread and selector.
final class BulkCancel {
    /// Nil if the thread is configured no more: then nothing of it comes.
    let lane: Lane?
    /// The lane's name or a member's.
    let thread: String
    fileprivate(set) var filter: CancelFilter
    /// How many were taken back.
    fileprivate(set) var count = 0
    /// Those among them of which the journal has not said yet that they are jobs: a submit that is repeated
    /// under its name is none.
    fileprivate var unconfirmed: Set<JobID> = []
    /// In front of the first of those that came and stayed parked.
    fileprivate var leftParked: [QueueName: DueKey] = [:]
    fileprivate let reply: ReplyToken

    fileprivate init(
        _ lane: Lane?, _ thread: String, _ filter: CancelFilter, _ reply: ReplyToken
    ) {
        self.lane = lane
        self.thread = thread
        self.filter = filter
        self.reply = reply
    }

    fileprivate func means(_ job: Job, of lane: Lane) -> Bool {
        lane === self.lane && (thread == lane.name || thread == job.thread) && filter.means(job)
    }
}

extension JobDesk {
    /// Takes back all jobs of a thread and selector that have not begun, parked ones too; answers how many,
    /// once that is on the disk.
    ///
    /// - Parameter payload: only those with this payload; nil for all.
    func cancel(thread: String, selector: String, payload: [UInt8]?, _ reply: ReplyToken) {
        let lane = try? lane(of: thread)
        guard isKnown(thread) else {
            return door.answer(reply, .failed(.unknownThread(thread)))
        }
        let filter = CancelFilter(
            selector: selector, payload: payload, before: JobID(store.nextNumber),
            isUnserved: handlers[selector] == nil)
        let recall = BulkCancel(lane, thread, filter, reply)
        let queues = queues(addressedBy: thread, lane)
        if let lane {
            let ids = cancelInMemory(recall, lane)
            recall.count = ids.count
            recall.unconfirmed = Set(ids.filter { stored.isAwaited($0) })
            // What is left of them in memory could not be taken back.
            recall.filter.begun = Set(matching(recall, of: lane).map(\.id))
        }
        stored.recalls.append(recall)
        takeBack(
            BulkCancelPart(
                filter: recall.filter, places: BulkCancelPart.places(of: queues),
                countMax: stored.window.settledAtOnce, byteCountMax: stored.window.byteCountMax),
            recall)
    }

    /// Takes back those in memory that have not begun.
    private func cancelInMemory(_ recall: BulkCancel, _ lane: Lane) -> [JobID] {
        // The end of one may make others leave memory: the store takes those back.
        let cancelled = matching(recall, of: lane).filter {
            live[$0.id] === $0 && withdraw($0, staysInBuffer: true)
        }
        // All at once: to look for each among those that were collected takes too long if there are many.
        if !cancelled.isEmpty { buffered[lane.name]?.removeAll { live[$0] == nil } }
        return cancelled.map(\.id)
    }

    /// The jobs in memory that are meant.
    private func matching(_ recall: BulkCancel, of lane: Lane) -> [LiveJob] {
        let filter = recall.filter
        return live.values.filter { job in
            job.lane === lane && (recall.thread == lane.name || job.thread == recall.thread)
                && job.context.selector == filter.selector
                && (filter.payload == nil || job.context.payload == filter.payload)
        }
    }

    /// Has the store take back a part of them.
    private func takeBack(_ part: BulkCancelPart, _ recall: BulkCancel) {
        ask(.cancelMany(recall)) { .cancelPart(part, ticket: $0) }
    }

    /// The store has taken back a part of them, or could not.
    func cancelledPart(_ recall: BulkCancel, _ result: Result<BulkCancelAnswer, StoreFault>) {
        switch result {
        case .success(let cancelled):
            recall.count += noteCancelled(cancelled.jobs)
            if let rest = cancelled.rest, !isRefusing { return takeBack(rest, recall) }
            endRecall(recall)
            guard cancelled.rest == nil else {
                return door.answer(recall.reply, .failed(.interrupted(jobCount: recall.count)))
            }
            confirm(.count(recall.count), recall.reply)
        case .failure(let fault):
            endRecall(recall)
            door.answer(recall.reply, .failed(.storeFailed(fault)))
        }
    }

    /// Nothing is meant any more: what stayed parked and was not taken back is brought once more.
    private func endRecall(_ recall: BulkCancel) {
        stored.recalls.removeAll { $0 === recall }
        for (queue, key) in recall.leftParked {
            guard let backlog = stored.backlogs[queue] else { continue }
            backlog.held.fired(behind: key)
            bringMore(of: backlog)
        }
    }

    // MARK: - What comes meanwhile

    /// A job that was taken back before it was on the disk turns out to be none.
    ///
    /// The journal says so before it answers the command that took it back, which came later.
    func uncountCancelled(_ id: JobID) {
        for recall in stored.recalls where recall.unconfirmed.remove(id) != nil {
            recall.count -= 1
        }
    }

    /// Takes a job of a queue's turn back that has just come from the journal, if a command means it.
    func takeBack(_ job: Job, _ backlog: Backlog) -> Bool {
        guard let recall = recall(of: job, backlog) else { return false }
        stored.journal.record(.end(job.id, nil, .cancelled, at: wall.unixMilliseconds()))
        tellParkedEnd(job.id, .cancelled)
        recall.count += 1
        return true
    }

    /// Leaves a delayed job parked that has just come from the journal, if a command means it.
    func leaveParked(_ job: Job, _ backlog: Backlog) -> Bool {
        guard let recall = recall(of: job, backlog) else { return false }
        let front = DueKey(dueAt: job.dueAt ?? job.acceptedAt, id: JobID(job.id.number - 1))
        recall.leftParked[backlog.queue] = min(recall.leftParked[backlog.queue] ?? .last, front)
        return true
    }

    private func recall(of job: Job, _ backlog: Backlog) -> BulkCancel? {
        stored.recalls.first { $0.means(job, of: backlog.lane) }
    }

    /// Takes note of parked jobs that were taken back.
    ///
    /// - Returns: how many of them have not begun: a failed one that was run again meanwhile may have.
    func noteCancelled(
        _ cancelled: [QueueName: [CountedJob]], as outcome: Outcome = .cancelled
    ) -> Int {
        var count = 0
        for (queue, jobs) in cancelled {
            let backlog = stored.backlogs[queue]
            for job in jobs {
                if let live = live[job.id] {
                    if withdraw(live, as: outcome) { count += 1 }
                    continue
                }
                // Another command may ask for the same job, and find nothing to take back.
                stored.withheld[job.id] = nil
                if backlog != nil, handlers[job.selector] == nil {
                    stored.removeUnserved(job, from: queue)
                } else if let backlog {
                    stored.unpark(job.id, job.state, byteCount: job.byteCount, from: backlog)
                } else {
                    stored.removeOrphan(job.id, byteCount: job.byteCount, from: queue)
                }
                tellParkedEnd(job.id, outcome)
                count += 1
            }
        }
        return count
    }
}
