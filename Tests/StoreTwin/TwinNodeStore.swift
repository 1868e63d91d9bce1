// The store of a daemon that shares a database with others: a stream of transactions, one at a
// time. A test says when each is sent, done by the server, and heard of; and when the
// connection is lost and there again.

package import Jobs

/// A daemon's side of a shared database.
///
/// - Thread: the simulation's.
// SAFETY: a simulation of one thread makes it, calls it and drops it.
package final class TwinNodeStore: JobStore, @unchecked Sendable {
    /// A transaction that was sent.
    struct Sent {
        let number: Int64
        let session: Int
        let commands: [StoreCommand]
        /// Jobs that were refused and accepted after all.
        let drops: [NewJob]
        let at: Int64
        /// Whether the server has got it.
        var hasArrived: Bool
        /// Nil if the server has not done it.
        var outcome: Outcome?
        /// Whether its requests were refused meanwhile.
        var isRefused = false
    }

    enum Outcome {
        case committed(Committed)
        case refused(StoreFault)
    }

    /// The state that a committed transaction leaves.
    struct Committed {
        var answers: [StoreAnswer] = []
        var commands: TwinCommands
        var share: TwinShare
    }

    package let name = "twin"
    package let seat: Int64
    package var sharedSeat: Int64? { seat }
    package let database: TwinDatabase
    var node: StoreNode
    /// Unix milliseconds at the beginning of the database's clock.
    let epochMilliseconds: Int64
    let windowCountMax: Int
    let epoch: Int64 = 1
    package internal(set) var session: Int?
    /// Whether another daemon has ended this one's epoch: it may not go on.
    package internal(set) var isLost = false
    /// The attempts in the file of this machine.
    package private(set) var marks: [JobID: (attempt: Int, result: [UInt8]?)] = [:]
    package let mark: UInt64
    var commands: TwinCommands
    var share = TwinShare()
    var pending: [StoreCommand] = []
    var beginnings: [(id: JobID, attempt: Attempt, at: Int64)] = []
    var uncommitted: [UInt64: Int] = [:]
    var sent: Sent?
    var batch: Int64 = 0
    var refused: [NewJob] = []
    private var trustEnd: Int64 = -60_000
    package private(set) var committedAt: Int64 = -60_000
    var send: (@Sendable ([StoreAnswer]) -> Void)?

    /// How long a confirmed transaction is trusted, from its sending on.
    package static let trustMilliseconds: Int64 = 3_000
    /// How long clients wait for a server that does not answer.
    static let patience: Int64 = 6_000
    /// After how long the beginning of an attempt is recorded.
    private static let beginningPatience: Int64 = 20

    /// Begins a run of a daemon: no thread is its own yet, but those of its earlier run.
    ///
    /// - Parameters:
    ///   - name: the daemon's name.
    ///   - log: the file of attempts of its machine.
    package init(
        _ name: String, run: Int64, threads: [String], on database: TwinDatabase,
        log: (mark: UInt64, [JobID: (attempt: Int, result: [UInt8]?)])?,
        serving selectors: Set<String>, windowCountMax: Int, epochMilliseconds: Int64
    ) {
        self.database = database
        self.epochMilliseconds = epochMilliseconds
        self.windowCountMax = windowCountMax
        seat = database.newSeat()
        node = StoreNode(name, id: run, seat: seat, threads: threads)
        mark = UInt64(run) << 8 | 1
        commands = TwinCommands(serving: selectors)
        session = database.connect(node, to: seat)
        database.seats[seat]?.epoch = epoch
        if let log, database.fault != .forgetsLog {
            _ = database.takeEarlier(log.mark, log.1, by: seat, unixMilliseconds: wall)
        } else if let log {
            _ = database.takeEarlier(log.mark, [:], by: seat, unixMilliseconds: wall)
        }
        database.seats[seat]?.mark = mark
        share.firstNumber = database.takeNumbers(present: 0)
    }

    /// The state of the tables: none of their jobs.
    package var recovery: StoreRecovery {
        var recovery = StoreRecovery()
        recovery.nextNumber = share.firstNumber
        recovery.reservedBelow = share.firstNumber + StoreRecovery.reservedCount
        recovery.part = RecoveryCount.Part(isLast: true)
        return recovery
    }

    var wall: Int64 { epochMilliseconds + database.now }

    // MARK: - What the daemon knows

    package var isTrusted: Bool { database.now < trustEnd }

    package func mayBegin(_ id: UInt64, attempt: Int) -> Bool {
        guard isTrusted || database.fault == .beginsWithoutTrust else { return false }
        return attempt == 1 || uncommitted[id] == nil || database.fault == .beginsUnrecorded
    }

    /// Whether everything that it was told is in the database.
    package var isQuiet: Bool { pending.isEmpty && sent == nil && refused.isEmpty }
    package var isWaiting: Bool { sent != nil }

    // MARK: - Commands

    package func add(_ command: consuming StoreCommand) {
        switch command {
        case .answer(let send): self.send = send
        case .begun(let id, let attempt): beginnings.append((id, attempt, database.now))
        case .end(_, nil, _, _): pending.append(command)
        case .end(let id, _, _, _), .putBack(let id, _, _, _), .retry(let id, _, _):
            beginnings.removeAll { $0.id == id }
            pending.append(command)
        case .confirm:
            takeBeginnings(until: .max)
            pending.append(command)
        default: pending.append(command)
        }
    }

    /// Adds the beginnings of attempts that last.
    func takeBeginnings(until moment: Int64) {
        for begun in beginnings where begun.at <= moment {
            pending.append(.start(begun.id, begun.attempt))
        }
        beginnings.removeAll { $0.at <= moment }
    }

    func takeLastingBeginnings() { takeBeginnings(until: database.now - Self.beginningPatience) }

    package func record(_ command: consuming StoreCommand) {
        switch command {
        case .retry(let id, _, _), .putBack(let id, _, _, _):
            uncommitted[id.number, default: 0] += 1
        default: break
        }
        add(command)
    }

    package func fire() {}

    package func noteStart(_ id: UInt64, _ attempt: Attempt) {
        let known = marks[JobID(id)]
        marks[JobID(id)] = (max(attempt.number, known?.attempt ?? 0), known?.result)
        add(.begun(JobID(id), attempt))
    }

    package func noteDone(_ id: UInt64, attempt: Int, result: [UInt8]) -> Bool {
        marks[JobID(id)] = (attempt, result)
        return false
    }

    package func noteHolder(_ id: UInt64, attempt: Int, _ holder: JobHolder?) {}

    package func backup(
        _ name: String, in directory: String?, replaces: Bool
    ) throws(BackupError) -> any StoreBackup {
        throw BackupError(.invalid, "the twin makes no backups")
    }

    package func close(nextNumber: UInt64) {}

    /// The transaction of this moment is confirmed: its answer says so.
    func noteTrust(from moment: Int64) {
        trustEnd = moment + Self.trustMilliseconds
        committedAt = moment
    }
}

/// The threads of a daemon among those of others.
struct TwinShare {
    /// Threads and pools.
    var names: Set<String> = []
    /// Jobs that workers may hold, until their threads are claimed.
    var held: [HeldJob] = []
    var firstNumber: UInt64 = 0

    func includes(_ thread: String) -> Bool { names.contains(ThreadGroup.name(of: thread)) }
}

extension StoreNode {
    /// A daemon that shares threads.
    ///
    /// - Parameter id: by default the number of its seat.
    package init(_ name: String, id: Int64? = nil, seat: Int64, threads: [String]) {
        self.init(
            id: id ?? seat, name: name, commands: nil, requests: nil, startedAt: 0, serves: true)
        self.seat = seat
        self.threads = threads
    }
}
