// Jobs that were submitted by SQL.
//
// The daemon sleeps until a submitter notifies it, which submitters do only while it sleeps. No row
// is missed:
//
//     submitter: insert the row (its table lock lasts to the end of the transaction); is the
//                looking lock free? then notify; commit
//     daemon:    give the looking lock back; note the last place; are other transactions open that
//                hold the table lock? then poll; look for rows; sleep
//
// A submitter that found the lock taken has inserted before it was given back. Either its
// transaction is seen as open, or it was over by then and the look sees its row.
//
// If daemons share the threads, each daemon reads the rows of its own threads. Before a daemon
// sleeps, it also reads the rows of threads that no daemon has, or has in its configuration. The
// first daemon that reads such a row refuses it.

internal import Jobs
internal import Journals

/// How far the search for submitted jobs is.
struct SubmittedState {
    /// The connection that holds the looking lock.
    fileprivate var lookingOn: ObjectIdentifier?
    /// All rows up to this place are gone or refused.
    var low: Int64 = 0
    /// Whether another daemon has accepted a job of the transaction that is made anew: each is
    /// looked up in it.
    var isContested = false
    /// Looks without a job since the latest one.
    fileprivate var emptyCount = SubmittedState.lingerCount
    /// Since when transactions are waited for that were open when the daemon went to sleep.
    fileprivate var pollsSince: ContinuousClock.Instant?
    fileprivate var triesRefused = true

    /// How many further looks follow a job before the daemon sleeps, and the pause before each.
    fileprivate static let lingerCount = 2
    fileprivate static let lingerPause = Duration.milliseconds(5)
    /// The pauses between two looks for the rows of open transactions.
    fileprivate static let pollPauses = Duration.milliseconds(10)...Duration.seconds(2)
    /// The pause between two looks without any reason: for rows that no function has inserted.
    fileprivate static let sleepPause = Duration.seconds(5)
    /// The jobs that are read at once, and their bytes.
    fileprivate static let partCountMax = 256
    fileprivate static let partByteCountMax = 8 << 20
    /// The rows in turn among which jobs are sought, before those of each thread are.
    fileprivate static let passedCountMax = 1_000
}

extension PostgreSQLStore: SubmittedTable {
    var submittedJobs: (any SubmittedTable)? { self }

    func watch(_ watch: @escaping (CInt?) -> Void) { seat.whenChanged = watch }

    var hasNews: Bool { seat.present?.takeNotifications() ?? false }

    func takeNews() throws(StoreFault) -> Bool {
        guard let connection = seat.present else { return false }
        do throws(ServerError) {
            try connection.consumeInput()
        } catch {
            throw seat.fault(of: error)
        }
        return connection.takeNotifications()
    }

    func tryRefusedAgain() { submitted.triesRefused = true }

