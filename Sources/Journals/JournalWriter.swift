// The journal on its own thread: the commands that have arrived are one transaction, then its
// answers are sent.
//
// A failed transaction refuses the requests of clients in it. Events that have happened already (a
// job began, or ended) are kept and retried with every later transaction, so no message is needed
// when the disk has room again. It knows no client and no lane.

package import Jobs
internal import Kernel
internal import RunLoops

/// Writes jobs to the store.
///
/// Confined to its loop's thread.
package final class JournalWriter {
    /// The time that a beginning or an end may wait for others to share its transaction.
    ///
    /// A transaction of these alone is not synced: it outlives a crash of the process, and no
    /// client was promised more.
    private static let patience = Duration.milliseconds(1)
    /// The least duration of an attempt whose beginning is recorded; twice as long at most.
    private static let beginningPatience = Duration.milliseconds(20)
    /// The pause after a failure before the events are retried.
    private static let retryDelay = Duration.milliseconds(250)
    /// The pause before a store that can't count its jobs is asked again.
    private static let stockDelay = Duration.seconds(60)
    /// How often a store is given a batch that was interrupted or undone, before the batch is
    /// refused.
    private static let tryCountMax = 3

    package private(set) var store: (any JournalTables)?
    let recoveryCounter: RecoveryCounter
    private var stockTimer: ThreadRunLoop.Timer?
    private var beatTimer: ThreadRunLoop.Timer?
    private let isFireOwed: FireFlag
    private let backlog: AttemptBacklog
    /// How many entries of the attempt log the commands have told of.
    private var heardCount = 0
    let loop: ThreadRunLoop
    let wall: WallTime
    let log: StoreLog
    var send: (@Sendable ([StoreAnswer]) -> Void)?
    var pending = PendingCommands()
    private var timer: ThreadRunLoop.Timer?
    /// Attempts that have begun and may end before they must be written.
    private var beginnings = Beginnings()
    /// The workers in other processes that hold attempts, until these are over.
    var holders: [JobID: JobHolder] = [:]
    private var beginningTimer: ThreadRunLoop.Timer?
    var health: JournalHealth
    /// Whether the latest transaction is with the kernel only.
    var hasUnsynced = false
    var broughtThrough = BroughtThrough()
    /// The boundaries that the loads of this transaction have changed, to be undone if it fails.
    var throughBeforeLoads: [(queue: QueueName, id: JobID)] = []
    /// Whether the pending commands have waited: they are written with the next commands of the
    /// buffer.
    private var hasWaited = false
    /// The transaction of which is not known whether it was committed.
    var undecided: Undecided?
    var decisionTimer: ThreadRunLoop.Timer?
    /// Jobs that were accepted after all when they had been refused: to be dropped.
    var refused: [NewJob] = []
    var submitted = SubmittedWatch()
    /// Whether a transaction is being written.
    var isWriting = false
    /// Fires the buffer if it is not empty; returns whether it was not.
    package var lookAgain: (() -> Bool)?

    init(
        _ store: any JournalTables, _ recoveryCounter: RecoveryCounter,
        isFireOwed: FireFlag, backlog: AttemptBacklog,
        loop: ThreadRunLoop, wall: WallTime = .system, log: StoreLog
    ) {
        self.store = store
        self.recoveryCounter = recoveryCounter
        self.isFireOwed = isFireOwed
        self.backlog = backlog
        self.loop = loop
        self.wall = wall
        self.log = log
        health = JournalHealth(log)
    }

    /// Handles commands: at once, or in a while if all of them can wait.
    package func take(_ commands: [StoreCommand]) {
        let isUrgent = add(commands)
        if undecided != nil {
            refuseLate()
        } else if hasWaited || isUrgent {
            commit()
        }
        if !beginnings.isEmpty, beginningTimer == nil { watchBeginnings() }
        guard timer == nil else { return }
        if pending.isEmpty, beginnings.isEmpty { _ = payFire() } else { wait(Self.patience) }
    }

    /// Adds commands to the pending ones.
    ///
    /// - Returns: whether one of them can't wait.
    private func add(_ commands: [StoreCommand]) -> Bool {
        var isUrgent = false
        var addedCount = 0
        // Moved out of this object meanwhile: a check for other users costs more than the change
        // itself.
        var beginnings = Beginnings()
        swap(&beginnings, &self.beginnings)
        defer { swap(&beginnings, &self.beginnings) }
        let span = commands.span
        for place in span.indices {
            switch span[place] {
            case .begun(let id, let attempt):
                heardCount += 1
                beginnings.note(id, attempt)
            case .hold(let id, _, let holder):
                heardCount += 1
                holders[id] = holder
            // Without an attempt it had not begun.
            case .end(_, nil, _, _): break
            case .end(let id, _, _, _), .putBack(let id, _, _, _), .retry(let id, _, _):
                beginnings.forget(id)
                if !holders.isEmpty { holders[id] = nil }
            case .limit(let limits):
                // A transaction drops jobs that have ended before it.
                pending.add(Array(commands[addedCount..<place]))
                addedCount = place
                commit()
                store?.limit(limits)
                isUrgent = true
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

    /// Records the beginnings of attempts that last.
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

    /// Writes the rest and closes the file.
    ///
    /// - Returns: whether all of it could be written.
    package func close(_ left: [StoreCommand], nextNumber: UInt64) -> Bool {
        stockTimer?.invalidate()
        stockTimer = nil
        timer?.invalidate()
        timer = nil
        beginningTimer?.invalidate()
        beginningTimer = nil
        _ = add(left)
        pending.add(beginnings.takeAll())
        pending.add([.reserve(below: nextNumber)])
        store?.doubtPresence()
        endUndecided()
        commit()
        timer?.invalidate()
        timer = nil
        decisionTimer?.invalidate()
        decisionTimer = nil
        beatTimer?.invalidate()
        beatTimer = nil
        submitted.close()
        let isWritten = !health.isFailing && undecided == nil
        store?.end(isWritten: isWritten)
        store = nil
        return isWritten
    }

    /// Gives the next patient command the duty to fire, and fires if the buffer is not empty.
    ///
    /// - Returns: whether the buffer was not empty; its commands come in this pass or the next.
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
        // Commands that have come meanwhile share the transaction; they may have waited, too.
        if payFire() {
            hasWaited = true
        } else if !pending.isEmpty {
            commit()
        }
    }

    // MARK: - Transactions

    func commit() {
        guard let store, undecided == nil else { return }
        pending.add(beginnings.takeDue())
        // All others are in this transaction, or in one before.
        let learntCount = heardCount - beginnings.count
        var batch = PendingCommands()
        swap(&batch, &pending)
        hasWaited = false
        if store.mayBeUndecided, !batch.areOnePart {
            // A part that becomes undecided leaves the ones behind it pending.
            for part in batch.parts {
                if undecided == nil { commit(part, store) } else { pending.add(part) }
            }
        } else {
            commit(batch, store)
        }
        if pending.isEmpty, undecided == nil, !health.isFailing { backlog.learn(learntCount) }
        if health.isFailing, undecided == nil, timer == nil { wait(Self.retryDelay) }
    }

    private func commit(_ batch: PendingCommands, _ store: any JournalTables) {
        // Events of a part that has failed come before those of this one.
        var batch = batch
        if !pending.isEmpty {
            pending.add(batch)
            swap(&batch, &pending)
            pending = PendingCommands()
        }
        var answers = JournalAnswers()
        let isSynced = batch.areSynced
        if batch.areWrites || (isSynced && hasUnsynced) || !refused.isEmpty {
            do throws(StoreFault) {
                try write(batch, isSynced: isSynced, to: store, &answers)
                hasUnsynced = !isSynced
                health.noteSuccess(at: wall.unixMilliseconds())
                health.noteMoving(store.checkpointFault)
                refused = []
                hearOfSubmitted(store)
                if let first = store.takeNewNumbers() { send?([.numbers(from: first)]) }
            } catch {
                guard error.kind != .undecided else {
                    return noteUndecided(batch, answers, because: error)
                }
                answers = JournalAnswers(fault: error)
                pending = PendingCommands(recordsOf: batch)
                health.noteFailure(error, at: wall.unixMilliseconds())
            }
        }
        batch.forEach { commands, place in finish(commands, place, store, &answers) }
        tell(answers, store)
    }

    /// Makes the changes of a batch; anew as a whole if they were interrupted or undone.
    ///
    /// - Throws: why there is none of these changes.
    private func write(
        _ batch: PendingCommands, isSynced: Bool, to store: any JournalTables,
        _ answers: inout JournalAnswers
    ) throws(StoreFault) {
        for tryNumber in 1... {
            answers = JournalAnswers()
            throughBeforeLoads.removeAll(keepingCapacity: true)
            do throws(StoreFault) {
                let now = wall.unixMilliseconds()
                return try store.transaction(at: now, isSynced: isSynced) {
                    () throws(StoreFault) in
                    isWriting = true
                    defer { isWriting = false }
                    if !refused.isEmpty { try store.drop(accepted: refused) }
                    try batch.forEach { commands, place throws(StoreFault) in
                        try write(commands, place, to: store, at: now, &answers)
                    }
                    // A commit syncs if it writes: earlier writes go to the disk with it.
                    if isSynced, hasUnsynced { try store.touch() }
                }
            } catch {
                guard error.kind != .undecided else { throw error }
                undoLoads()
                guard error.kind.allowsAnotherTry, tryNumber < Self.tryCountMax else {
                    throw error
                }
            }
        }
    }

    /// The loads of the transaction were not made.
    func undoLoads() {
        for (queue, id) in throughBeforeLoads.reversed() { broughtThrough.note(id, of: queue) }
        throughBeforeLoads.removeAll(keepingCapacity: true)
    }

    // MARK: - Signs of life

    /// Schedules the next sign of life, if the store wants one.
    func scheduleBeat() {
        guard beatTimer == nil, let period = store?.heartbeat else { return }
        let writer = Confined(self, to: loop)
        let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: period)) { _ in
            writer.value.beat()
        }
        beatTimer = timer
        loop.add(timer)
    }

    private func beat() {
        beatTimer = nil
        guard let store else { return }
        defer { scheduleBeat() }
        // The transaction that is undecided was the latest sign.
        guard undecided == nil else { return }
        let now = wall.unixMilliseconds()
        do throws(StoreFault) {
            try store.beat(at: now)
            if pending.isEmpty { health.noteSuccess(at: now) }
            if !store.areEndsRead { scheduleStockTaking() }
            hearOfSubmitted(store)
        } catch {
            if error.kind == .undecided {
                noteUndecided(PendingCommands(), JournalAnswers(), because: error)
            } else {
                health.noteFailure(error, at: now)
            }
        }
    }

    // MARK: - Taking stock

    /// Schedules the next part of counting the recovered jobs, and of reading the ended ones.
    func scheduleStockTaking(in delay: Duration = .milliseconds(1)) {
        guard stockTimer == nil, store != nil else { return }
        let writer = Confined(self, to: loop)
        let soon = loop.now.advanced(by: delay)
        let timer = ThreadRunLoop.Timer(at: soon) { _ in writer.value.takeStock() }
        stockTimer = timer
        loop.add(timer)
    }

    private func takeStock() {
        stockTimer = nil
        guard let store else { return }
        do throws(StoreFault) {
            if !recoveryCounter.stock.isComplete {
                send?([.counted(try recoveryCounter.next(store))])
            } else if try !store.readEnded(atMost: recoveryCounter.stepCount) {
                // The limits may be lower than those of the last run.
                return take([.limit(store.limits)])
            }
            scheduleStockTaking()
        } catch {
            guard error.kind != .away else { return scheduleStockTaking(in: Self.retryDelay) }
            log.error("the journal can't count its jobs: \(error)")
            scheduleStockTaking(in: Self.stockDelay)
        }
    }
}
