// The thread that makes jobs durable, as other threads see it: commands go in from any thread,
// answers come back as messages. Commands that arrive before the thread handles them share one
// transaction.
//
// Values of `isFireOwed`: true after the buffer was fired, or while a timer of the journal will
// look into it. Patient commands are added first and fire only if they find false:
// SQLiteJournal.E1 no lost fire
//    worker: add, then exchange(true) │ journal: exchange(false), then a look into the buffer
//    the second exchange sees everything that the other thread did before the first. Without E1 a
//    command could stay in the buffer and never be fired.

package import Jobs
package import Kernel
internal import RunLoops
internal import Synchronization
package import WorkerThreads

/// Keeps jobs in an SQLite file, written on a thread of its own.
///
/// - Thread: any thread.
package final class SQLiteJournal: JobStore {
    /// The path of the file.
    let path: String
    package let thread: WorkerThread
    private let buffer: CommandBuffer<StoreCommand>
    let writer: Confined<JournalWriter>
    private let isFireOwed: FireFlag
    private let attempts: AttemptLog
    private let wall: WallTime

    /// Whether a fire is owed, shared with the writer.
    final class FireFlag: Sendable {
        private let isOwed = Atomic<Bool>(false)

        /// - Returns: the value before.
        func exchange(_ value: Bool) -> Bool {
            isOwed.exchange(value, ordering: .acquiringAndReleasing)  // SQLiteJournal.E1
        }
    }

    /// The time that the thread spins for the next commands before it sleeps, while they come that
    /// fast.
    ///
    /// A client or a batch is answered, and sends its next commands, within this time.
    private static let spinLimit = Duration.microseconds(200)

    /// Opens a file of jobs on a thread of its own.
    ///
    /// - Parameter selectors: the selectors that have a handler.
    /// - Returns: the journal, and the state of the file.
    /// - Throws: `StoreFault`, or the error of a failed thread start.
    /// - Blocks: for the disk.
    package static func open(
        _ path: String, limits: StoreLimits, serving selectors: Set<String>,
        window: WindowLimits = WindowLimits(), clocks: Clocks = .system, log: StoreLog
    ) throws -> (SQLiteJournal, StoreRecovery) {
        if try File.kind(of: path) == nil, try File.kind(of: path + "-wal") == nil {
            // SQLite would make it readable for everyone; only the owner may read jobs.
            do throws(SystemError) {
                try File.write([], to: path, mode: File.ownerOnly)
            } catch {
                throw StoreFault(.notWritable, path: path, detail: error.reason)
            }
        }
        let thread = try WorkerThread(
            name: "journal",
            poller: SystemPoller(clock: clocks.loop, spin: IdleSpin(limit: spinLimit)))
        do {
            return try open(
                path, limits: limits, selectors, window, clocks.wall, log: log, on: thread)
        } catch {
            thread.stop()
            thread.join()
            throw error
        }
    }

    private static func open(
        _ path: String, limits: StoreLimits, _ selectors: Set<String>, _ window: WindowLimits,
        _ wall: WallTime, log: StoreLog, on thread: WorkerThread
    ) throws -> (SQLiteJournal, StoreRecovery) {
        let flag = FireFlag()
        let (writer, recovery, attempts) = try thread.submitAndWait {
            let loop = ThreadRunLoop.current
            let store = try SQLiteStore(
                path: path, limits: limits, readsEnded: false, movesLog: false)
            let recovering = try Recovering(store, attemptsPath: path + "-attempts", log)
            recovering.keepDamagedLog(of: path)
            let (recoveryCounter, recovery) = try recovering.learn(
                serving: selectors, window, at: wall.unixMilliseconds())
            // Only now are its entries in the store; and no job has begun.
            let attempts = try recovering.makeAttempts()
            try store.beginMovingLog()
            if store.logDamage != nil { try store.beginNewLog() }
            let writer = JournalWriter(
                store, recoveryCounter, isFireOwed: flag, loop: loop, wall: wall, log: log)
            return (Confined(writer, to: loop), recovery, attempts)
        }
        let buffer = CommandBuffer<StoreCommand> { writer.value.take($0) }
        let journal = SQLiteJournal(
            path: path, thread: thread, buffer, writer, flag, attempts, wall)
        try thread.submitAndWait { [weak buffer] in
            writer.value.lookAgain = {
                guard let buffer, !buffer.isEmpty else { return false }
                buffer.fire()
                return true
            }
        }
        buffer.add(to: thread.runLoop)
        return (journal, recovery)
    }

    private init(
        path: String, thread: WorkerThread, _ buffer: CommandBuffer<StoreCommand>,
        _ writer: Confined<JournalWriter>, _ flag: FireFlag, _ attempts: AttemptLog,
        _ wall: WallTime
    ) {
        self.path = path
        self.thread = thread
        self.buffer = buffer
        self.writer = writer
        isFireOwed = flag
        self.attempts = attempts
        self.wall = wall
    }

    package var name: String { path }

    /// Adds a command that is handled with the next firing.
    package func add(_ command: consuming StoreCommand) { buffer.add(command) }

    /// Lets the journal handle the commands in the buffer.
    package func fire() { buffer.fire() }

    /// Records an event within a few milliseconds, together with later ones.
    package func record(_ command: consuming StoreCommand) {
        buffer.add(command)
        if !isFireOwed.exchange(true) { buffer.fire() }
    }

    /// Records the beginning of an attempt; on return, a crash of the process does not undo it.
    ///
    /// - Thread: the worker's, before the handler is called.
    package func noteStart(_ id: UInt64, _ attempt: Attempt) {
        attempts.noteStart(id, attempt: attempt.number)
        record(.begun(JobID(id), attempt))
    }

    /// Records a small result, so that a crash does not make the job run again.
    ///
    /// The driver tells the journal of the end.
    ///
    /// - Thread: the worker's, when the handler has returned.
    package func noteDone(_ id: UInt64, attempt: Int, result: [UInt8]) -> Bool {
        attempts.noteDone(id, attempt: attempt, result: result)
    }

    /// Records which worker in another process holds an attempt, or that none does any more; on
    /// return, a crash of the process does not undo it.
    package func noteHolder(_ id: UInt64, attempt: Int, _ holder: JobHolder?) {
        attempts.noteHolder(id, attempt: attempt, holder, at: wall.unixMilliseconds())
        record(.hold(JobID(id), attempt: attempt, holder))
    }

    /// Writes the rest, closes the file and ends the thread.
    ///
    /// - Parameter nextNumber: the number of the next job.
    /// - Blocks: for the disk.
    package func close(nextNumber: UInt64) {
        let (writer, buffer) = (writer, buffer)
        // On the journal's thread, which may be taking commands out of the buffer.
        let isWritten = try? thread.submitAndWait {
            writer.value.close(buffer.invalidate(), nextNumber: nextNumber)
        }
        if isWritten == true { attempts.clear() }
        thread.stop()
        thread.join()
    }
}
