// Cancelling all jobs of a thread and selector that have not begun, wherever they are: those in
// memory at once, the parked ones by the store, part by part. From the moment of the command none
// of them begins, though others may be served for seconds until the last part is done:
//
// - A job in turn that is loaded meanwhile is ended by the scheduler; the store leaves alone what
//   it has loaded.
// - A delayed job that is loaded stays parked, because the store does not know which of these are
//   in memory; the store ends it when it gets there.
//
// So each job is ended by one of the two, and counted once, by its number.

internal import Structures

/// The turns of bulk actions: cancels of many jobs, retries of failed jobs, and claims of a thread.
///
/// Several of one kind go on together. A job that comes into memory while a bulk cancel goes
/// through the store could begin, and end, before the store cancels it.
struct BulkTurns {
    enum Action {
        case cancel(thread: String, selector: String, payload: [UInt8]?, ReplyToken)
        case runAgain(FailedJobs, ReplyToken)
        case claim(String, ReplyToken)

        fileprivate var kind: Kind {
            switch self {
            case .cancel: .cancel
            case .runAgain: .runAgain
            case .claim: .claim
            }
        }
    }

    fileprivate enum Kind { case cancel, runAgain, claim }

    private var waiting = FIFO<Action>()
    /// How many go on, all of one kind.
    private var count = 0
    private var kind = Kind.cancel

    /// Begins an action, or has it wait for its turn.
    ///
    /// - Returns: whether it begins now.
    mutating func enter(_ action: Action) -> Bool {
        guard waiting.isEmpty, mayBegin(action) else {
            waiting.append(action)
            return false
        }
        begin(action)
        return true
    }

    /// Whether none waits for its turn.
    var isEmpty: Bool { waiting.isEmpty }

    /// An action is over.
    mutating func leave() { count -= 1 }

    /// The next waiting action whose turn has come; it begins.
    mutating func next() -> Action? {
        guard let first = waiting.first, mayBegin(first) else { return nil }
        _ = waiting.popFirst()
        begin(first)
        return first
    }

    private func mayBegin(_ action: Action) -> Bool { count == 0 || action.kind == kind }

    private mutating func begin(_ action: Action) {
        count += 1
        kind = action.kind
    }
}

/// A command under way that cancels all jobs of a thread and selector.
final class BulkCancel {
    /// Nil if the thread is not configured any more: then none of its jobs is loaded.
    let group: ThreadGroup?
    /// The group's name or a member's.
    let thread: String
    fileprivate(set) var filter: CancelFilter
    /// How many were cancelled.
    fileprivate(set) var count = 0
    /// Jobs among them that the store has not confirmed yet: a repeated submit under a unique name
    /// is none.
    fileprivate var unconfirmed: Set<JobID> = []
    /// The place in front of the first delayed job that was loaded and stayed parked.
    fileprivate var leftParked: [QueueName: DueKey] = [:]
    fileprivate let reply: ReplyToken

    fileprivate init(
        _ group: ThreadGroup?, _ thread: String, _ filter: CancelFilter, _ reply: ReplyToken
    ) {
        self.group = group
        self.thread = thread
        self.filter = filter
        self.reply = reply
    }

    fileprivate func means(_ job: Job, of group: ThreadGroup) -> Bool {
        group === self.group && group.addresses(job.slot, by: thread) && filter.means(job)
    }

    /// Whether an active job is of its thread, selector and payload.
    fileprivate func matches(_ job: JobEntry) -> Bool {
        job.group === group && job.group.addresses(job.slot, by: thread)
            && job.details.selector == filter.selector
            && (filter.payload == nil || job.payload == filter.payload)
    }
}

extension JobScheduler {
    /// Cancels all jobs of a thread and selector that have not begun, parked ones too; answers how
    /// many, once that is kept.
    ///
    /// - Parameter payload: only those with this payload; nil for all.
    package mutating func cancel(
        thread: String, selector: String, payload: [UInt8]?, _ reply: ReplyToken
    ) {
        guard isKnown(thread) else {
            return effects.answer(reply, .failed(.unknownThread(thread)))
        }
        let turn = BulkTurns.Action.cancel(
            thread: thread, selector: selector, payload: payload, reply)
        guard cancels.bulkTurns.enter(turn) else { return }
        beginToCancel(thread: thread, selector: selector, payload: payload, reply)
    }

    mutating func beginToCancel(
        thread: String, selector: String, payload: [UInt8]?, _ reply: ReplyToken
    ) {
        let group = served.knownGroup(of: thread)
        let filter = CancelFilter(
            selector: selector, payload: payload, before: JobID(book.nextNumber),
            isUnserved: served.knownSelector(selector) == nil)
        let bulk = BulkCancel(group, thread, filter, reply)
        if let group {
            let ids = cancelInMemory(bulk, of: group)
            bulk.count = ids.count
            bulk.unconfirmed = Set(ids.filter { store.commits.mayContain($0) })
            // The matching jobs that are still in memory could not be withdrawn.
            bulk.filter.begun = Set(book.activeJobs.filter(bulk.matches).map(\.id))
        }
        cancels.bulk.append(bulk)
        cancelPart(
            BulkCancelPart(
                filter: bulk.filter, places: BulkCancelPart.places(of: queues(of: thread, group)),
                countMax: queues.window.settledAtOnce, byteCountMax: queues.window.byteCountMax),
            bulk)
    }

