// The journal on its own thread: what has come in is one transaction, then its answers go out.
//
// A failed transaction refuses what clients asked for in it. What has happened already (a job began,
// or ended) is kept and tried again with every later transaction, so nothing has to be told when the
// disk has room again. It knows no client and no lane.

internal import Jobs
internal import Kernel
internal import RunLoops

/// Writes jobs to the store.
///
/// Confined to its loop's thread.
final class JournalWriter {
    /// How long a beginning or an end may wait for others to share its transaction.
    ///
    /// A transaction of these alone is not synced: it outlives a crash of the process, and nobody was
    /// promised more.
    private static let patience = Duration.milliseconds(1)
    /// How long an attempt lasts, at least, until its beginning is recorded; twice as long at most.
    private static let beginningPatience = Duration.milliseconds(20)
    /// How long after a failure what has to be recorded is tried again.
    private static let retryDelay = Duration.milliseconds(250)

    private var store: SQLiteStore?
    private let stockTaking: StockTaking
    private var stockTimer: ThreadRunLoop.Timer?
    private let isFireOwed: Journal.FireFlag
    private let loop: ThreadRunLoop
    private let wall: WallTime
    private let log: Log
    private var send: (@Sendable ([JournalAnswer]) -> Void)?
    private var pending = PendingCommands()
    private var timer: ThreadRunLoop.Timer?
    /// What has begun and may end before it has to be written.
    private var beginnings = Beginnings()
    private var beginningTimer: ThreadRunLoop.Timer?
    private var health: JournalHealth
    /// Whether the latest transaction is with the kernel only.
    private var hasUnsynced = false
    private var broughtThrough = BroughtThrough()
    /// Whether what is pending has waited, and goes with what comes from the buffer now.
    private var hasWaited = false
    /// Fires the buffer if something is in it; returns whether there was.
    var lookAgain: (() -> Bool)?

    init(
        _ store: SQLiteStore, _ stockTaking: StockTaking, isFireOwed: Journal.FireFlag,
        loop: ThreadRunLoop, wall: WallTime = .system, log: Log
    ) {
        self.store = store
        self.stockTaking = stockTaking
        self.isFireOwed = isFireOwed
        self.loop = loop
        self.wall = wall
        self.log = log
        health = JournalHealth(log)
    }

    /// Handles commands: at once, or in a while if all of them can wait.
    func take(_ commands: [JournalCommand]) {
        let isUrgent = add(commands)
        if hasWaited || isUrgent { commit() }
        if !beginnings.isEmpty, beginningTimer == nil { watchBeginnings() }
        guard timer == nil else { return }
        if pending.isEmpty, beginnings.isEmpty { _ = payFire() } else { wait(Self.patience) }
    }

    /// Adds commands to what is pending.
    ///
    /// - Returns: whether one of them can't wait.
    private func add(_ commands: [JournalCommand]) -> Bool {
        var isUrgent = false
        var addedCount = 0
        // Out of this object as long: looking whether somebody else uses it costs more than its use.
        var beginnings = Beginnings()
        swap(&beginnings, &self.beginnings)
        defer { swap(&beginnings, &self.beginnings) }
        let span = commands.span
        for place in span.indices {
            switch span[place] {
            case .begun(let id, let attempt): beginnings.note(id, attempt)
            // Without an attempt it had not begun.
            case .end(_, nil, _, _): break
            case .end(let id, _, _, _), .putBack(let id, _), .retry(let id, _, _):
                beginnings.forget(id)
            case .confirm:
                pending.add(Array(commands[addedCount..<place]))
                addedCount = place
                pending.add(beginnings.takeAll())
                isUrgent = true
            default: isUrgent = true
            }
        }
        pending.add(addedCount == 0 ? commands : Array(commands[addedCount...]))
        return isUrgent
    }

    /// Has the beginnings recorded that last.
    private func watchBeginnings() {
        let writer = Confined(self, to: loop)
        let due = loop.now.advanced(by: Self.beginningPatience)
        let timer = ThreadRunLoop.Timer(at: due) { _ in writer.value.recordBeginnings() }
        beginningTimer = timer
        loop.add(timer)
    }

