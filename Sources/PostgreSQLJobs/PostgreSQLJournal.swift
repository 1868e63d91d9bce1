// The store in a PostgreSQL database, as the daemon sees it: a journal on a thread of its own, with
// its tables in the schema `workerd`.

package import Jobs
package import Journals
package import Kernel
internal import RunLoops
internal import Synchronization
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
    private let uncommitted: UncommittedAttempts
    private let store: Confined<PostgreSQLStore>
    package let sharedSeat: Int64?

    /// Takes the seat of a database on a thread of its own.
    ///
    /// - Parameters:
    ///   - card: shown to other daemons with the same database.
    ///   - attemptsPath: the file in which attempts are noted, on this machine.
    ///   - payloadByteCountMax: the largest payload that SQL may submit.
    ///   - selectors: the selectors that have a handler.
    ///   - shared: set by the server's clock; `clocks` go by it.
    ///   - standby: waits for another daemon that has the seat; nil throws `inUse`.
    ///   - isShared: whether other daemons have threads of the same database.
    ///   - whenLost: called once if another daemon has taken the seat: no job may begin any more.
    ///     On the journal's thread.
    /// - Returns: the journal, and the state of the tables.
    /// - Throws: `StoreFault`, or the error of a failed thread start.
    /// - Blocks: for the server.
    package static func open(
        _ address: ServerAddress, card: NodeCard = NodeCard(name: "workerd"),
        attemptsPath: String, limits: StoreLimits,
        payloadByteCountMax: Int = 512 << 20, serving selectors: Set<String>,
        window: WindowLimits = WindowLimits(),
        clocks: Clocks = .system, shared: SharedClock = SharedClock(), log: StoreLog,
        standby: SeatStandby? = nil, isShared: Bool = false,
        whenLost: @escaping @Sendable (StoreFault) -> Void
    ) throws -> (PostgreSQLJournal, StoreRecovery) {
        let (closing, trust, uncommitted) = (Latch(), Trust(), UncommittedAttempts())
        let wall = clocks.wall
        let made = Mutex<(store: Confined<PostgreSQLStore>, seat: Int64)?>(nil)
        @Sendable func open() throws -> JournalThread.Opened {
            let seat = Seat(
                address, NodeEntry(card), known: KnownServer(path: "\(attemptsPath)-server"),
                closing: closing, isShared: isShared, log: log, whenLost: whenLost)
            try seat.take(standby)
            let store = try PostgreSQLStore(
                seat, trust, uncommitted, shared, limits: limits, window: window)
            let now = wall.unixMilliseconds()
            let (counter, recovery, attempts) =
                try isShared
                ? store.beginShare(
                    attemptsPath: attemptsPath, serving: selectors,
                    threads: card.threads, window, at: now)
                : Self.recover(
                    store, attemptsPath: attemptsPath, serving: selectors, window, at: now, log)
            try store.limitSubmits(payloadByteCountMax)
            try seat.noteOpened()
            let confined = Confined(store, to: ThreadRunLoop.current)
            made.withLock { $0 = (confined, seat.number) }
            return JournalThread.Opened(store, counter, recovery, attempts)
        }
        let (journal, recovery) = try JournalThread.open(clocks: clocks, log: log) {
            while true {
                do {
                    return try open()
                } catch let fault as StoreFault
                    where [.away, .undecided].contains(fault.kind) || fault.kind.allowsAnotherTry
                {
                    // The session was lost while the tables were read: as at a server's restart.
                    guard let standby, standby.goesOn(), !closing.isOpen else { throw fault }
                    log.warning("\(fault)")
                }
            }
        }
        guard let (store, number) = made.withLock({ $0 }) else {
            preconditionFailure("an open journal has a store")
        }
        return (
            PostgreSQLJournal(
                address, journal, closing, trust, uncommitted, store,
                sharedSeat: isShared ? number : nil), recovery
        )
    }

    /// Takes up the jobs of a daemon that has all threads.
    private static func recover(
        _ store: PostgreSQLStore, attemptsPath: String, serving selectors: Set<String>,
        _ window: WindowLimits, at now: Int64, _ log: StoreLog
    ) throws -> (RecoveryCounter, StoreRecovery, AttemptLog) {
        try store.gatherSlots(at: now)
        let recovering = try Recovering(store, attemptsPath: attemptsPath, log)
        let (counter, recovery) = try recovering.learn(serving: selectors, window, at: now)
        // Only now are its entries in the store; and no job has begun.
        return (counter, recovery, try recovering.makeAttempts())
    }

    private init(
        _ address: ServerAddress, _ journal: JournalThread, _ closing: Latch, _ trust: Trust,
        _ uncommitted: UncommittedAttempts, _ store: Confined<PostgreSQLStore>, sharedSeat: Int64?
    ) {
        self.sharedSeat = sharedSeat
        self.trust = trust
        self.uncommitted = uncommitted
        self.store = store
        self.address = address
        self.journal = journal
        self.closing = closing
    }

    package var thread: WorkerThread { journal.thread }
    package var name: String { address.shown }
    package var kind: StoreKind { .database }
    package var isTrusted: Bool { trust.isHeld }

    package func mayBegin(_ id: UInt64, attempt: Int) -> Bool {
        trust.permitsBeginning && journal.mayBegin && (attempt == 1 || !uncommitted.includes(id))
    }

    package func record(_ command: consuming StoreCommand) {
        uncommitted.note(command)
        journal.record(command)
    }

    /// Notes a small result in the attempt log of this machine.
    ///
    /// - Returns: false, as a daemon of another machine may go on with the jobs. It knows only the
    ///   ends that the database has.
    @discardableResult
    package func noteDone(_ id: UInt64, attempt: Int, result: [UInt8]) -> Bool {
        _ = journal.noteDone(id, attempt: attempt, result: result)
        return false
    }

    package func backup(
        _ name: String, in directory: String?, replaces: Bool
    ) throws(BackupError) -> any StoreBackup {
        throw BackupError(
            .invalid, "jobs are in \(self.name): back up that database, for example with pg_dump")
    }

    package func askForNodes(
        _ answer: @escaping @Sendable (Result<StoreNodes?, StoreFault>) -> Void
    ) {
        ask(answer) { store throws(StoreFault) in try store.nodes() }
    }

    package func show(_ card: NodeCard) {
        ask({ _ in }) { store throws(StoreFault) in try store.show(card) }
    }

    package func askForThread(
        of id: JobID, _ answer: @escaping @Sendable (Result<String?, StoreFault>) -> Void
    ) {
        ask(answer) { store throws(StoreFault) in try store.thread(of: id) }
    }

    package func askForJobCounts(
        of threads: [String],
        _ answer: @escaping @Sendable (Result<[String: Int], StoreFault>) -> Void
    ) {
        ask(answer) { store throws(StoreFault) in try store.jobCounts(of: threads) }
    }

    package func askForSchedules(
        named names: [String],
        _ answer: @escaping @Sendable (Result<[String: StoredSchedule], StoreFault>) -> Void
    ) {
        ask(answer) { store throws(StoreFault) in try store.schedules(named: names) }
    }

    /// Reads something on the journal's thread, between its transactions.
    private func ask<Value>(
        _ answer: @escaping @Sendable (Result<Value, StoreFault>) -> Void,
        _ read: @escaping @Sendable (PostgreSQLStore) throws(StoreFault) -> Value
    ) {
        let (store, name) = (store, name)
        do throws(SubmitError) {
            try thread.post {
                answer(Result { () throws(StoreFault) in try read(store.value) })
            }
        } catch {
            answer(.failure(StoreFault(.failed, path: name, detail: "\(error)")))
        }
    }

    package func close(nextNumber: UInt64) {
        closing.open()
        journal.close(nextNumber: nextNumber)
    }
}
