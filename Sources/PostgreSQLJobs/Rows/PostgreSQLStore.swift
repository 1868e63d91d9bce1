// Durable jobs in the tables of a PostgreSQL database. The changes of a transaction are committed
// when it has returned; they and the commit travel together, so it costs one round trip if nothing
// in it has to be read.
//
// One row a job: in `jobs` until it ends, then in `ended`.

internal import Jobs
internal import Journals
internal import Kernel

/// Keeps jobs in a PostgreSQL database, of whose jobs it has the seat.
///
/// - Thread: the journal's.
final class PostgreSQLStore: JournalTables {
    let seat: Seat
    private let trust: Trust
    private let uncommitted: UncommittedAttempts
    private let shared: SharedClock
    /// The attempts that the open transaction records, for which others follow.
    var recordedAttempts: [JobID] = []
    /// How many jobs of each queue a daemon has in memory at most.
    let windowCountMax: Int
    private var committedAt = ContinuousClock.now
    private(set) var nextNumber: UInt64 = 1
    private(set) var limits: StoreLimits
    private(set) var holds: Set<JobID> = []
    private var askedToEnd: Set<JobID> = []
    private var changed = ChangedRows()
    var heads = QueueHeads()
    var expirySearch = ExpirySearch()
    var oldNames = OldNames()
    var kept: KeptEnds
    /// The connection of the open transaction; nil outside of one.
    private var open: ServerConnection?
    /// The jobs whose row with their holder the open transaction removes.
    private var endedHolds: Set<JobID> = []
    /// Whether the open transaction has given names.
    private var hasNewNames = false
    /// Whether the open transaction has sent no change.
    private var isEmpty = true
    /// Whether the server has undone the open transaction for the sake of another session's.
    private(set) var isUndone = false
    var submitted = SubmittedState()
    /// The share that this daemon has of the threads; nil if it has all.
    var share: ThreadShare?
    /// The transaction of which is not known whether it was committed.
    var undecided: SentCommit?

    /// Reads the tables of the seat.
    ///
    /// - Blocks: for the server.
    init(
        _ seat: Seat, _ trust: Trust, _ uncommitted: UncommittedAttempts,
        _ shared: SharedClock, limits: StoreLimits, window: WindowLimits
    ) throws(StoreFault) {
        self.seat = seat
        self.trust = trust
        self.uncommitted = uncommitted
        self.shared = shared
        windowCountMax = window.countMax
        if seat.isShared { share = ThreadShare() }
        seat.whenLeft = { trust.noteConnection(false) }
        seat.whenTakenAgain = {
            trust.extend(from: $0)
            trust.noteConnection(true)
        }
        self.limits = limits
        kept = KeptEnds(limits, earlierPageCount: 0)
        // Before anything is dated.
        let earliest = shared.beforeReading()
        let time = try rows("SELECT \(Self.serverTime)").first?.integer(0)
        if let time { shared.wasRead(time * 1_000, after: earliest) }
        try readKept()
        // Shared threads are taken over one by one, later.
        guard !seat.isShared else { return }
        try readHeads()
        let rows = try rows("SELECT job FROM workerd.holders")
        holds = Set(rows.all.map(JobColumns.id))
        nextNumber = try readNextNumber()
    }

    /// The server's time in microseconds.
    private static let serverTime = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

    private func readNextNumber() throws(StoreFault) -> UInt64 {
        let row = try rows(
            "SELECT \(Self.nextNumber) FROM workerd.settings WHERE name = 'next_id'"
        ).first
        return UInt64(max(1, row?.integer(0) ?? 1))
    }

    /// The expression for a number above those of all jobs, for the row of `next_id` in `settings`.
    ///
    /// There should be no job from that number on: it is not searched for below.
    static let nextNumber = """
        greatest(value, (SELECT max(id) + 1 FROM workerd.jobs WHERE id >= value),
            (SELECT max(id) + 1 FROM workerd.ended WHERE id >= value))
        """

    // MARK: - Transactions

    var checkpointFault: StoreFault? { nil }

