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
final class Recall {
    let lane: Lane
    /// The lane's name or a member's.
    let thread: String
    let selector: String
    /// Only those with this payload; nil for all.
    let payload: [UInt8]?
    /// None that was accepted later than the command came.
    let before: JobID
    /// How many were taken back.
    fileprivate(set) var count = 0

    fileprivate init(
        _ lane: Lane, _ thread: String, _ selector: String, _ payload: [UInt8]?, before: JobID
    ) {
        self.lane = lane
        self.thread = thread
        self.selector = selector
        self.payload = payload
        self.before = before
    }

    fileprivate func means(_ job: Job, of lane: Lane) -> Bool {
        lane === self.lane && (thread == lane.name || thread == job.thread) && job.id < before
            && job.selector == selector && (payload == nil || payload == job.payload)
    }
}

extension JobDesk {
    /// Takes back all jobs of a thread and selector that have not begun, parked ones too.
    ///
    /// - Parameters:
    ///   - payload: only those with this payload; nil for all.
    ///   - body: told how many, once that is on the disk.
    func cancelDurably(
        thread: String, selector: String, payload: [UInt8]?,
        _ body: @escaping (Result<Int, WireError>) -> Void
    ) throws(WireError) {
        guard let durable else { return }
        let lane = try lane(of: thread)
        let recall = Recall(lane, thread, selector, payload, before: JobID(store.nextNumber))
        let backlogs = durable.backlogs(of: lane, addressedBy: thread)
        durable.recalls.append(recall)
        recall.count = try cancel(thread: thread, selector: selector, payload: payload)
        // What is left of them in memory could not be taken back.
        let begun = matching(thread: thread, selector: selector, payload: payload, of: lane)
        takeBack(
            CancelPart(
                selector: selector, payload: payload,
                places: CancelPart.places(of: backlogs.map(\.queue)), before: recall.before,
                begun: Set(begun.map(\.id)), countMax: durable.window.settledAtOnce,
                byteCountMax: durable.window.byteCountMax), recall, body)
    }

    /// Has the journal take back a part of them, then the next one.
    private func takeBack(
        _ part: CancelPart, _ recall: Recall,
        _ body: @escaping (Result<Int, WireError>) -> Void
    ) {
        guard let durable else { return }
        let ticket = durable.expect(
            .cancelledPart { [unowned self] result in
                switch result {
                case .success(let cancelled):
                    recall.count += noteCancelled(cancelled.jobs)
                    if let rest = cancelled.rest, !isRefusing {
                        return takeBack(rest, recall, body)
                    }
                    endRecall(recall)
                    if cancelled.rest != nil { return body(.failure(Self.notAll(recall.count))) }
                    confirm(recall.count, body)
                case .failure(let fault):
                    endRecall(recall)
                    bringAgain(recall)
                    body(.failure(Self.busy(fault)))
                }
            })
        tell(.cancelPart(part, ticket: ticket))
    }

    private func endRecall(_ recall: Recall) {
        durable?.recalls.removeAll { $0 === recall }
    }

    /// Has the delayed ones brought once more that were left parked and were not taken back.
    private func bringAgain(_ recall: Recall) {
        let backlogs = durable?.backlogs(of: recall.lane, addressedBy: recall.thread) ?? []
        for backlog in backlogs {
            backlog.held.fired(behind: .first)
            bringMore(of: backlog)
        }
    }

    // MARK: - What comes meanwhile

    /// Takes a job of a queue's turn back that has just come from the journal, if a command means it.
    func takeBack(_ job: Job, _ backlog: Backlog) -> Bool {
        guard let recall = recall(of: job, backlog) else { return false }
        durable?.journal.record(.end(job.id, nil, .cancelled, at: wall.unixMilliseconds()))
        tellCancelled(job.id)
        recall.count += 1
        return true
    }

    /// The command that means a job; nil if none does.
    func recall(of job: Job, _ backlog: Backlog) -> Recall? {
        durable?.recalls.first { $0.means(job, of: backlog.lane) }
    }

    /// Takes note of parked jobs that were taken back.
    ///
    /// - Returns: how many of them have not begun: a failed one that was run again meanwhile may have.
    func noteCancelled(_ cancelled: [QueueName: [SQLiteStore.Counted]]) -> Int {
        guard let durable else { return 0 }
        var count = 0
        for (queue, jobs) in cancelled {
            let backlog = durable.backlogs[queue]
            for job in jobs {
                if let live = live[job.id] {
                    if withdraw(live) { count += 1 }
                    continue
                }
                durable.unpark(job.id, job.state, byteCount: job.byteCount, from: backlog)
                tellCancelled(job.id)
                count += 1
            }
        }
        return count
    }
}
