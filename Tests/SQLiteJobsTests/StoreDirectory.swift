// The common part of the store's tests: a directory of their own and short forms of the calls.

import CSQLite
import Jobs
import SQLiteJobs
import Support

/// A directory with a store in it.
typealias StoreDirectory = TestDirectory

extension StoreDirectory {
    var database: String { file("jobs.sqlite") }

    func open(
        limits: StoreLimits = StoreLimits(), schema: Schema = .current
    ) throws(StoreFault) -> SQLiteStore {
        try SQLiteStore(path: database, limits: limits, schema: schema)
    }

    /// Makes a file of the oldest version with the rows of these statements.
    func makeOldestVersion(_ statements: String...) {
        // It is made, and can't be used: the present program asks for columns of later steps.
        _ = fault(schema: Schema.oldest.with(statements))
    }

    /// A statement that puts a job for `mail` into a file of the oldest version.
    static func insert(
        _ id: Int, held: Int = 0, dueAt: Int? = nil, retries: Int = 0, key: String? = nil
    ) -> String {
        """
        INSERT INTO jobs (id, thread, selector, payload, priority, held, attempt, retries,
            accepted_at, due_at, order_key)
        VALUES (\(id), 'mail', 'send', x'01', \(Priority.normal.rawValue), \(held), 0, \(retries),
            1000, \(dueAt.map { "\($0)" } ?? "NULL"), \(key.map { "x'\($0)'" } ?? "NULL"))
        """
    }

    /// The number of rows of a table, in a store that is not open; nil if SQLite does not say.
    func rowCount(of table: String) -> Int? {
        (try? rows("SELECT count(*) FROM \(table)"))?.first.flatMap { Int($0) }
    }

    /// Each index and each column of each table, in a store that is not open.
    func tables() throws -> Set<String> {
        let columns = """
            SELECT t.name || '.' || c.name || ' ' || c.type || ' ' || c."notnull" || ' '
                || ifnull(c.dflt_value, '-') || ' ' || c.pk || ' ' || c.cid
            FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'
            """
        let indexes = try rows("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql > ''")
        return Set(
            try rows(columns)
                + indexes.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") })
    }

    /// Executes statements in a store that is not open.
    func execute(_ statements: String) throws {
        var connection: OpaquePointer?
        defer { unsafe sqlite3_close(connection) }
        guard unsafe sqlite3_open(database, &connection) == SQLITE_OK,
            unsafe sqlite3_exec(connection, statements, nil, nil, nil) == SQLITE_OK
        else { throw Unexpected("SQLite refuses the statements") }
    }

    /// The first column of the rows of a query.
    private func rows(_ query: String) throws -> [String] {
        var connection: OpaquePointer?
        var statement: OpaquePointer?
        defer {
            unsafe sqlite3_finalize(statement)
            unsafe sqlite3_close(connection)
        }
        guard unsafe sqlite3_open(database, &connection) == SQLITE_OK,
            unsafe sqlite3_prepare_v2(connection, query, -1, &statement, nil) == SQLITE_OK
        else { throw Unexpected("SQLite refuses: \(query)") }
        var rows: [String] = []
        while unsafe sqlite3_step(statement) == SQLITE_ROW {
            guard let text = unsafe sqlite3_column_text(statement, 0) else { continue }
            rows.append(unsafe String(cString: text))
        }
        return rows
    }

    /// The fault with which opening fails; nil if it does not.
    func fault(schema: Schema = .current) -> StoreFault? {
        do throws(StoreFault) {
            _ = try open(schema: schema)
            return nil
        } catch {
            return error
        }
    }
}

extension Job {
    /// A job of thread `mail`, unless a test wants another.
    static func sample(
        _ number: UInt64, thread: String = "mail", payload: [UInt8] = [],
        priority: Priority = .normal, schedule: JobRequest.Schedule = .now
    ) -> Job {
        Job(
            id: JobID(number),
            request: JobRequest(
                thread: thread, selector: "send", payload: payload, priority: priority,
                schedule: schedule), acceptedAt: 1_000)
    }
}

extension SQLiteStore {
    /// Accepts jobs in one transaction.
    func accept(all jobs: [Job]) throws(StoreFault) {
        try transaction(at: 1_000) { () throws(StoreFault) in
            for job in jobs { try accept(job) }
        }
    }

    /// The numbers of the jobs that wait in a queue.
    func waiting(
        _ thread: String = "mail", _ priority: Priority = .normal, after id: UInt64 = 0,
        limit: Int = .max, byteCount: Int = .max
    ) throws(StoreFault) -> [UInt64] {
        try inTurn(
            QueueName(thread: thread, priority: priority), after: JobID(id), limit: limit,
            byteCount: byteCount
        ).jobs.map(\.id.number)
    }

    /// Ends a job in a transaction of its own.
    func end(_ number: UInt64, _ outcome: Outcome, at now: Int64) throws(StoreFault) {
        try transaction(at: now) { () throws(StoreFault) in
            try end(JobID(number), Attempt(number: 1), outcome, at: now)
        }
    }
}

extension SQLiteStore {
    /// All delayed and buffered jobs, queue by queue.
    func deferred() throws(StoreFault) -> [Job] {
        var deferred: [Job] = []
        for queue in try queues() {
            deferred += try delayed(queue, after: .first, limit: .max, byteCount: .max).jobs
            // A listing leaves out payloads.
            for listed in try listDeferred(queue, state: .buffered, limit: .max) {
                if let job = try job(listed.id) { deferred.append(job) }
            }
        }
        return deferred
    }
}

extension SQLiteStore.SearchLimits {
    /// No limits.
    static let none = {
        var limits = Self()
        (limits.rowCountMax, limits.packCountMax) = (.max, .max)
        return limits
    }()
}