    func transaction(
        at now: Int64, isSynced: Bool, _ body: () throws(StoreFault) -> Void
    ) throws(StoreFault) {
        let connection = try present()
        let earliest = shared.beforeReading()
        let number = seat.batch + 1
        let commit = SentCommit(number, on: connection)
        begin()
        seat.work.begin()
        open = connection
        defer { open = nil }
        do throws(StoreFault) {
            try send("BEGIN")
            try drop(kept.begin(at: now), at: now)
            try body()
            commit.isEmpty = changed.isEmpty && isEmpty
            try sendLast(number, at: now) { [shared] in
                shared.wasRead($0 * 1_000, after: earliest)
            }
            commit.sentAt = .now
            try send("COMMIT") { commit.hasAnswer = $0.tag == "COMMIT" }
            commit.isSent = true
            try awaitAnswer(to: commit)
        } catch {
            expirySearch.forget()
            guard !isUndone, commit.isSent, [.away, .undecided].contains(error.kind) else {
                kept.rollBack()
                throw rolledBack(on: connection, error)
            }
            if error.kind == .away { commit.connection = nil }
            undecided = commit
            if try decide() { return }
            throw seat.fault(isUndone ? .undone : .interrupted, error.detail)
        }
        try noteCommitted(commit)
    }

    func noteCommitted(_ commit: SentCommit) throws(StoreFault) {
        guard commit.hasAnswer else {
            kept.rollBack()
            throw seat.fault(.unfit, "the server has not committed a transaction")
        }
        seat.noteCommit()
        trust.extend(from: commit.sentAt)
        committedAt = commit.sentAt
        kept.commit()
        noteChanges(of: commit.number)
    }

    /// The changes of a transaction are in the database.
    private func noteChanges(of number: Int64) {
        seat.work.commit(number)
        holds.subtract(endedHolds)
        uncommitted.committed(recordedAttempts)
        heads.commit()
        oldNames.commit()
        submitted.isContested = false
        if share?.commit() == true { noteOtherThreads() }
    }

    /// A session without transactions is ended by the server.
    var heartbeat: Duration? { .seconds(1) }

    func beat(at now: Int64) throws(StoreFault) {
        if share?.mustReadKept == true { noteOtherThreads() }
        guard ContinuousClock.now - committedAt >= .milliseconds(900) else { return }
        do throws(StoreFault) {
            try transaction(at: now, isSynced: true) {}
        } catch {
            // The session is there again.
            guard error.kind.allowsAnotherTry else { throw error }
            try transaction(at: now, isSynced: true) {}
        }
    }

    private func begin() {
        isEmpty = true
        isUndone = false
        changed.removeAll()
        endedHolds.removeAll()
        recordedAttempts.removeAll()
        hasNewNames = false
        heads.begin()
        oldNames.begin()
        share?.begin()
    }

    /// The transaction was committed, and its connection is lost.
    func noteCommitWithoutAnswer(_ number: Int64) {
        noteChanges(of: number)
        open = nil
    }

    /// Undoes a failed transaction.
    ///
    /// - Returns: why it has failed; `interrupted` if the connection was lost and is there again,
    ///   `undone` if another transaction was in the way.
    func rolledBack(
        on connection: ServerConnection, _ fault: StoreFault
    ) -> StoreFault {
        // Changes that could not be sent go with it: a read comes next, and would send them.
        changed.removeAll()
        share?.begin()
        if fault.kind == .away {
            // A lost connection has taken its transaction with it.
            guard let present = try? seat.connected() else { return fault }
            guard present === connection else { return seat.fault(.interrupted, fault.detail) }
        }
        do throws(ServerError) {
            try connection.send("ROLLBACK")
            try connection.synchronize()
        } catch {
            // A session in an unknown state is not gone on with.
            seat.leave()
            return fault
        }
        return isUndone ? seat.fault(.undone, fault.detail) : fault
    }

