// A store in memory: the twin of the stores that outlive a daemon. It runs each firing as one
// transaction, on the thread that fires, and sends the answers; a copy of its book is the result of
// a crash.

package import Jobs
package import Kernel
internal import Synchronization

/// The store of a book.
///
/// - Thread: any thread.
package final class TwinStore: JobStore {
    private struct State {
        var book: TwinBook
        var commands: TwinCommands
        var pending: [StoreCommand] = []
        var send: (@Sendable ([StoreAnswer]) -> Void)?
        /// Whether commands collect and none is done.
        var isHeld = false
        /// The faults of the next transactions; nil for one that succeeds.
        var faults: [StoreFault?] = []
    }

    package let name = "twin"
    private let state: Mutex<State>
    private let wall: WallTime

    /// Opens a book.
    ///
    /// - Parameters:
    ///   - selectors: the selectors that have a handler.
    ///   - forgetsBeginnings: whether it forgets when attempts have begun that are over.
    package static func open(
        _ book: TwinBook, serving selectors: Set<String>, wall: WallTime,
        forgetsBeginnings: Bool = false
    ) -> (TwinStore, StoreRecovery) {
        var (book, recovery) = (book, StoreRecovery())
        let now = wall.unixMilliseconds()
        book.dropEnded(at: now)
        for (id, mark) in book.marks.sorted(by: { $0.key < $1.key }) {
            if let result = mark.result {
                book.end(id, Attempt(number: mark.attempt), .done(result), at: now)
            } else if let job = book.job(id), job.attempt < mark.attempt {
                book.start(
                    id,
                    Attempt(
                        number: mark.attempt, workerName: job.workerName,
                        startedAt: job.startedAt))
            }
        }
        book.marks = [:]
        for id in book.askedToEnd.sorted() {
            if book.isLive(id) { recovery.endedCount += 1 }
            book.end(id, nil, .cancelled, at: now)
        }
        book.keepDue(at: now)
        book.shortenPauses(at: now)
        let held = book.takeHeld(at: now)
        if forgetsBeginnings { book.forgetBeginnings() }
        let live = book.live.map(\.job)
        recovery.nextNumber = max(
            book.reservedBelow, (book.jobs.keys.max()?.number ?? 0) + 1)
        recovery.reservedBelow = recovery.nextNumber + StoreRecovery.reservedCount
        book.reservedBelow = recovery.reservedBelow
        recovery.held = held
        recovery.blockers = live.filter(\.isBlocker)
            .sorted { TwinBook.place($0) < TwinBook.place($1) }
        recovery.queues = Set(live.map(\.queue))
        recovery.stock = RecoveryCount(last: live.last?.id.number ?? 0)
        recovery.part = count(
            live, besides: Set(recovery.blockers.map(\.id) + held.map(\.job.id)), selectors)
        recovery.schedules = book.schedules.values.sorted {
            $0.definition.name < $1.definition.name
        }
        recovery.pausedThreads = book.paused
        recovery.nextExpiry = live.compactMap(\.expiresAt).min()
        return (TwinStore(book, serving: selectors, wall: wall), recovery)
    }

    private static func count(
        _ live: [Job], besides blockers: Set<JobID>, _ selectors: Set<String>
    ) -> RecoveryCount.Part {
        var part = RecoveryCount.Part(isLast: true)
        part.through = live.last?.id.number ?? 0
        for job in live {
            let amount = JobAmount.one(job.payload.count)
            if !selectors.contains(job.selector) {
                part.unserved[job.queue, default: [:]][job.selector, default: [:]][
                    job.state, default: JobAmount()] += amount
            } else if !blockers.contains(job.id) {
                part.amounts[job.queue, default: [:]][job.state, default: JobAmount()] += amount
            }
        }
        return part
    }

    private init(_ book: TwinBook, serving selectors: Set<String>, wall: WallTime) {
        state = Mutex(State(book: book, commands: TwinCommands(serving: selectors)))
        self.wall = wall
    }

    /// The book as a crash would leave it.
    package var book: TwinBook { state.withLock { $0.book } }

    /// Fails one of the next transactions, behind those that were chosen before.
    package func fail(with fault: StoreFault?) { state.withLock { $0.faults.append(fault) } }

    package func add(_ command: consuming StoreCommand) {
        let command = command
        state.withLock { $0.pending.append(command) }
    }

    package func record(_ command: consuming StoreCommand) {
        add(command)
        fire()
    }

    /// Lets commands collect until `goOn`.
    package func hold() { state.withLock { $0.isHeld = true } }

    /// Does the collected commands.
    package func goOn() {
        state.withLock { $0.isHeld = false }
        fire()
    }

    package func fire() {
        let now = wall.unixMilliseconds()
        // Within the lock: answers go out in the order of their commands.
        state.withLock { state in
            guard !state.isHeld else { return }
            let commands = state.pending
            // A transaction with events only fails with the next request.
            let isAsked = commands.contains { !$0.isRecord }
            let fault = state.faults.isEmpty || !isAsked ? nil : state.faults.removeFirst()
            state.pending = fault == nil ? [] : commands.filter(\.isRecord)
            let before = (state.book, state.commands.brought)
            state.book.dropEnded(at: now)
            let answers = commands.flatMap { command -> [StoreAnswer] in
                if case .answer(let send) = command { state.send = send }
                return state.commands.answer(command, fault, &state.book, at: now)
            }
            if fault != nil { (state.book, state.commands.brought) = before }
            if !answers.isEmpty { state.send?(answers) }
            // A browsing command sees all of the transaction, and is answered behind it.
            for command in commands {
                let answers = state.commands.browse(command, state.book, at: now)
                if !answers.isEmpty { state.send?(answers) }
            }
        }
    }

    package func noteStart(_ id: UInt64, _ attempt: Attempt) {
        state.withLock { $0.book.mark(JobID(id), attempt.number, nil) }
        record(.begun(JobID(id), attempt))
    }

    package func noteDone(_ id: UInt64, attempt: Int, result: [UInt8]) -> Bool {
        // The largest result that the attempt log takes.
        guard result.count <= 96 else { return false }
        state.withLock { $0.book.mark(JobID(id), attempt, result) }
        return true
    }

    package func noteHolder(_ id: UInt64, attempt: Int, _ holder: JobHolder?) {
        state.withLock { $0.book.holders[JobID(id)] = holder.map { (attempt, $0) } }
        record(.hold(JobID(id), attempt: attempt, holder))
    }

    package func backup(
        _ name: String, in directory: String?, replaces: Bool
    ) throws(BackupError) -> any StoreBackup {
        throw BackupError(.invalid, "the twin makes no backups")
    }

    package func close(nextNumber: UInt64) {
        state.withLock { $0.isHeld = false }
        add(.confirm(ticket: 0))
        add(.reserve(below: nextNumber))
        fire()
        state.withLock { state in
            state.book.marks = [:]
            state.send = nil
        }
    }
}