    /// Ends those in memory that have not begun.
    private mutating func cancelInMemory(_ bulk: BulkCancel, of group: ThreadGroup) -> [JobID] {
        // The end of one may make others leave memory: the store ends those.
        let cancelled = book.activeJobs.filter(bulk.matches).filter {
            book.active($0.id) === $0 && withdraw($0)
        }
        return cancelled.map(\.id)
    }

    /// Has the store end a part of them.
    private mutating func cancelPart(_ part: BulkCancelPart, _ bulk: BulkCancel) {
        ask(.cancelMany(bulk)) { .cancelPart(part, ticket: $0) }
    }

    /// The store has ended a part of them, or could not.
    mutating func cancelledPart(
        _ bulk: BulkCancel, _ result: Result<BulkCancelAnswer, StoreFault>
    ) {
        switch result {
        case .success(let cancelled):
            bulk.count += noteCancelled(cancelled.jobs)
            if let rest = cancelled.rest, !stage.isRefusing { return cancelPart(rest, bulk) }
            end(bulk)
            guard cancelled.rest == nil else {
                return effects.answer(bulk.reply, .failed(.interrupted(jobCount: bulk.count)))
            }
            confirm(.count(bulk.count), bulk.reply)
        case .failure(let fault):
            end(bulk)
            effects.answer(bulk.reply, .failed(.storeFailed(fault)))
        }
    }

    /// The command is over: jobs that stayed parked for it and were not ended are loaded once more.
    private mutating func end(_ bulk: BulkCancel) {
        cancels.bulk.removeAll { $0 === bulk }
        for (name, key) in bulk.leftParked.sorted(by: { $0.key < $1.key }) {
            guard let queue = queues[name] else { continue }
            queue.delayed.fired(behind: key)
            bringMore(of: queue)
            offerLine(of: queue)
        }
        endBulkTurn()
    }

    // MARK: - Turns

    /// A bulk action is over: others may begin.
    mutating func endBulkTurn() {
        cancels.bulkTurns.leave()
        while let next = cancels.bulkTurns.next() {
            switch next {
            case .runAgain(let failed, let reply): beginToRunAgain(failed, reply)
            case .claim(let thread, let reply): beginToClaim(thread, reply)
            case .cancel(let thread, let selector, let payload, let reply):
                beginToCancel(thread: thread, selector: selector, payload: payload, reply)
            }
        }
    }

    // MARK: - Jobs that are loaded meanwhile

    /// A job that was cancelled before it was kept turns out to be none.
    ///
    /// The store says so before it answers the command, which came later.
    func uncountCancelled(_ id: JobID) {
        for bulk in cancels.bulk where bulk.unconfirmed.remove(id) != nil { bulk.count -= 1 }
    }

    /// Ends a job in turn that was just loaded, if a command means it.
    mutating func cancelLoaded(_ job: Job, _ queue: JobQueue) -> Bool {
        guard let bulk = bulkCancel(of: job, queue) else { return false }
        effects.record(.end(job.id, nil, .cancelled, at: now.unixMilliseconds))
        endParked(job.id, thread: job.thread, selector: job.selector, .cancelled)
        bulk.count += 1
        return true
    }

    /// Leaves a delayed job parked that was just loaded, if a command means it.
    func leaveParked(_ job: Job, _ queue: JobQueue) -> Bool {
        guard let bulk = bulkCancel(of: job, queue) else { return false }
        let front = DueKey(dueAt: job.dueAt ?? job.acceptedAt, id: JobID(job.id.number - 1))
        bulk.leftParked[queue.name] = min(bulk.leftParked[queue.name] ?? .last, front)
        return true
    }

    /// The place behind which delayed jobs of a queue may be parked, for want of room or for a
    /// command that may yet fail.
    func front(of queue: JobQueue) -> DueKey {
        cancels.bulk.reduce(queue.delayed.horizon) { min($0, $1.leftParked[queue.name] ?? .last) }
    }

    private func bulkCancel(of job: Job, _ queue: JobQueue) -> BulkCancel? {
        cancels.bulk.first { $0.means(job, of: queue.group) }
    }

    /// Notes parked jobs that the store has ended.
    ///
    /// - Returns: how many of them have not begun: a failed one that was run again meanwhile may
    ///   have.
    mutating func noteCancelled(
        _ cancelled: [QueueName: [CountedJob]], as outcome: Outcome = .cancelled
    ) -> Int {
        var count = 0
        for (name, jobs) in cancelled.sorted(by: { $0.key < $1.key }) {
            for job in jobs {
                if let active = book.active(job.id) {
                    if withdraw(active, as: outcome) { count += 1 }
                    continue
                }
                if cancels.hasEnded(job.id) { continue }
                // Another command may ask for the same job, and find none to end.
                cancels.forget(job.id)
                cancels.forgetLeft(job.id)
                uncount(job, of: name)
                endParked(
                    job.id, thread: PoolSlot.shown(name.thread), selector: job.selector, outcome)
                count += 1
            }
        }
        return count
    }

    private mutating func uncount(_ job: CountedJob, of name: QueueName) {
        // The store had a pool's job to expire whose thread is claimed next.
        guard !served.releases.hasForgotten(name.thread) else { return }
        guard let queue = queues[name], !queue.isOrphaned else {
            return queues.removeOrphan(job, from: name)
        }
        if !served.countsAsParked(job.selector) {
            queues.removeUnserved(job, from: name)
        } else {
            queues.unpark(job.id, job.state, byteCount: job.byteCount, from: queue)
        }
    }
}