    /// - Parameter whenRead: gets the server's time in microseconds.
    private func sendLast(
        _ number: Int64, at now: Int64, _ whenRead: @escaping (Int64) -> Void
    ) throws(StoreFault) {
        try flush()
        if hasNewNames { try forgetOldNames(at: now) }
        try noteHeads(at: now) { sql, parameters, whenDone throws(StoreFault) in
            try send(sql, parameters, whenDone)
        }
        try seat.noteBatch(number, with: Self.serverTime) { sql, parameters throws(StoreFault) in
            try send(sql, parameters) { if let time = $0.first?.integer(1) { whenRead(time) } }
        }
    }

    /// Drops ended jobs that are too old or too many.
    private func drop(_ ids: [JobID], at now: Int64) throws(StoreFault) {
        if !ids.isEmpty {
            var parameters = Parameters()
            parameters.add(.numbers(ids.map(\.number)))
            try send("DELETE FROM workerd.ended WHERE id = ANY ($1::bigint[])", parameters)
        }
        try dropNamed(at: now)
    }

    private func dropNamed(at now: Int64) throws(StoreFault) {
        let named = kept.named
        func isWithin(_ count: Int, _ byteCount: Int) -> Bool {
            NamedResults.isWithin(
                limits.retainedByteCountMax, byteCount: byteCount, count: count)
        }
        guard kept.areAllKnown, named.count > 0,
            named.nextUntil <= now || !isWithin(named.count, named.byteCount)
        else { return }
        var parameters = Parameters()
        parameters.add(NamedResults.dropCountMax)
        parameters.add(scope)
        // A long transaction may keep the entries of millions that were dropped before.
        parameters.add(named.nextUntil)
        let rows = try rows(
            """
            SELECT id, kept_until, coalesce(length(result), 0) FROM workerd.ended
            WHERE kept_until >= $3::bigint AND \(Self.isInScope(2))
            ORDER BY kept_until, id LIMIT $1::bigint
            """, parameters)
        var dropped: [UInt64] = []
        var byteCount = 0
        var nextUntil = named.nextUntil
        for row in rows.all {
            let isWithin = isWithin(named.count - dropped.count, named.byteCount - byteCount)
            nextUntil = row.integer(1)
            guard nextUntil <= now || !isWithin else { break }
            dropped.append(UInt64(clamping: row.integer(0)))
            byteCount += Int(row.integer(2))
        }
        if dropped.count == rows.count, rows.count < NamedResults.dropCountMax { nextUntil = .max }
        kept.dropNamed(count: dropped.count, byteCount: byteCount, nextUntil: nextUntil)
        guard !dropped.isEmpty else { return }
        parameters = Parameters()
        parameters.add(.numbers(dropped))
        try send("DELETE FROM workerd.ended WHERE id = ANY ($1::bigint[])", parameters)
    }

    // MARK: - Statements

    /// Sends a statement of the open transaction behind the changes before it.
    ///
    /// - Parameter whenDone: gets its result, before the transaction ends.
    func change(
        _ sql: String, _ parameters: Parameters = Parameters(),
        _ whenDone: @escaping (Rows) -> Void = { _ in }
    ) throws(StoreFault) {
        try flush()
        isEmpty = false
        try send(sql, parameters, whenDone)
    }

    /// The rows of a statement, which sees the changes before it.
    ///
    /// - Blocks: for the server.
    func rows(_ sql: String, _ parameters: Parameters = Parameters()) throws(StoreFault) -> Rows {
        try flush()
        let connection: ServerConnection
        if let open { connection = open } else { connection = try present() }
        return try asking { () throws(ServerError) in try connection.rows(sql, parameters) }
    }

    /// The daemons that share the database.
    ///
    /// - Blocks: for the server.
    func nodes() throws(StoreFault) -> StoreNodes {
        _ = try present()
        return try seat.nodes()
    }

    /// Shows other daemons another card; if the database is away, with the next look at them.
    func show(_ card: NodeCard) throws(StoreFault) {
        seat.entry.change(to: card)
        _ = try nodes()
    }

