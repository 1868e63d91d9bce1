// The heads of the queues: for each thread, a number below which it has no job in turn, and a
// moment before which it has no delayed one.
//
// While a transaction of another program is open, the indexes keep the entries of all jobs that
// have ended since. A search for the first job of a queue would read all of them. It begins at the
// head instead. Jobs get in turn in the order of their numbers, so the number only grows. If a job
// gets in turn with a number below the head, the head is lowered to that number. If jobs move to
// other slots of their pool, the heads of all its slots are lowered to the lowest one.
//
// A job that was delayed or buffered, that is tried again or runs again, is due and not in turn. It
// gets its moment by the clock, so the moment of a head is a while before the time at which it is
// noted. If the clock was set back further, the heads are lowered to the moment of the job.

internal import Jobs
internal import Journals

/// The heads of the queues that this daemon has worked on.
///
/// Changes of a transaction count only once it is committed.
struct QueueHeads {
    /// The head of a thread.
    struct Head {
        /// No job in turn has a lower number.
        var number: Int64 = 0
        /// No delayed job is due before this moment.
        var due: Int64 = 0
    }

    /// The number of jobs that have ended or are tried again, after which the heads are noted
    /// again.
    private static let changeCountMax = 20_000
    /// How long before its time a head is noted at most, in milliseconds.
    static let pastMilliseconds: Int64 = 60_000

    /// The heads as they were read or noted.
    private var heads: [String: Head] = [:]
    /// The largest number and moment of them.
    private var largest = Head()
    /// The threads that have a row.
    private var kept: Set<String> = []
    /// The threads whose jobs have changed since their heads were noted.
    private var touched: Set<String> = []
    /// The largest number of a job that got in turn.
    private var lastNumber: Int64 = 0
    private var changeCount = 0

    // Of the open transaction.
    private(set) var newThreads: Set<String> = []
    private var noted: [(thread: String, head: Head)]?

    /// The place at which a search in the queues of a thread begins.
    func head(of thread: String) -> Head { heads[thread] ?? Head() }

    /// A job gets in turn.
    ///
    /// - Returns: whether it lowers the number of its thread.
    mutating func getInTurn(_ id: JobID, _ thread: String) -> Bool {
        let number = Int64(clamping: id.number)
        lastNumber = max(lastNumber, number)
        touched.insert(thread)
        if !kept.contains(thread) { newThreads.insert(thread) }
        guard number < largest.number else { return false }
        let head = head(of: thread)
        heads[thread] = Head(number: min(head.number, number), due: head.due)
        return true
    }

    /// A job gets a moment.
    ///
    /// - Returns: whether it lowers that of heads.
    mutating func delay(until dueAt: Int64) -> Bool {
        guard dueAt < largest.due else { return false }
        heads = heads.mapValues { Head(number: $0.number, due: min($0.due, dueAt)) }
        return true
    }

    /// Jobs of a thread are loaded.
    mutating func load(_ thread: String) { touched.insert(thread) }

    /// A job has ended, or is tried again.
    mutating func change() { changeCount += 1 }

    /// The threads whose heads are to be noted now, and the number of the next job at least.
    ///
    /// - Parameter isOwn: whether this daemon has a thread: another one may give it jobs with
    ///   numbers that are lower.
    func outdated(where isOwn: (String) -> Bool) -> (threads: [String], next: Int64)? {
        guard changeCount >= Self.changeCountMax else { return nil }
        return (touched.filter(isOwn).sorted(), lastNumber + 1)
    }

    /// The open transaction has noted heads.
    mutating func note(_ rows: Rows) { noted = rows.all.map(Self.head) }

    /// The heads of threads were read.
    mutating func read(_ rows: Rows) {
        for row in rows.all { set(Self.head(row)) }
    }

    private static func head(_ row: Row) -> (thread: String, head: Head) {
        (row.text(0), Head(number: row.integer(1), due: row.integer(2)))
    }

    private mutating func set(_ entry: (thread: String, head: Head)) {
        heads[entry.thread] = entry.head
        largest.number = max(largest.number, entry.head.number)
        largest.due = max(largest.due, entry.head.due)
        kept.insert(entry.thread)
    }

    /// A transaction begins.
    mutating func begin() {
        newThreads.removeAll()
        noted = nil
    }

    /// The transaction was committed.
    mutating func commit() {
        kept.formUnion(newThreads)
        guard let noted else { return }
        for entry in noted { set(entry) }
        touched.removeAll()
        changeCount = 0
    }
}

extension PostgreSQLStore {
    /// The rows of jobs in turn, each queue's from its head on.
    ///
    /// - Parameters:
    ///   - threads: the number of the parameter that has the names of the threads.
    ///   - limit: the number of the parameter that limits the jobs of a queue; NULL for no limit.
    static func inTurn(_ columns: String, of threads: Int, limit: Int) -> String {
        ofQueues(
            columns, threads, limit,
            where: isBehind("name", "lane::smallint", ">=", "coalesce(head.number, 0)"),
            "priority, id")
    }

