// The thread that makes jobs durable, as other threads see it: commands go in from any thread,
// answers come back as messages. Commands that arrive before the thread handles them share one
// transaction.
//
// Values of `isFireOwed`: true after the buffer was fired, or while a timer of the journal will
// look into it. Patient commands are added first and fire only if they find false:
// JournalThread.E1 no lost fire
//    worker: add, then exchange(true) │ journal: exchange(false), then a look into the buffer
//    the second exchange sees everything that the other thread did before the first. Without E1 a
//    command could stay in the buffer and never be fired.

package import Jobs
package import Kernel
package import RunLoops
internal import Synchronization
package import WorkerThreads

/// Whether a fire is owed, shared by the journal's thread and the others.
package final class FireFlag: Sendable {
    private let isOwed = Atomic<Bool>(false)

    init() {}

    /// - Returns: the value before.
    func exchange(_ value: Bool) -> Bool {
        isOwed.exchange(value, ordering: .acquiringAndReleasing)  // JournalThread.E1
    }
}

/// Writes the jobs of a store on a thread of its own.
///
/// - Thread: any thread.
package final class JournalThread: Sendable {
    /// Opened tables, with the jobs of an earlier run and the attempt log.
    package struct Opened {
        let tables: any JournalTables
        let recoveryCounter: RecoveryCounter
        let recovery: StoreRecovery
        let attempts: AttemptLog

        package init(
            _ tables: any JournalTables, _ recoveryCounter: RecoveryCounter,
            _ recovery: StoreRecovery, _ attempts: AttemptLog
        ) {
            self.tables = tables
            self.recoveryCounter = recoveryCounter
            self.recovery = recovery
            self.attempts = attempts
        }
    }

    package let thread: WorkerThread
    package let writer: Confined<JournalWriter>
    private let buffer: CommandBuffer<StoreCommand>
    private let isFireOwed: FireFlag
    private let attempts: AttemptLog
    private let backlog: AttemptBacklog
    private let wall: WallTime

    /// Whether an attempt may begin: the store is not too far behind the attempt log.
    ///
    /// Wait-free.
    package var mayBegin: Bool { backlog.hasRoom }

    /// The time that the thread spins for the next commands before it sleeps, while they come that
    /// fast.
    ///
    /// A client or a batch is answered, and sends its next commands, within this time.
    private static let spinLimit = Duration.microseconds(200)

    /// Opens tables on a thread of their own.
    ///
    /// - Parameter open: opens the tables; called on the new thread.
    /// - Returns: the thread, and the jobs of an earlier run.
    /// - Throws: the error of `open`, or of a failed thread start.
    /// - Blocks: for the disk or the database server.
    package static func open(
        clocks: Clocks, log: StoreLog, _ open: @escaping @Sendable () throws -> Opened
    ) throws -> (JournalThread, StoreRecovery) {
        let thread = try WorkerThread(
            name: "journal",
            poller: SystemPoller(clock: clocks.loop, spin: IdleSpin(limit: spinLimit)))
        do {
            return try start(on: thread, clocks.wall, log, open)
        } catch {
            thread.stop()
            thread.join()
            throw error
        }
    }

    private static func start(
        on thread: WorkerThread, _ wall: WallTime, _ log: StoreLog,
        _ open: @escaping @Sendable () throws -> Opened
    ) throws -> (JournalThread, StoreRecovery) {
        let (flag, backlog) = (FireFlag(), AttemptBacklog())
        let (writer, recovery, attempts) = try thread.submitAndWait {
            let loop = ThreadRunLoop.current
            let opened = try open()
            let writer = JournalWriter(
                opened.tables, opened.recoveryCounter, isFireOwed: flag, backlog: backlog,
                loop: loop, wall: wall, log: log)
            return (Confined(writer, to: loop), opened.recovery, opened.attempts)
        }
        let buffer = CommandBuffer<StoreCommand> { writer.value.take($0) }
        try thread.submitAndWait { [weak buffer] in
            writer.value.scheduleBeat()
            writer.value.lookAgain = {
                guard let buffer, !buffer.isEmpty else { return false }
                buffer.fire()
                return true
            }
        }
        buffer.add(to: thread.runLoop)
        return (JournalThread(thread, buffer, writer, flag, attempts, backlog, wall), recovery)
    }

    private init(
        _ thread: WorkerThread, _ buffer: CommandBuffer<StoreCommand>,
        _ writer: Confined<JournalWriter>, _ flag: FireFlag, _ attempts: AttemptLog,
        _ backlog: AttemptBacklog, _ wall: WallTime
    ) {
        self.thread = thread
        self.buffer = buffer
        self.writer = writer
        isFireOwed = flag
        self.attempts = attempts
        self.backlog = backlog
        self.wall = wall
    }

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
        backlog.note()
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
        backlog.note()
        record(.hold(JobID(id), attempt: attempt, holder))
    }

    /// Writes the rest, closes the tables and ends the thread.
    ///
    /// - Parameter nextNumber: the number of the next job.
    /// - Blocks: for the disk or the database server.
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
