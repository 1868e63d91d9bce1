// The store in a PostgreSQL database, as the daemon sees it: a journal on a thread of its own, with
// its tables in the schema `workerd`.

package import Jobs
package import Journals
package import Kernel
package import WorkerThreads

/// Keeps jobs in a PostgreSQL database, written on a thread of its own.
///
/// The beginnings of attempts are noted in a file beside the daemon, the attempt log, so that a
/// worker's thread does not wait for the server.
///
/// - Thread: any thread.
package final class PostgreSQLJournal: JournalStore {
    private let address: ServerAddress
    package let journal: JournalThread
    private let closing: Latch
    private let trust: Trust

    /// Takes the seat of a database on a thread of its own.
    ///
    /// - Parameters:
    ///   - attemptsPath: the file in which attempts are noted, on this machine.
    ///   - payloadByteCountMax: the largest payload that SQL may submit.
    ///   - selectors: the selectors that have a handler.
    ///   - standby: waits for another daemon that has the seat; nil throws `inUse`.
    ///   - whenLost: called once if another daemon has taken the seat: no job may begin any more.
    ///     On the journal's thread.
    /// - Returns: the journal, and the state of the tables.
    /// - Throws: `StoreFault`, or the error of a failed thread start.
    /// - Blocks: for the server.
    package static func open(
        _ address: ServerAddress, attemptsPath: String, limits: StoreLimits,
        payloadByteCountMax: Int = 512 << 20, serving selectors: Set<String>,
        window: WindowLimits = WindowLimits(),
        clocks: Clocks = .system, log: StoreLog, standby: SeatStandby? = nil,
        whenLost: @escaping @Sendable (StoreFault) -> Void
    ) throws -> (PostgreSQLJournal, StoreRecovery) {
        let (closing, trust) = (Latch(), Trust())
        let wall = clocks.wall
        @Sendable func open() throws -> JournalThread.Opened {
            let seat = Seat(address, closing: closing, log: log, whenLost: whenLost)
            try seat.take(standby)
            let store = try PostgreSQLStore(seat, trust, limits: limits, window: window)
            let recovering = try Recovering(store, attemptsPath: attemptsPath, log)
            let (counter, recovery) = try recovering.learn(
                serving: selectors, window, at: wall.unixMilliseconds())
            // Only now are its entries in the store; and no job has begun.
            let attempts = try recovering.makeAttempts()
            try store.limitSubmits(payloadByteCountMax)
            try seat.noteOpened()
            return JournalThread.Opened(store, counter, recovery, attempts)
        }
        let (journal, recovery) = try JournalThread.open(clocks: clocks, log: log) {
            while true {
                do {
                    return try open()
                } catch let fault as StoreFault where fault.kind == .away {
                    // The server went away while the tables were read: as at a restart.
                    guard let standby, standby.goesOn(), !closing.isOpen else { throw fault }
                    log.warning("\(fault)")
                }
            }
        }
        return (PostgreSQLJournal(address, journal, closing, trust), recovery)
    }

    private init(
        _ address: ServerAddress, _ journal: JournalThread, _ closing: Latch, _ trust: Trust
    ) {
        self.trust = trust
        self.address = address
        self.journal = journal
        self.closing = closing
    }

    package var thread: WorkerThread { journal.thread }
    package var name: String { address.shown }
    package var isTrusted: Bool { trust.isHeld }

    package func backup(
        _ name: String, in directory: String?, replaces: Bool
    ) throws(BackupError) -> any StoreBackup {
        throw BackupError(
            .invalid, "jobs are in \(self.name): back up that database, for example with pg_dump")
    }

    package func close(nextNumber: UInt64) {
        closing.open()
        journal.close(nextNumber: nextNumber)
    }
}
