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

    private(set) var store: SQLiteStore?
    let recoveryCounter: RecoveryCounter
    private var stockTimer: ThreadRunLoop.Timer?
    private let isFireOwed: SQLiteJournal.FireFlag
    private let loop: ThreadRunLoop
    let wall: WallTime
    let log: StoreLog
    var send: (@Sendable ([StoreAnswer]) -> Void)?
    var pending = PendingCommands()
    private var timer: ThreadRunLoop.Timer?
    /// What has begun and may end before it has to be written.
    private var beginnings = Beginnings()
    private var beginningTimer: ThreadRunLoop.Timer?
    private var health: JournalHealth
    /// Whether the latest transaction is with the kernel only.
    private var hasUnsynced = false
    var broughtThrough = BroughtThrough()
    /// What the loads of this transaction have changed of it, to be undone if it fails.
    var throughBeforeLoads: [(queue: QueueName, id: JobID)] = []
    /// Whether what is pending has waited, and goes with what comes from the buffer now.
    private var hasWaited = false
    /// Fires the buffer if something is in it; returns whether there was.
    var lookAgain: (() -> Bool)?

    init(
        _ store: SQLiteStore, _ recoveryCounter: RecoveryCounter,
        isFireOwed: SQLiteJournal.FireFlag,
        loop: ThreadRunLoop, wall: WallTime = .system, log: StoreLog
    ) {
        self.store = store
        self.recoveryCounter = recoveryCounter
        self.isFireOwed = isFireOwed
        self.loop = loop
        self.wall = wall
        self.log = log
        health = JournalHealth(log)
    }

    /// Handles commands: at once, or in a while if all of them can wait.
    func take(_ commands: [StoreCommand]) {
        let isUrgent = add(commands)
        if hasWaited || isUrgent { commit() }
        if !beginnings.isEmpty, beginningTimer == nil { watchBeginnings() }
        guard timer == nil else { return }
        if pending.isEmpty, beginnings.isEmpty { _ = payFire() } else { wait(Self.patience) }
    }

    /// Adds commands to what is pending.
    ///
    /// - Returns: whether one of them can't wait.
    private func add(_ commands: [StoreCommand]) -> Bool {
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
    func close(_ left: [StoreCommand], nextNumber: UInt64) -> Bool {
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
            throughBeforeLoads.removeAll(keepingCapacity: true)
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
                for (queue, id) in throughBeforeLoads.reversed() {
                    broughtThrough.note(id, of: queue)
                }
                pending = PendingCommands(recordsOf: batch)
                health.noteFailure(error, at: wall.unixMilliseconds())
            }
        }
        batch.forEach { commands, place in finish(commands, place, store, &answers) }
        let all = answers.all
        if !all.isEmpty { send?(all) }
        if health.isFailing, timer == nil { wait(Self.retryDelay) }
    }

    // MARK: - Taking stock

    /// Counts a little more of what was there, soon, and looks a little further into what had ended.
    func scheduleStockTaking() {
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
            if !recoveryCounter.stock.isComplete {
                send?([.counted(try recoveryCounter.next(store))])
            } else if try !store.readEnded(atMost: recoveryCounter.stepCount) {
                return
            }
            scheduleStockTaking()
        } catch {
            log.error("the journal can't count what it holds: \(error)")
        }
    }
}