    /// The rows of delayed jobs, each queue's from the moment of its head on.
    ///
    /// - Parameters:
    ///   - threads, limit: as for `inTurn`.
    ///   - condition: a further condition for the rows.
    static func delayed(
        _ columns: String, of threads: Int, limit: Int, where condition: String = "true"
    ) -> String {
        let isBehindHead = """
            held = 1 AND thread = name AND priority = lane::smallint
                AND due_at >= coalesce(head.due, 0)
            """
        return ofQueues(
            columns, threads, limit, where: "\(isBehindHead) AND \(condition)", "due_at, id")
    }

    /// The rows of jobs of each queue: `name` is its thread, `lane` its priority, `head` its head.
    private static func ofQueues(
        _ columns: String, _ threads: Int, _ limit: Int, where condition: String, _ order: String
    ) -> String {
        """
        SELECT job.* FROM unnest($\(threads)::text[]) AS name
            LEFT JOIN workerd.queue_heads AS head ON head.thread = name
            CROSS JOIN generate_series(0, 2) AS lane
            CROSS JOIN LATERAL (
                SELECT \(columns) FROM workerd.jobs WHERE \(condition)
                ORDER BY \(order) LIMIT $\(limit)::bigint) AS job
        """
    }

    /// The names of the threads of a group that may have jobs.
    func threadNames(of group: String) throws(StoreFault) -> Set<String> {
        var parameters = Parameters()
        parameters.add(group)
        let found = try rows(
            """
            SELECT thread, number, due FROM workerd.queue_heads WHERE thread = $1::text
                OR thread > $1::text || '/' AND thread < $1::text || '0'
            """, parameters)
        heads.read(found)
        return Set(found.all.map { $0.text(0) }).union([group])
    }

    /// Reads the heads of all threads.
    func readHeads() throws(StoreFault) {
        heads.read(try rows("SELECT thread, number, due FROM workerd.queue_heads"))
    }

    /// Lowers the heads of a pool's slots to the lowest one, as jobs have moved between the slots.
    func lowerHeads(ofPool pool: String) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(pool)
        let found = try rows(
            """
            UPDATE workerd.queue_heads SET (number, due) = (
                SELECT min(number), min(due) FROM workerd.queue_heads WHERE \(Self.isSlotOfPool))
            WHERE \(Self.isSlotOfPool) RETURNING thread, number, due
            """, parameters)
        heads.read(found)
    }

    /// Notes that a job is accepted.
    func noteNew(_ job: Job) throws(StoreFault) {
        if job.state == .delayed { try noteDelay(until: job.dueAt ?? 0) }
        if let moment = job.expiresAt { expirySearch.add(moment) }
        try noteInTurn(job.id, job.slot)
    }

    /// Notes that a thread has a job in turn.
    func noteInTurn(_ id: JobID, _ thread: String) throws(StoreFault) {
        guard heads.getInTurn(id, thread) else { return }
        var parameters = Parameters()
        parameters.add(thread)
        parameters.add(id.number)
        try change(
            """
            UPDATE workerd.queue_heads SET number = $2::bigint
            WHERE thread = $1::text AND number > $2::bigint
            """, parameters)
    }

    /// Notes that a job of this daemon's threads is delayed until a moment.
    func noteDelay(until dueAt: Int64) throws(StoreFault) {
        guard heads.delay(until: dueAt) else { return }
        var parameters = Parameters()
        parameters.add(dueAt)
        parameters.add(scope)
        try change(
            """
            UPDATE workerd.queue_heads SET due = $1::bigint
            WHERE due > $1::bigint AND \(Self.isInScope(2))
            """, parameters)
    }

    /// Notes the heads of queues, as one of the last statements of a transaction.
    func noteHeads(
        at now: Int64,
        _ send: (String, Parameters, @escaping (Rows) -> Void) throws(StoreFault) -> Void
    ) throws(StoreFault) {
        if !heads.newThreads.isEmpty {
            var parameters = Parameters()
            parameters.add(.texts(heads.newThreads.sorted()))
            try send(
                """
                INSERT INTO workerd.queue_heads (thread, number)
                SELECT name, 0 FROM unnest($1::text[]) AS name ON CONFLICT DO NOTHING
                """, parameters
            ) { _ in }
        }
        guard let outdated = heads.outdated(where: owns) else { return }
        var parameters = Parameters()
        parameters.add(.texts(outdated.threads))
        parameters.add(1)
        parameters.add(outdated.next)
        parameters.add(now - QueueHeads.pastMilliseconds)
        try send(
            """
            WITH in_turn AS (\(Self.inTurn("id, thread", of: 1, limit: 2))),
                delayed AS (\(Self.delayed("due_at, thread", of: 1, limit: 2)))
            INSERT INTO workerd.queue_heads AS head (thread, number, due)
            SELECT name, coalesce(
                    (SELECT min(id) FROM in_turn WHERE in_turn.thread = name), $3::bigint),
                least($4::bigint, (SELECT min(due_at) FROM delayed WHERE delayed.thread = name))
            FROM unnest($1::text[]) AS name
            ON CONFLICT (thread) DO UPDATE SET number = excluded.number, due = excluded.due
            RETURNING thread, number, due
            """, parameters
        ) { [unowned self] in heads.note($0) }
    }
}
