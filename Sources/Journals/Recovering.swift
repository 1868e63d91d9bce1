// The recovery when a store is opened: it learns the attempts that were recorded before a crash, if
// they are its own.
//
// The store and its attempt log have a mark in common, drawn anew at each opening. One transaction
// brings the log's entries and the new mark into the store; then the log is made anew with that
// mark; then jobs begin. A crash in between leaves a log whose entries were learnt, which its mark
// tells as well. Any other mark is that of another store, or of an older or newer copy of this one.

package import Jobs
internal import Kernel

/// A store that is being opened, and its attempt log.
///
/// Confined to the journal's thread.
package struct Recovering {
    private let store: any JournalTables
    private let attemptsPath: String
    private let log: StoreLog
    private let marks: AttemptMarks
    private let found: AttemptLog.Found
    /// The mark that the store and the new attempt log will have in common.
    private let mark: UInt64

    /// Inspects the files; changes none.
    ///
    /// - Throws: `StoreFault`, `SystemError`.
    /// - Blocks: for the disk.
    package init(_ store: any JournalTables, attemptsPath: String, _ log: StoreLog) throws {
        self.store = store
        self.attemptsPath = attemptsPath
        self.log = log
        marks = try store.attemptMarks()
        found = try AttemptLog.look(at: attemptsPath)
        mark = try SystemRandom.number()
    }

    /// The mark of the file, if it is the store's own.
    private var ownMark: UInt64? {
        guard case .ring(let mark, _) = found, [marks.present, marks.learnt].contains(mark) else {
            return nil
        }
        return mark
    }

    /// Brings the store up to date after a crash, and reads its state.
    ///
    /// It learns the attempts of the log, ends jobs that were asked to end, and keeps due jobs due.
    /// All of it is one transaction: a damaged store stays as it is.
    ///
    /// - Blocks: for the disk.
    package func learn(
        serving selectors: Set<String>, _ window: WindowLimits, at now: Int64
    ) throws(StoreFault) -> (RecoveryCounter, StoreRecovery) {
        var recovery = StoreRecovery()
        recovery.nextNumber = store.nextNumber
        recovery.reservedBelow = store.nextNumber + StoreRecovery.reservedCount
        var recoveryCounter: RecoveryCounter?
        try store.transaction(at: now, isSynced: true) { () throws(StoreFault) in
            try learnAttempts(at: now)
            recovery.endedCount = try store.endAsked(at: now)
            try store.keepDue(at: now)
            try store.shortenPauses(at: now)
            recovery.held = try store.takeHeld(at: now)
            try store.forgetBeginnings()
            try store.reserve(below: recovery.reservedBelow)
            try store.setAttemptMarks(AttemptMarks(present: mark, learnt: ownMark))
            try store.flush()
            let counting = try RecoveryCounter(
                store, serving: selectors, stepCount: window.countedAtOnce)
            recoveryCounter = counting
            try read(into: &recovery, counting)
        }
        guard let recoveryCounter else { preconditionFailure("a transaction calls its body") }
        return (recoveryCounter, recovery)
    }

    private func read(
        into recovery: inout StoreRecovery, _ recoveryCounter: RecoveryCounter
    ) throws(StoreFault) {
        recovery.stock = recoveryCounter.stock
        recovery.blockers = try store.blockers()
        recoveryCounter.give(recovery.blockers)
        recoveryCounter.give(recovery.held.map(\.job))
        recovery.queues = try store.queues()
        recovery.part = try recoveryCounter.next(store)
        recovery.schedules = try store.schedules()
        recovery.nextExpiry = try store.nextExpiry()
        recovery.pausedThreads = try store.pausedThreads()
    }

    private func learnAttempts(at now: Int64) throws(StoreFault) {
        guard case .ring(marks.present, let entries) = found else {
            if ownMark == nil { try store.countUnknownBeginnings(at: now) }
            return
        }
        try Self.learn(entries, in: store, at: now)
    }

    /// Records the attempts of a log in the store; part of a transaction.
    package static func learn(
        _ entries: [UInt64: AttemptLog.Entry], in store: any JournalTables, at now: Int64
    ) throws(StoreFault) {
        // In the order of numbers, which is about that of their ends: the oldest are dropped first.
        for (id, entry) in entries.sorted(by: { $0.key < $1.key }) {
            // Without an attempt: a worker was to hold it, and the crash came before.
            guard entry.attempt > 0 else { continue }
            if let result = entry.result {
                try store.end(JobID(id), Attempt(number: entry.attempt), .done(result), at: now)
            } else {
                try store.begun(JobID(id), attempts: entry.attempt)
                try store.keep(entry.holder, of: JobID(id), entry.attempt)
            }
        }
    }

    /// Makes the attempt log anew; one that is not the store's own is set aside.
    ///
    /// - Throws: `StoreFault`, `SystemError`.
    /// - Blocks: for the disk.
    package func makeAttempts() throws -> AttemptLog {
        if case .ring = found, ownMark == nil {
            let aside = try AttemptLog.setAside(attemptsPath)
            log.warning(
                "\(attemptsPath) is of another store, or of an older or newer copy of this one: it "
                    + "is now \(aside), and what it tells is not believed. So jobs that ended just "
                    + "before a crash run again. If the store was put back from a copy, that is "
                    + "right")
        } else {
            try File.removeIfThere(attemptsPath)
        }
        do throws(SystemError) {
            return try AttemptLog(attemptsPath, mark: mark)
        } catch {
            guard error.isLackOfRoom else { throw error }
            throw StoreFault(.full, path: attemptsPath, detail: error.reason)
        }
    }
}