    private func recordBeginnings() {
        beginningTimer = nil
        beginnings.nextRound()
        let due = beginnings.takeDue()
        if !due.isEmpty {
            pending.add(due)
            commit()
        }
        if !beginnings.isEmpty { watchBeginnings() }
    }

    /// Writes what is left and lets go of the file.
    ///
    /// - Returns: whether all of it could be written.
    func close(_ left: [JournalCommand], nextNumber: UInt64) -> Bool {
        stockTimer?.invalidate()
        stockTimer = nil
        timer?.invalidate()
        timer = nil
        beginningTimer?.invalidate()
        beginningTimer = nil
        _ = add(left)
        pending.add(beginnings.takeAll())
        pending.add([.reserve(below: nextNumber)])
        commit()
        timer?.invalidate()
        timer = nil
        store = nil
        return !health.isFailing
    }

    /// From here on, whoever adds something patient fires; what lies there already is looked at.
    ///
    /// - Returns: whether something lies there, which comes in this pass or the next.
    private func payFire() -> Bool {
        _ = isFireOwed.exchange(false)
        return lookAgain?() == true
    }

    private func wait(_ delay: Duration) {
        _ = isFireOwed.exchange(true)
        let writer = Confined(self, to: loop)
        let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: delay)) { _ in
            writer.value.waitIsOver()
        }
        self.timer = timer
        loop.add(timer)
    }

    private func waitIsOver() {
        timer = nil
        // What has come meanwhile shares the transaction; for it, too, somebody may have waited.
        if payFire() {
            hasWaited = true
        } else if !pending.isEmpty {
            commit()
        }
    }

    // MARK: - Transactions

    private func commit() {
        guard let store else { return }
        pending.add(beginnings.takeDue())
        var batch = PendingCommands()
        swap(&batch, &pending)
        hasWaited = false
        var answers = JournalAnswers()
        let isSynced = batch.areSynced
        if batch.areWrites || (isSynced && hasUnsynced) {
            do throws(StoreFault) {
                let now = wall.unixMilliseconds()
                try store.transaction(at: now, isSynced: isSynced) { () throws(StoreFault) in
                    try batch.forEach { commands, place throws(StoreFault) in
                        try write(commands, place, to: store, at: now, &answers)
                    }
                    // A commit syncs if it writes: what was written before goes to the disk with it.
                    if isSynced, hasUnsynced { try store.touch() }
                }
                hasUnsynced = !isSynced
                health.noteSuccess(at: wall.unixMilliseconds())
                health.noteMoving(store.checkpointFault)
            } catch {
                answers = JournalAnswers(fault: error)
                pending = PendingCommands(recordsOf: batch)
                health.noteFailure(error, at: wall.unixMilliseconds())
            }
        }
        batch.forEach { commands, place in finish(commands, place, store, &answers) }
        let all = answers.all
        if !all.isEmpty { send?(all) }
        if health.isFailing, timer == nil { wait(Self.retryDelay) }
    }

    private func write(
        _ commands: Span<JournalCommand>, _ place: Int, to store: SQLiteStore, at now: Int64,
        _ answers: inout JournalAnswers
    ) throws(StoreFault) {
        switch commands[place] {
        case .accept(let new): try store.accept(new.job)
        case .run(let runs): for made in runs { try store.accept(made.new.job, of: made.run) }
        case .keepSchedule(let record, _): try store.keep(record)
        case .dropSchedule(let name, _): try store.dropSchedule(name)
        case .acceptOnce(let new, let name):
            if let other = try store.giveName(name, to: new.job.id, at: now) {
                answers.existing[new.job.id] = other
            } else {
                try store.accept(new.job)
            }
        case .settle(let failed, let fate, let part, let ticket):
            answers.settled[ticket] = try store.settle(failed, fate, part, at: now)
        case .fire(let part, let ticket):
            answers.fired[ticket] = try store.fire(part, uncounted: stockTaking.stock.rest)
        case .pause(let threads, let isPaused):
            for thread in threads { try store.keep(thread, isPaused: isPaused) }
        case .askToEnd(let id): try store.askToEnd(id)
        case .start(let id, let attempt): try store.start(id, attempt)
        case .end(let id, let attempt, let outcome, let moment):
            try store.end(id, attempt, outcome, at: moment)
        case .putBack(let id, let attempt): try store.putBack(id, attempt: attempt)
        case .retry(let id, let attempt, let due): try store.retry(id, attempt, dueAt: due)
        case .reserve(let number): try store.reserve(below: number)
        case .cancel(let id, let ticket):
            guard let job = try store.job(id), isParked(job) else { break }
            try store.end(id, nil, .cancelled, at: now)
            answers.cancelled[ticket] = [
                job.queue: [
                    SQLiteStore.Counted(id: id, state: job.state, byteCount: job.payload.count)
                ]
            ]
        case .cancelMatching(let queues, let selector, let payload, let begun, let ticket):
            var cancelled: [QueueName: [SQLiteStore.Counted]] = [:]
            for queue in queues {
                let inTurn = try store.inTurn(
                    queue, after: broughtThrough[queue], selector: selector,
                    payload: payload)
                let held = try store.held(queue, selector: selector, payload: payload)
                let jobs = inTurn + held.filter { !begun.contains($0.id) }
                for job in jobs { try store.end(job.id, nil, .cancelled, at: now) }
                if !jobs.isEmpty { cancelled[queue] = jobs }
            }
            answers.cancelled[ticket] = cancelled
        case .begun, .confirm, .load, .loadDelayed, .find, .findNamed, .list, .answer: break
        }
    }

    /// Whether a job waits in the file and is not in the desk's memory.
    ///
    /// Of what is held the desk knows it, and asks for nothing that is in its memory.
    private func isParked(_ job: Job) -> Bool {
        switch job.state {
        case .waiting: job.id > broughtThrough[job.queue]
        case .delayed, .buffered: true
        case .running, .done, .failed, .cancelled: false
        }
    }

    /// Answers a command, once the transaction is on the disk or has failed.
    private func finish(
        _ commands: Span<JournalCommand>, _ place: Int, _ store: SQLiteStore,
        _ answers: inout JournalAnswers
    ) {
        let fault = answers.fault
        switch commands[place] {
        case .begun, .start, .end, .putBack, .retry, .reserve, .pause, .askToEnd: break
        case .answer(let send):
            self.send = send
            scheduleStockTaking()
        case .acceptOnce(let new, _) where fault == nil && answers.existing[new.job.id] != nil:
            if let other = answers.existing[new.job.id] { answers.append(.existing(other)) }
        case .settle(_, _, _, let ticket):
            let settled = answers.settled[ticket] ?? FailedJobsAnswer()
            if fault == nil { stockTaking.give(settled.jobs) }
            answers.append(
                .settled(ticket: ticket, fault.map { .failure($0) } ?? .success(settled)))
        case .accept(let new): finish(new, &answers)
        case .acceptOnce(let new, _): finish(new, &answers)
        case .run(let runs): for made in runs { finish(made.new, &answers) }
        case .confirm(let ticket), .keepSchedule(_, let ticket), .dropSchedule(_, let ticket):
            answers.append(.confirmed(ticket: ticket, fault))
        case .fire(let part, let ticket):
            let firing = answers.fired[ticket] ?? JournalFiring()
            let result = fault.map { Result.failure($0) } ?? .success(firing)
            answers.append(.fired(ticket: ticket, part, result))
            // With the answer: who fires and then submits has the fired ones in front.
            for queue in part.queues {
                answers.append(loadFired(queue, part, firing, fault, store))
            }
        case .loadDelayed(let queue, let place, let limit, let byteCount):
            answers.append(loadDelayed(queue, after: place, limit, byteCount, fault, store))
        case .cancel(_, let ticket), .cancelMatching(_, _, _, _, let ticket):
            let cancelled = answers.cancelled[ticket] ?? [:]
            let result = fault.map { Result.failure($0) } ?? .success(cancelled)
            answers.append(.cancelled(ticket: ticket, result))
        case .load(let queue, let limit, let byteCount):
            let result = reading { () throws(StoreFault) in
                let batch = try store.inTurn(
                    queue, after: broughtThrough[queue], limit: limit,
                    byteCount: byteCount)
                if let last = batch.jobs.last { broughtThrough.note(last.id, of: queue) }
                stockTaking.give(batch.jobs)
                return batch
            }
            answers.append(.loaded(queue, result))
        case .find(let id, let ticket):
            let result = reading { () throws(StoreFault) in try store.job(id) }
            answers.append(.found(ticket: ticket, result))
        case .findNamed(let name, let ticket):
            let now = wall.unixMilliseconds()
            let result = reading { () throws(StoreFault) in try store.job(named: name, at: now) }
            answers.append(.named(ticket: ticket, result))
        case .list(let listing, let ticket):
            let result = reading { () throws(StoreFault) in try list(listing, store) }
            answers.append(.listed(ticket: ticket, result))
        }
    }

    private func finish(_ new: NewJob, _ answers: inout JournalAnswers) {
        // Without a copy of the job, which is large.
        if !new.isParked, new.job.state == .waiting {
            broughtThrough.note(new.job.id, of: new.job.queue)
        }
        answers.appendAccepted()
    }

    /// The first jobs of a queue that a part of a firing has let go.
    private func loadFired(
        _ queue: QueueName, _ part: FirePart, _ firing: JournalFiring, _ fault: StoreFault?,
        _ store: SQLiteStore
    ) -> JournalAnswer {
        let place = part.place(of: queue)
        guard fault != nil || firing.counted[queue] != nil else {
            // This part did not come to it.
            return .loadedDelayed(queue, after: place, .success(SQLiteStore.Batch(isEnd: false)))
        }
        return loadDelayed(
            queue, after: place, part.loadCountMax, part.loadByteCountMax, fault, store)
    }

    /// The delayed jobs of a queue behind a place.
    ///
    /// Not as long as something that happened could not be written: a job that has ended, or that is
    /// to be tried again later, would be read as it was before.
    private func loadDelayed(
        _ queue: QueueName, after place: DueKey, _ limit: Int, _ byteCount: Int,
        _ fault: StoreFault?, _ store: SQLiteStore
    ) -> JournalAnswer {
        if let fault, !pending.isEmpty {
            return .loadedDelayed(queue, after: place, .failure(fault))
        }
        let result = reading { () throws(StoreFault) in
            let batch = try store.delayed(queue, after: place, limit: limit, byteCount: byteCount)
            stockTaking.give(batch.jobs)
            return batch
        }
        return .loadedDelayed(queue, after: place, result)
    }

    private func reading<Value>(
        _ body: () throws(StoreFault) -> Value
    ) -> Result<Value, StoreFault> {
        do throws(StoreFault) {
            return .success(try body())
        } catch {
            log.error("the journal can't read: \(error)")
            return .failure(error)
        }
    }

    private func list(_ listing: JobListing, _ store: SQLiteStore) throws(StoreFault) -> [Job] {
        let (state, limit) = (listing.state, listing.limit)
        var jobs: [Job] = []
        if state?.isEnded != false {
            jobs += try store.newestEnded(thread: listing.thread, state: state, limit: limit)
        }
        for queue in listing.queues {
            if state == nil || state == .waiting {
                jobs += try store.newestInTurn(
                    queue, after: broughtThrough[queue], limit: limit)
            }
            for held in [JobState.delayed, .buffered] where state == nil || state == held {
                jobs += try store.newestHeld(queue, state: held, limit: limit)
            }
        }
        jobs.sort { $1.id < $0.id }
        return Array(jobs.prefix(listing.limit))
    }

    // MARK: - Taking stock

    /// Counts a little more of what was there, soon, and looks a little further into what had ended.
    private func scheduleStockTaking() {
        guard stockTimer == nil, store != nil else { return }
        let writer = Confined(self, to: loop)
        let soon = loop.now.advanced(by: .milliseconds(1))
        let timer = ThreadRunLoop.Timer(at: soon) { _ in writer.value.takeStock() }
        stockTimer = timer
        loop.add(timer)
    }

    private func takeStock() {
        stockTimer = nil
        guard let store else { return }
        do throws(StoreFault) {
            if !stockTaking.stock.isComplete {
                send?([.counted(try stockTaking.next(store))])
            } else if try !store.readEnded(atMost: stockTaking.stepCount) {
                return
            }
            scheduleStockTaking()
        } catch {
            log.error("the journal can't count what it holds: \(error)")
        }
    }
}

extension Job {
    /// The queue in which it waits.
    var queue: QueueName { QueueName(thread: thread, priority: priority) }
}
