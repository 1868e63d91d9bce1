// Which store keeps the jobs of a configuration. This is the one place of the daemon that knows a
// store by its own name; all others know the seam, `JobStore`.

internal import Jobs
internal import Kernel
internal import PostgreSQLJobs
internal import SQLiteJobs
internal import WorkerThreads

/// A store that was opened.
struct OpenedStore {
    let store: any JobStore
    /// Its contents at the opening.
    let recovery: StoreRecovery
    /// The thread on which it works, for tests that drive a daemon step by step; nil for none.
    let thread: WorkerThread?

    /// Opens the store of a configuration.
    ///
    /// - Parameters:
    ///   - card: shown to other daemons with the same store.
    ///   - selectors: the selectors with a handler or program here.
    ///   - window: how much of each queue is in memory at a time.
    ///   - shared: set by the clock of a database.
    ///   - sharesThreads: whether other daemons with the same database have threads too.
    ///   - isWanted: whether a store that another daemon has is still waited for; asked several
    ///     times a second.
    ///   - whenWaiting: called once when another daemon has the store, and it is waited for.
    ///   - whenSeen: told its owner, several times a second while it is waited for.
    ///   - whenLost: called once when another daemon has taken the store, so that no job may begin
    ///     any more. On a thread of the store.
    /// - Returns: nil if nothing is kept.
    /// - Throws: `StoreFault`, or why there is no thread.
    /// - Blocks: for the disk or the database server.
    static func open(
        _ place: Configuration.StorePlace, _ limits: Configuration.Limits,
        card: NodeCard = NodeCard(name: "workerd"),
        serving selectors: Set<String>, window: WindowLimits = WindowLimits(),
        clocks: Clocks = .system, shared: SharedClock = SharedClock(), log: Log,
        sharesThreads: Bool = false,
        isWanted: @escaping @Sendable () -> Bool = { true },
        whenWaiting: @escaping @Sendable () -> Void = {},
        whenSeen: @escaping @Sendable (SeatHolder) -> Void = { _ in },
        whenLost: @escaping @Sendable (StoreFault) -> Void
    ) throws -> OpenedStore? {
        let storeLog = StoreLog { level, text in
            switch level {
            case .notice: log.notice(text)
            case .warning: log.warning(text)
            case .error: log.error(text)
            }
        }
        switch place {
        case .memory: return nil
        case .file(let path):
            let (journal, recovery) = try SQLiteJournal.open(
                path, limits: StoreLimits(limits), serving: selectors, window: window,
                clocks: clocks, log: storeLog)
            return OpenedStore(store: journal, recovery: recovery, thread: journal.thread)
        case .database(let text, let attempts):
            guard let address = ServerAddress(text) else {
                throw StoreFault(.unfit, path: "store", detail: "it is no address of a database")
            }
            let (journal, recovery) = try PostgreSQLJournal.open(
                address, card: card, attemptsPath: attempts, limits: StoreLimits(limits),
                payloadByteCountMax: limits.payloadBytes, serving: selectors, window: window,
                clocks: clocks, shared: shared, log: storeLog,
                standby: SeatStandby(begin: whenWaiting, goesOn: isWanted, look: whenSeen),
                isShared: sharesThreads,
                whenLost: whenLost)
            return OpenedStore(store: journal, recovery: recovery, thread: journal.thread)
        }
    }

    /// Whether the text of a configuration begins as the address of a database does.
    static func isMeantAsDatabase(_ text: String) -> Bool { ServerAddress.isMeant(by: text) }

    /// Whether a text can be the address of a database.
    static func canBeDatabase(_ text: String) -> Bool { ServerAddress(text) != nil }
}
