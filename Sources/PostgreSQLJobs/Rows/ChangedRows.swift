// The changes that come most often, collected while a transaction is written and sent as arrays.
// One statement inserts, begins or ends all of them.
//
// They are sent in the order accepted, begun, ended, whatever the order in which they came. So a
// change that would come too early that way has the earlier ones sent first.

internal import Jobs
internal import Journals

/// Changes of jobs that are not sent yet.
struct ChangedRows {
    private struct End {
        let id: JobID
        let attempt: Attempt?
        let outcome: Outcome
        let moment: Int64
    }

    /// The bytes of payloads and results that are sent at once at most, or one more job.
    private static let byteCountMax = 4 << 20
    private static let countMax = 4_096

    private var accepted: [Job] = []
    private var begun: [(id: JobID, attempt: Attempt)] = []
    private var ends: [End] = []
    /// Places of submitted jobs that are among the accepted ones.
    private var submitted: [Int64] = []
    private var begunIDs: Set<JobID> = []
    private var endedIDs: Set<JobID> = []
    private var byteCount = 0

    var isEmpty: Bool {
        accepted.isEmpty && begun.isEmpty && ends.isEmpty && submitted.isEmpty
    }

    /// Whether so much is collected that it is to be sent.
    var isFull: Bool {
        byteCount >= Self.byteCountMax
            || accepted.count + begun.count + ends.count >= Self.countMax
    }

    /// Whether a job's end is among the changes, which must then be sent before later ones of it.
    func hasEnd(of id: JobID) -> Bool { endedIDs.contains(id) }

    /// Whether an attempt or the end of a job is among the changes.
    func hasAttempt(of id: JobID) -> Bool { begunIDs.contains(id) || endedIDs.contains(id) }

    mutating func accept(_ job: Job) {
        accepted.append(job)
        byteCount += job.payload.count
    }

    /// A submitted job was accepted, or its name leads to another one.
    mutating func remove(submitted place: Int64) { submitted.append(place) }

    mutating func begin(_ id: JobID, _ attempt: Attempt) {
        begun.append((id, attempt))
        begunIDs.insert(id)
    }

    mutating func end(_ id: JobID, _ attempt: Attempt?, _ outcome: Outcome, at moment: Int64) {
        guard endedIDs.insert(id).inserted else { return }
        ends.append(End(id: id, attempt: attempt, outcome: outcome, moment: moment))
        byteCount += outcome.byteCount
    }

    mutating func removeAll() { self = ChangedRows() }

    // MARK: - Statements

    /// Sends all changes.
    ///
    /// - Parameters:
    ///   - milliseconds: for how long ended jobs are kept.
    ///   - noteEnded: gets the result of `end`: number, moment, bytes, whether it has failed, and
    ///     until when it is kept because of its name.
    mutating func send(
        on connection: ServerConnection, retained milliseconds: Int64,
        _ noteEnded: @escaping (Rows) -> Void
    ) throws(ServerError) {
        if !accepted.isEmpty { try connection.send(Self.insert, acceptedColumns()) }
        if !submitted.isEmpty {
            var parameters = Parameters()
            parameters.add(.numbers(submitted))
            try connection.send(Self.remove, parameters)
        }
        if !begun.isEmpty { try connection.send(Self.begin, begunColumns()) }
        if !ends.isEmpty {
            try connection.send(Self.end, endColumns(milliseconds), noteEnded)
        }
        removeAll()
    }

    private func acceptedColumns() -> Parameters {
        let count = accepted.count
        var numbers = (0..<11).map { _ in ArrayParameter(of: .bigint, capacity: count) }
        var threads = ArrayParameter(of: .text, capacity: count)
        var selectors = ArrayParameter(of: .text, capacity: count)
        var payloads = ArrayParameter(of: .bytea, capacity: count)
        var keys = ArrayParameter(of: .bytea, capacity: count)
        var carried = ArrayParameter(of: .bytea, capacity: count)
        for job in accepted {
            let options = job.details.options
            let values: [Int64?] = [
                Int64(clamping: job.id.number), Int64(job.priority.rawValue),
                JobColumns.heldCode(of: job.state), Int64(job.retryCountMax),
                job.timeoutMilliseconds, job.acceptedAt, job.dueAt, job.retryBlocks ? 1 : 0,
                job.expiresAt, options.uniqueUntil, Int64(job.attempt),
            ]
            for place in values.indices { numbers[place].append(values[place]) }
            threads.append(job.slot)
            selectors.append(job.selector)
            payloads.append(job.payload)
            keys.append(job.key)
            carried.append(options.carried)
        }
        var parameters = Parameters()
        for column in numbers { parameters.add(column) }
        for column in [threads, selectors, payloads, keys, carried] { parameters.add(column) }
        return parameters
    }