    /// The connection of the seat.
    ///
    /// - Throws: `away` also while a transaction is undecided: its results come first.
    func present() throws(StoreFault) -> ServerConnection {
        guard undecided?.isCommitted ?? true else {
            throw seat.fault(.away, "the database server does not answer")
        }
        return try seat.connected()
    }

    private func send(
        _ sql: String, _ parameters: Parameters = Parameters(),
        _ whenDone: @escaping (Rows) -> Void = { _ in }
    ) throws(StoreFault) {
        let connection = try connectionOfTransaction()
        try asking { () throws(ServerError) in try connection.send(sql, parameters, whenDone) }
    }

    private func asking<Value>(
        _ body: () throws(ServerError) -> Value
    ) throws(StoreFault) -> Value {
        try ServerError.thrown(as: fault(of:), body)
    }

    /// The fault that an error of the server is; notes if the server has undone the transaction.
    func fault(of error: ServerError) -> StoreFault {
        if error.isUndone { isUndone = true }
        if error.isContested { submitted.isContested = true }
        return seat.fault(of: error)
    }

    private func connectionOfTransaction() throws(StoreFault) -> ServerConnection {
        guard let open else { preconditionFailure("changes are made in a transaction") }
        return open
    }

    /// Sends the collected changes.
    func flush() throws(StoreFault) {
        guard !changed.isEmpty else { return }
        let connection = try connectionOfTransaction()
        isEmpty = false
        let (store, milliseconds) = (self, limits.retainedMilliseconds)
        try asking { () throws(ServerError) in
            try changed.send(on: connection, retained: milliseconds) { store.kept.noteEnded($0) }
        }
    }

    private func flushIfFull() throws(StoreFault) {
        if changed.isFull { try flush() }
    }

    // MARK: - The changes that come most often

    func accept(_ job: Job) throws(StoreFault) {
        try noteNew(job)
        if changed.hasAttempt(of: job.id) { try flush() }
        changed.accept(job)
        seat.work.accept(job.id)
        try flushIfFull()
    }

    func remove(_ job: SubmittedJob) { changed.remove(submitted: job.place) }

    func start(_ id: JobID, _ attempt: Attempt) throws(StoreFault) {
        if changed.hasEnd(of: id) { try flush() }
        changed.begin(id, attempt)
        try flushIfFull()
    }

    func end(
        _ id: JobID, _ attempt: Attempt?, _ outcome: Outcome, at now: Int64
    ) throws(StoreFault) {
        if askedToEnd.contains(id) { try forgetAsked(id) }
        try forgetHolder(of: id)
        changed.end(id, attempt, outcome, at: now)
        heads.change()
        seat.work.end(id)
        try flushIfFull()
    }

    // MARK: - State in memory

    func limit(_ limits: StoreLimits) {
        self.limits = limits
        kept.limit(limits)
    }

    func noteNewName() { hasNewNames = true }

    func askToEnd(_ id: JobID) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(id.number)
        try change(
            "INSERT INTO workerd.asked_to_end (job) VALUES ($1::bigint) ON CONFLICT DO NOTHING",
            parameters)
        askedToEnd.insert(id)
    }

    func forgetAsked(_ id: JobID) throws(StoreFault) {
        askedToEnd.remove(id)
        var parameters = Parameters()
        parameters.add(id.number)
        try change("DELETE FROM workerd.asked_to_end WHERE job = $1::bigint", parameters)
    }

    /// Notes that a job's holder is recorded.
    func noteHold(_ id: JobID) {
        holds.insert(id)
        endedHolds.remove(id)
    }

    /// Notes that this daemon has taken the jobs over whose holders are recorded.
    func noteTaken(_ ids: [JobID]) { holds.formUnion(ids) }

    /// Deletes the record of a job's holder, if there is one.
    func forgetHolder(of id: JobID) throws(StoreFault) {
        guard holds.contains(id) else { return }
        var parameters = Parameters()
        parameters.add(id.number)
        try change("DELETE FROM workerd.holders WHERE job = $1::bigint", parameters)
        endedHolds.insert(id)
    }
}
