// Durable jobs in one SQLite file. The changes of a transaction are on the disk when it has
// returned.
//
// The store keeps what must survive and nothing else: it knows neither the running jobs nor their
// order. Its owner decides when to commit, and gives the ids. Reading is in
// SQLiteStore+Reading.swift.
//
// A job is in one of four places. New jobs and those that have ended well are in packs, many to a
// row, since SQLite's time goes into rows. Jobs that need a row of their own are in the tables
// `jobs` (they have begun, are deferred, or are large) and `ended` (they have failed, and may be
// listed by selector).

package import Jobs
internal import Journals

/// Keeps jobs in an SQLite database, of which it is the only user while it is open.
///
/// - Thread: one at a time.
package final class SQLiteStore {
    private struct Statements {
        let begin: Statement
        let commit: Statement
        let rollback: Statement
        let insert: Statement
        let start: Statement
        let find: Statement
        let copyFailed: Statement
        let remove: Statement
        let forget: Statement
    }

    /// The path of the file.
    package var path: String { database.path }

    /// The number of the next job: larger than that of any job that ever was in the file.
    package private(set) var nextNumber: UInt64 = 1

    let database: Database
    package private(set) var limits: StoreLimits
    private let statements: Statements
    let waitingPacks: WaitingPacks
    let endedPacks: EndedPacks
    private var prepared: StatementCache
    /// The ended jobs in the file, in the order in which they will be dropped.
    private var ended: RetainedJobs
    /// The number of these, from the first, that have a row of their own.
    private var endedRowCount = 0
    /// The failed ones among them.
    private var failed: RetainedJobs
    /// Ended jobs of before the opening, which become known little by little.
    private var before = EndedBefore(last: 0)
    /// The latest values of the statement that accepts jobs.
    private var boundThread = Statement.KeptText()
    private var boundSelector = Statement.KeptText()
    private var boundWorker = Statement.KeptText()
    /// The live jobs that were asked to end since the opening.
    var askedToEnd: Set<JobID> = []
    /// The jobs that have a row with their holder.
    package internal(set) var holds: Set<JobID> = []
    /// The jobs whose row with their holder the open transaction removes.
    var endedHolds: Set<JobID> = []
    /// Whether commits wait for the disk at present.
    private var syncs = true
    /// The damage of the log when it was opened; nil for none.
    package let logDamage: LogDamage?
    let logPageCountMax: Int
    /// Whether a sync has failed since the log was last known to be on the disk.
    private var isLogDoubtful = false
    /// The time when the file was last seen at its path, in Unix milliseconds.
    var seenAt: Int64?
    /// The reason why the log could not be moved into the database after the latest transaction.
    ///
    /// Nil if it could, or did not have to be.
    package private(set) var checkpointFault: StoreFault?
    /// The jobs that the open transaction adds to the ended ones, and drops.
    private var newlyEnded: [RetainedJobs.Entry] = []
    private var newlyFailed: [RetainedJobs.Entry] = []
    private var noLongerFailed: [RetainedJobs.Entry] = []
    /// The ended jobs that are kept because of their names.
    private var named = NamedRows()
    private var droppedCount = 0
    private var droppedRowCount = 0
    private var droppedFailureCount = 0

    /// Opens a file of jobs, makes a new one, or brings an old one up to date.
    ///
    /// - Parameters:
    ///   - path: the database; SQLite keeps `path-wal` beside it.
    ///   - limits: of these, those of ended jobs.
    ///   - byteCountMax: the largest size of the database; nil for no limit but its disk.
    ///   - logPageCountMax: the length of the log, in pages, at which it is moved into the
    ///   database.
    ///   - readsEnded: whether the ended jobs of before are known on return; otherwise they are
    ///   kept until `readEnded` has been called until there are no more.
    ///   - movesLog: whether the log is moved into the database from now on; otherwise not before
    ///   `beginMovingLog` is called, so that an owner that finds a damaged log leaves it as it is.
    ///   - schema: its tables.
    /// - Throws: a fault that says what to do; then nothing in the files has changed.
    /// - Blocks: for the disk.
    package init(
        path: String, limits: StoreLimits = StoreLimits(), byteCountMax: Int? = nil,
        logPageCountMax: Int = 1_000, readsEnded: Bool = true, movesLog: Bool = true,
        schema: Schema = .current
    ) throws(StoreFault) {
        database = try Database(path: path)
        self.limits = limits
        self.logPageCountMax = logPageCountMax
        ended = .ended(within: limits)
        failed = .failed(within: limits)
        logDamage = try Self.takeOver(database, schema)
        if let byteCountMax {
            let pageByteCount = Int(try database.integer("PRAGMA page_size") ?? 4_096)
            try database.execute("PRAGMA max_page_count = \(byteCountMax / pageByteCount)")
        }
        statements = try Self.prepare(database)
        prepared = StatementCache(of: database)
        waitingPacks = try WaitingPacks(in: database)
        endedPacks = try EndedPacks(in: database)
        nextNumber = try readNextNumber()
        named = try readNamed()
        holds = try readHolds()
        before = EndedBefore(
            last: try database.integer("SELECT coalesce(max(id), 0) FROM ended") ?? 0)
        while readsEnded, try readEnded(atMost: 1_000) {}
        if movesLog { try beginMovingLog() }
    }

    /// Makes several changes at once: all of them are on the disk when this returns, or none is.
    ///
    /// - Parameters:
    ///   - now: Unix milliseconds; ended jobs that are too old by then are dropped.
    ///   - isSynced: false leaves the changes with the kernel, which outlives this process but not
    ///   the machine; the next synced transaction brings them to the disk.
    ///   - body: calls the operations of this store.
    /// - Throws: the error of `body`, or the reason of a failed write; then nothing has changed.
    /// - Blocks: for the disk.
    package func transaction(
        at now: Int64, isSynced: Bool = true, _ body: () throws(StoreFault) -> Void
    ) throws(StoreFault) {
        try checkPresence(at: now)
        if isSynced != syncs {
            try database.execute("PRAGMA synchronous = \(isSynced ? "FULL" : "NORMAL")")
            syncs = isSynced
        }
        if isLogDoubtful {
            try database.rewriteLog()
            isLogDoubtful = false
        }
        newlyEnded.removeAll(keepingCapacity: true)
        newlyFailed.removeAll(keepingCapacity: true)
        noLongerFailed.removeAll(keepingCapacity: true)
        (droppedCount, droppedRowCount, droppedFailureCount) = (0, 0, 0)
        let namedBefore = named
        try statements.begin.run()
        do throws(StoreFault) {
            try dropEnded(at: now)
            try dropNamed(at: now, &named)
            try body()
            try flush()
            if named != namedBefore { try write(named) }
            try statements.commit.run()
            holds.subtract(endedHolds)
            endedHolds.removeAll()
        } catch {
            endedHolds.removeAll()
            named = namedBefore
            waitingPacks.forget()
            endedPacks.forget()
            if database.hasFailedToSync { isLogDoubtful = true }
            // A full disk may have ended the transaction already.
            if database.isInTransaction { try? statements.rollback.run() }
            throw error
        }
        if database.hasMovingFailedToSync { isLogDoubtful = true }
        checkpointFault = database.takeMovingFault()
        noteEnds()
    }

    // MARK: - Inside a transaction

    /// Stores a new job under its id.
    package func accept(_ job: Job) throws(StoreFault) {
        if try !waitingPacks.accept(job) { try insert(job) }
    }

    /// Stores a job that has not ended in a row of its own.
    func insert(_ job: Job) throws(StoreFault) {
        let statement = statements.insert
        try statement.bind(1, Int64(job.id.number))
        try statement.bind(2, job.thread, kept: &boundThread)
        try statement.bind(3, job.selector, kept: &boundSelector)
        try statement.bind(5, Int64(job.priority.rawValue))
        try statement.bind(6, JobColumns.heldCode(of: job.state))
        try statement.bind(7, Int64(job.retryCountMax))
        try statement.bind(8, job.timeoutMilliseconds)
        try statement.bind(9, job.acceptedAt)
        try statement.bind(10, job.dueAt)
        try statement.bind(11, job.key)
        try statement.bind(12, job.retryBlocks ? 1 : 0)
        try statement.bind(13, job.details.options.carried)
        try statement.bind(14, job.expiresAt)
        try statement.run(4, job.payload)
    }

    /// Moves a packed job to a row of its own: it changes alone.
    ///
    /// - Returns: whether it was packed.
    private func unpack(_ id: JobID, ifRemembered isRemembered: Bool = false) throws(StoreFault)
        -> Bool
    {
        guard let job = try waitingPacks.take(id.number, ifRemembered: isRemembered) else {
            return false
        }
        try insert(job)
        return true
    }

    /// Releases a deferred job: it is due at `now`.
    package func release(_ id: JobID, at now: Int64) throws(StoreFault) {
        let statement = try cached(
            "UPDATE jobs SET held = 1, due_at = ?, released_before = 0 WHERE id = ?")
        try changeRow(of: id) { () throws(StoreFault) in
            try statement.bind(1, now)
            try statement.bind(2, Int64(id.number))
            try statement.run()
        }
    }

    /// Changes the row of a job that has not ended; a packed job gets one first.
    func changeRow(
        of id: JobID, _ change: () throws(StoreFault) -> Void
    ) throws(StoreFault) {
        _ = try unpack(id, ifRemembered: true)
        try change()
        // Most have a row; a search in the packs is expensive.
        if database.changeCount == 0, try unpack(id) { try change() }
    }

    /// Records that an attempt has begun.
    package func start(_ id: JobID, _ attempt: Attempt) throws(StoreFault) {
        let statement = statements.start
        try changeRow(of: id) { () throws(StoreFault) in
            try statement.bind(1, Int64(attempt.number))
            try statement.bind(2, attempt.startedAt)
            try statement.bind(3, attempt.workerName)
            try statement.bind(4, Int64(id.number))
            try statement.run()
        }
    }

    /// Records that a job has begun at least `attempts` times.
    package func begun(_ id: JobID, attempts: Int) throws(StoreFault) {
        _ = try unpack(id)
        let statement = try cached("UPDATE jobs SET attempt = ?1 WHERE id = ?2 AND attempt < ?1")
        try statement.bind(1, Int64(attempts))
        try statement.bind(2, Int64(clamping: id.number))
        try statement.run()
    }

    /// Keeps ended jobs within other limits from now on; those beyond go with later transactions.
    package func limit(_ limits: StoreLimits) {
        self.limits = limits
        ended.takeLimits(of: .ended(within: limits))
        failed.takeLimits(of: .failed(within: limits))
    }

    /// Records that a job has ended, after which it never runs again.
    ///
    /// Does nothing if it had ended before.
    ///
    /// - Parameter attempt: the attempt that it ended with; nil for a job that had not begun.
    package func end(
        _ id: JobID, _ attempt: Attempt?, _ outcome: Outcome, at now: Int64
    ) throws(StoreFault) {
        if askedToEnd.contains(id) { try forgetAsked(id) }
        try forgetHolder(of: id)
        if outcome.state == .failed {
            _ = try unpack(id)
            return try endFailed(id, attempt, outcome, at: now)
        }
        guard try moveToEnded(id, attempt, outcome, at: now) else { return }
        newlyEnded.append(RetainedJobs.Entry(id: id, endedAt: now, byteCount: outcome.byteCount))
    }

    /// Moves a job that has not failed to the ended ones, from wherever it is.
    ///
    /// - Returns: whether it was there, and is kept within the limits of all ended jobs.
    private func moveToEnded(
        _ id: JobID, _ attempt: Attempt?, _ outcome: Outcome, at now: Int64
    ) throws(StoreFault) -> Bool {
        // Most are in a cached pack; a search in the others is expensive.
        if try waitingPacks.end(
            id.number, ifRemembered: true, attempt, outcome, at: now, to: endedPacks)
        {
            return true
        }
        guard var job = try liveJob(id) else {
            return try waitingPacks.end(id.number, attempt, outcome, at: now, to: endedPacks)
        }
        try remove(id)
        job.end(attempt, outcome, at: now)
        if let until = limits.keptByName(job.details, endedAs: outcome.state, at: now) {
            try insertNamed(job, until: until, &named)
            return false
        }
        try endedPacks.append(job)
        return true
    }

    /// The job of a row of its own that has not ended.
    func liveJob(_ id: JobID) throws(StoreFault) -> Job? {
        let row = statements.find
        try row.bind(1, Int64(clamping: id.number))
        defer { row.reset() }
        return try row.step() ? JobColumns.liveJob(row) : nil
    }

    private func remove(_ id: JobID) throws(StoreFault) {
        try statements.remove.bind(1, Int64(id.number))
        try statements.remove.run()
    }

    private func endFailed(
        _ id: JobID, _ attempt: Attempt?, _ outcome: Outcome, at now: Int64
    ) throws(StoreFault) {
        let (code, result) = JobColumns.encode(outcome)
        let statement = statements.copyFailed
        try statement.bind(1, attempt.map { Int64($0.number) })
        try statement.bind(2, attempt?.startedAt)
        try statement.bind(3, attempt?.workerName, kept: &boundWorker)
        try statement.bind(4, now)
        try statement.bind(5, code)
        try statement.bind(7, Int64(id.number))
        try statement.run(6, result)
        guard database.changeCount == 1 else { return }
        try remove(id)
        if let entry = try failedEntry(id)?.entry { newlyFailed.append(entry) }
    }

    /// Records that all numbers below this one may have been given to jobs, durable or not.
    package func reserve(below number: UInt64) throws(StoreFault) {
        let statement = try cached("UPDATE settings SET value = ? WHERE name = 'next_id'")
        try statement.bind(1, Int64(clamping: number))
        try statement.run()
    }

    /// Writes a meaningless value, so that the commit has something to sync.
    ///
    /// It must be another value each time: SQLite does not write a page for an unchanged value, and
    /// does not sync without a page.
    package func touch() throws(StoreFault) {
        try cached(
            """
            INSERT INTO settings (name, value) VALUES ('touched', 1)
            ON CONFLICT (name) DO UPDATE SET value = settings.value + 1
            """
        ).run()
    }

    // MARK: - Ended jobs

    private func dropEnded(at now: Int64) throws(StoreFault) {
        guard before.areAllKnown else { return }
        let (due, dueFailures) = (ended.due(at: now), failed.due(at: now))
        droppedRowCount = min(due.count, endedRowCount)
        var forgetting = IDRanges()
        for job in due.prefix(droppedRowCount) + dueFailures {
            try forgetting.add(job.id, statements.forget)
        }
        try forgetting.finish(statements.forget)
        try endedPacks.dropFirst(due.count - droppedRowCount)
        (droppedCount, droppedFailureCount) = (due.count, dueFailures.count)
    }

    /// Applies the ends and drops of the successful transaction.
    private func noteEnds() {
        ended.dropFirst(droppedCount)
        endedRowCount -= droppedRowCount
        endedPacks.settle()
        failed.dropFirst(droppedFailureCount)
        for job in newlyEnded { ended.append(job) }
        for job in newlyFailed { failed.append(job) }
        if !before.areAllKnown { before.noteEnded(newlyEnded + newlyFailed) }
        for job in noLongerFailed where before.knows(job.id) { failed.remove(job) }
    }

    /// Removes a failed job from the ended ones; it may be live by now.
    func forgetFailed(_ entry: RetainedJobs.Entry) throws(StoreFault) {
        var forgetting = IDRanges()
        try forgetting.add(entry.id, statements.forget)
        try forgetting.finish(statements.forget)
        noLongerFailed.append(entry)
    }

    var areEndsRead: Bool { before.areAllKnown }

    /// Reads more ended jobs of before, which can be dropped once all are known.
    ///
    /// - Returns: whether there are more.
    package func readEnded(atMost limit: Int) throws(StoreFault) -> Bool {
        guard !before.areAllKnown else { return false }
        if try readEndedRows(atMost: limit) { return true }
        // One pack for a row or two: a pack is as large as several rows.
        let packs = try endedPacks.earlier(
            after: before.throughPacks, limit: max(1, limit / 32))
        for pack in packs { before.add(pack) }
        guard packs.isEmpty else { return true }
        let known = before.takePacks()
        endedPacks.prepend(known.map(\.run))
        ended.prepend(known.flatMap(\.entries))
        // Rows are from before there were packs: they are dropped first.
        let rows = before.takeEnded()
        endedRowCount = rows.count
        ended.prepend(rows)
        failed.prepend(before.takeFailed())
        return false
    }

    private func readEndedRows(atMost limit: Int) throws(StoreFault) -> Bool {
        let rows = try cached(
            """
            SELECT id, ended_at, coalesce(length(result), 0) + coalesce(length(payload), 0),
                outcome IN (2, 3)
            FROM ended WHERE id > ? AND id <= ? AND kept_until IS NULL ORDER BY id LIMIT ?
            """)
        try rows.bind(1, before.through)
        try rows.bind(2, before.last)
        try rows.bind(3, Int64(limit))
        defer { rows.reset() }
        var count = 0
        while try rows.step() {
            count += 1
            let entry = RetainedJobs.Entry(
                id: JobID(UInt64(rows.integer(0))), endedAt: rows.integer(1),
                byteCount: Int(rows.integer(2)))
            before.add(entry, hasFailed: rows.integer(3) != 0)
        }
        return count == limit
    }

    private func readNextNumber() throws(StoreFault) -> UInt64 {
        let reserved = try database.integer("SELECT value FROM settings WHERE name = 'next_id'")
        let live = try lastLiveNumber()
        let ended = try database.integer("SELECT coalesce(max(id), 0) FROM ended")
        return max(
            UInt64(reserved ?? 1), live + 1, UInt64(ended ?? 0) + 1, endedPacks.lastBefore + 1)
    }

    // MARK: - Statements

    /// A statement that is prepared when it is first needed.
    func cached(_ sql: String) throws(StoreFault) -> Statement {
        try prepared.statement(sql)
    }

    private static func prepare(_ database: Database) throws(StoreFault) -> Statements {
        Statements(
            begin: try database.prepare("BEGIN IMMEDIATE"),
            commit: try database.prepare("COMMIT"),
            rollback: try database.prepare("ROLLBACK"),
            insert: try database.prepare(
                """
                INSERT INTO jobs (id, thread, selector, payload, priority, held, attempt, retries,
                    timeout_ms, accepted_at, due_at, order_key, retry_blocks, carried,
                    expires_at)
                VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)
                """),
            start: try database.prepare(
                "UPDATE jobs SET attempt = ?, started_at = ?, worker = ? WHERE id = ?"),
            find: try database.prepare("SELECT \(JobColumns.live) FROM jobs WHERE id = ?"),
            copyFailed: try database.prepare(
                """
                INSERT INTO ended (id, thread, selector, priority, attempt, retries, timeout_ms,
                    accepted_at, due_at, started_at, worker, ended_at, outcome, result,
                    order_key, retry_blocks, forgiven, payload, carried)
                SELECT id, thread, selector, priority, coalesce(?1, attempt), retries, timeout_ms,
                    accepted_at, due_at, coalesce(?2, started_at), coalesce(?3, worker), ?4, ?5, ?6,
                    order_key, retry_blocks, forgiven, payload, carried
                FROM jobs WHERE id = ?7
                """),
            remove: try database.prepare("DELETE FROM jobs WHERE id = ?"),
            forget: try database.prepare("DELETE FROM ended WHERE id BETWEEN ? AND ?"))
    }
}