    private func begunColumns() -> Parameters {
        var ids = ArrayParameter(of: .bigint)
        var attempts = ArrayParameter(of: .bigint)
        var moments = ArrayParameter(of: .bigint)
        var workers = ArrayParameter(of: .text)
        var places: [JobID: Int] = [:]
        // An UPDATE takes any of several rows for one job: only the latest is sent.
        for (place, one) in begun.enumerated() { places[one.id] = place }
        for (place, one) in begun.enumerated() where places[one.id] == place {
            ids.append(Int64(clamping: one.id.number))
            attempts.append(Int64(one.attempt.number))
            moments.append(one.attempt.startedAt)
            workers.append(one.attempt.workerName?.withoutNull)
        }
        var parameters = Parameters()
        for column in [ids, attempts, moments, workers] { parameters.add(column) }
        return parameters
    }

    private func endColumns(_ milliseconds: Int64) -> Parameters {
        var ids = ArrayParameter(of: .bigint)
        var attempts = ArrayParameter(of: .bigint)
        var starts = ArrayParameter(of: .bigint)
        var workers = ArrayParameter(of: .text)
        var moments = ArrayParameter(of: .bigint)
        var codes = ArrayParameter(of: .bigint)
        var results = ArrayParameter(of: .bytea)
        for end in ends {
            let (code, result) = JobColumns.encode(end.outcome)
            ids.append(Int64(clamping: end.id.number))
            attempts.append(end.attempt.map { Int64($0.number) })
            starts.append(end.attempt?.startedAt)
            workers.append(end.attempt?.workerName?.withoutNull)
            moments.append(end.moment)
            codes.append(code)
            results.append(result)
        }
        var parameters = Parameters()
        for column in [ids, attempts, starts, workers, moments, codes, results] {
            parameters.add(column)
        }
        parameters.add(milliseconds)
        return parameters
    }

    private static let insert = """
        INSERT INTO workerd.jobs (id, priority, held, retries, timeout_ms, accepted_at, due_at,
            retry_blocks, expires_at, unique_until, attempt, thread, selector, payload, order_key,
            carried, forgiven, released_before)
        SELECT id, priority, held, retries, timeout_ms, accepted_at, due_at, retry_blocks <> 0,
            expires_at, unique_until, attempt, thread, selector, payload, order_key, carried, 0, 0
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
            $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],
            $12::text[], $13::text[], $14::bytea[], $15::bytea[], $16::bytea[])
            AS new (id, priority, held, retries, timeout_ms, accepted_at, due_at, retry_blocks,
                expires_at, unique_until, attempt, thread, selector, payload, order_key, carried)
        """

    /// Fails with a division by zero if a row is not there: another daemon has accepted its job.
    private static let remove = """
        WITH removed AS (
            DELETE FROM workerd.submitted WHERE place = ANY ($1::bigint[]) RETURNING place
        )
        SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer FROM removed
        """

    /// The part of a statement that finds the rows of a batch's jobs, each by its number.
    ///
    /// The server chooses the shape of a plain join by its statistics. If they count few jobs, the
    /// join reads all pairs of a batch, or all entries of the index, also of deleted jobs.
    private static func found(_ columns: String, in batch: String) -> String {
        """
        found AS MATERIALIZED (
            SELECT * FROM \(batch) CROSS JOIN LATERAL (
                SELECT \(columns) FROM workerd.jobs WHERE id = \(batch).job OFFSET 0) AS row)
        """
    }

    private static let begin = """
        WITH begun AS (
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])
                AS begun (job, number, moment, member)
        ), \(found("ctid AS place", in: "begun"))
        UPDATE workerd.jobs AS job
        SET attempt = found.number, started_at = found.moment, worker = found.member
        FROM found WHERE job.ctid = found.place
        """

    /// Moves jobs to the ended ones; jobs that are not there any more stay as they are.
    private static let end = """
        WITH ending AS (
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[],
                $5::bigint[], $6::bigint[], $7::bytea[])
                AS ending (job, last_attempt, last_start, last_worker, moment, code, result)
        ), \(found("ctid AS place, *", in: "ending")), gone AS (
            DELETE FROM workerd.jobs AS job USING found WHERE job.ctid = found.place
        )
        INSERT INTO workerd.ended AS ended (id, thread, selector, priority, attempt, retries,
            timeout_ms, accepted_at, due_at, started_at, worker, ended_at, outcome, result,
            order_key, retry_blocks, forgiven, payload, unique_until, kept_until, carried)
        SELECT id, thread, selector, priority, coalesce(last_attempt, attempt), retries,
            timeout_ms, accepted_at, due_at, coalesce(last_start, started_at),
            coalesce(last_worker, worker), moment, code, result, order_key, retry_blocks, forgiven,
            CASE WHEN code IN (2, 3) THEN payload END, unique_until,
            CASE WHEN code NOT IN (2, 3) AND unique_until > moment
                THEN greatest(unique_until, moment + $8::bigint) END,
            carried
        FROM found
        RETURNING id, ended_at,
            (coalesce(length(result), 0) + coalesce(length(payload), 0))::bigint,
            outcome IN (2, 3), kept_until
        """
}

extension String {
    /// The text as PostgreSQL can keep it.
    fileprivate var withoutNull: String {
        utf8.contains(0) ? String(unicodeScalars.map { $0 == "\0" ? "␀" : Character($0) }) : self
    }
}