    /// Tells the function `perform` how large a payload may be.
    func limitSubmits(_ payloadByteCountMax: Int) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add("payload_max")
        parameters.add(payloadByteCountMax)
        _ = try rows(ServerSchema.keepSetting, parameters)
    }

    // MARK: - Looking

    func look(
        without busy: Set<String>, isPolling: Bool
    ) throws(StoreFault) -> (jobs: [SubmittedJob], pause: Duration) {
        let connection = try present()
        if submitted.triesRefused { try forgetRefusals() }
        let isLooking = submitted.lookingOn == ObjectIdentifier(connection)
        if !isLooking {
            if isPolling { return try lookAsleep(without: busy) }
            if try takeLookingLock() { submitted.lookingOn = ObjectIdentifier(connection) }
        }
        let jobs = try read(without: busy)
        guard jobs.isEmpty else {
            submitted.emptyCount = 0
            return (jobs, .zero)
        }
        submitted.emptyCount += 1
        guard submitted.emptyCount > SubmittedState.lingerCount else {
            return ([], SubmittedState.lingerPause)
        }
        try giveLookingLockBack()
        submitted.pollsSince = .now
        return try lookAsleep(without: busy)
    }

    private func takeLookingLock() throws(StoreFault) -> Bool {
        let parameters = Parameters(lock: -seat.number)
        return try rows(
            "SELECT pg_try_advisory_lock($1::bigint::integer, $2::bigint::integer)", parameters
        ).first?.isTrue(0) == true
    }

    private func giveLookingLockBack() throws(StoreFault) {
        guard submitted.lookingOn != nil else { return }
        submitted.lookingOn = nil
        let parameters = Parameters(lock: -seat.number)
        _ = try rows(
            "SELECT pg_advisory_unlock($1::bigint::integer, $2::bigint::integer)", parameters)
    }

    /// Looks once more after the lock was given back, or because transactions were open.
    private func lookAsleep(
        without busy: Set<String>
    ) throws(StoreFault) -> (jobs: [SubmittedJob], pause: Duration) {
        guard let since = submitted.pollsSince else {
            return (try read(without: busy, hasUnserved: true), SubmittedState.sleepPause)
        }
        // The order of these three statements matters, each with a snapshot of its own. A prepared
        // transaction has locks, and no process.
        let last = try rows(
            """
            SELECT CASE WHEN is_called THEN last_value ELSE 0 END
            FROM workerd.submitted_place_seq
            """
        ).first?.integer(0)
        let isOpen = try rows(
            """
            SELECT EXISTS (SELECT FROM pg_locks
                WHERE locktype = 'relation' AND relation = 'workerd.submitted'::regclass
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    AND mode = 'RowExclusiveLock' AND pid IS DISTINCT FROM pg_backend_pid())
            """
        ).first?.isTrue(0)
        let jobs = try read(without: busy, hasUnserved: true)
        guard jobs.isEmpty else { return (jobs, .zero) }
        guard isOpen == false else {
            let pauses = SubmittedState.pollPauses
            return ([], min(max(.now - since, pauses.lowerBound), pauses.upperBound))
        }
        submitted.pollsSince = nil
        if busy.isEmpty, let last { submitted.low = max(submitted.low, last) }
        return ([], SubmittedState.sleepPause)
    }

    /// The condition that no daemon has the thread of a row, and none is configured with it.
    private static let isUnserved = """
        (NOT EXISTS (SELECT FROM workerd.threads WHERE name = split_part(thread, '/', 1))
            AND NOT EXISTS (SELECT FROM workerd.nodes
                WHERE split_part(thread, '/', 1) = ANY (threads)))
        """

    /// Reads the first rows of threads that are not left out.
    ///
    /// - Parameter hasUnserved: whether to read the rows of threads that no daemon has as well.
    private func read(
        without busy: Set<String>, hasUnserved: Bool = false
    ) throws(StoreFault) -> [SubmittedJob] {
        let isWanted =
            "thread <> ALL ($2::text[]) AND "
            + (hasUnserved ? "(\(Self.isInScope(5)) OR \(Self.isUnserved))" : Self.isInScope(5))
        let jobs = try read(
            """
            SELECT * FROM (SELECT * FROM workerd.submitted WHERE \(Self.isNext)
                ORDER BY place LIMIT \(SubmittedState.passedCountMax)) AS first_jobs
            WHERE \(isWanted) ORDER BY place LIMIT $3::bigint
            """, without: busy)
        // Millions of rows of a thread that is left out may be in front.
        guard jobs.isEmpty, isShared || !busy.isEmpty else { return jobs }
        return try read(Self.nextOfEachThread(where: isWanted), without: busy)
    }

    /// The condition that a row is to be accepted.
    private static let isNext = "refusal IS NULL AND place > $1::bigint"

    /// The query for the first rows of some threads.
    ///
    /// It finds each thread, and each thread's first rows, in the index of threads and places.
    ///
    /// - Parameter isWanted: the condition that a thread is one of them.
    private static func nextOfEachThread(where isWanted: String) -> String {
        """
        WITH RECURSIVE units AS (
            (SELECT thread FROM workerd.submitted WHERE refusal IS NULL ORDER BY thread LIMIT 1)
            UNION ALL
            SELECT (SELECT thread FROM workerd.submitted
                WHERE refusal IS NULL AND thread > units.thread ORDER BY thread LIMIT 1)
            FROM units WHERE thread IS NOT NULL),
        next_places AS (
            SELECT place FROM (SELECT thread AS name FROM units WHERE \(isWanted)) AS wanted
            CROSS JOIN LATERAL (SELECT place FROM workerd.submitted
                WHERE thread = name AND \(isNext) ORDER BY place LIMIT $3::bigint) AS places
            ORDER BY place LIMIT $3::bigint)
        SELECT * FROM workerd.submitted WHERE place = ANY (ARRAY(SELECT place FROM next_places))
        """
    }

    /// Reads rows up to a sum of payloads.
    ///
    /// - Parameter query: the query for the rows; parameter 1 is the place behind which to look, 2
    ///   the threads that are left out, 3 the number of rows and 5 the threads of this daemon.
    private func read(
        _ query: String, without busy: Set<String>
    ) throws(StoreFault) -> [SubmittedJob] {
        var parameters = Parameters()
        parameters.add(submitted.low)
        parameters.add(.texts(busy.sorted()))
        parameters.add(SubmittedState.partCountMax)
        parameters.add(SubmittedState.partByteCountMax)
        parameters.add(scope)
        return try rows(
            """
            SELECT place, ticket::text, thread, selector, payload, priority, order_key,
                ceil(due_at - extract(epoch FROM clock_timestamp()) * 1000)::bigint, unique_name,
                retries, timeout_ms, expire_ms, label
            FROM (
                SELECT *, coalesce(sum(length(payload)) OVER (ORDER BY place
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
                FROM (\(query)) AS next_jobs
            ) AS added_up
            WHERE bytes_before < $4::bigint ORDER BY place
            """, parameters
        ).all.map(Self.submittedJob)
    }

    private static func submittedJob(_ row: Row) -> SubmittedJob {
        var options = JobOptions(
            timeoutMilliseconds: row.optionalInteger(10),
            retryCountMax: row.optionalInteger(9).map { Int($0) }, key: row.optionalBytes(6),
            expireMilliseconds: row.optionalInteger(11))
        options.label = row.optionalBytes(12)
        var request = JobRequest(
            thread: row.text(2), selector: row.text(3), payload: row.bytes(4),
            priority: Priority(rawValue: Int(row.integer(5))) ?? .normal, options: options)
        request.unique = row.optionalBytes(8).map { UniqueName($0) }
        return SubmittedJob(
            place: row.integer(0), ticket: row.text(1), request: request,
            delayMilliseconds: row.optionalInteger(7).map { max(0, $0) })
    }

    // MARK: - Changes

    func isThere(_ job: SubmittedJob) throws(StoreFault) -> Bool {
        guard submitted.isContested else { return true }
        var parameters = Parameters()
        parameters.add(job.place)
        return try rows(
            "SELECT place FROM workerd.submitted WHERE place = $1::bigint FOR UPDATE", parameters
        ).first != nil
    }

    func settle(_ answer: SubmittedAnswer) throws(StoreFault) {
        if !answer.known.isEmpty {
            var parameters = Parameters()
            parameters.add(.numbers(answer.known))
            try change(
                "DELETE FROM workerd.submitted WHERE place = ANY ($1::bigint[])", parameters)
        }
        for refusal in answer.refusals {
            var parameters = Parameters()
            parameters.add(refusal.place)
            parameters.add(refusal.reason)
            try change(
                "UPDATE workerd.submitted SET refusal = $2::text WHERE place = $1::bigint",
                parameters)
        }
    }

    /// Puts a job back that was accepted and then refused.
    func putBack(_ job: SubmittedJob) throws(StoreFault) {
        submitted.low = min(submitted.low, job.place - 1)
        let (request, options) = (job.request, job.request.options)
        var parameters = Parameters()
        parameters.add(job.place)
        parameters.add(job.ticket)
        parameters.add(request.thread)
        parameters.add(request.selector)
        parameters.add(request.payload)
        parameters.add(request.priority.rawValue)
        parameters.add(options.key)
        parameters.add(job.delayMilliseconds)
        parameters.add(request.unique?.bytes)
        parameters.add(options.retryCountMax.map { Int64($0) })
        parameters.add(options.timeoutMilliseconds)
        parameters.add(options.expireMilliseconds)
        parameters.add(options.value.label)
        try change(
            """
            INSERT INTO workerd.submitted (place, ticket, submitted_at, submitted_by, thread,
                selector, payload, priority, order_key, due_at, unique_name, retries, timeout_ms,
                expire_ms, label)
            OVERRIDING SYSTEM VALUE
            VALUES ($1::bigint, $2::text::uuid, now(), session_user, $3::text, $4::text,
                $5::bytea, $6::bigint, $7::bytea,
                floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + $8::bigint,
                $9::bytea, $10::bigint, $11::bigint, $12::bigint, $13::bytea)
            ON CONFLICT DO NOTHING
            """, parameters)
    }

    private func forgetRefusals() throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(scope)
        _ = try rows(
            """
            UPDATE workerd.submitted SET refusal = NULL
            WHERE refusal IS NOT NULL AND \(Self.isInScope(1))
            """, parameters)
        submitted.triesRefused = false
        submitted.low = 0
    }
}
