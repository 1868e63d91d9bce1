// The heads of the queues: for each thread, a number below which it has no job in turn.
//
// While a transaction of another program is open, the indexes keep the entries of all jobs that
// have ended since. A search for the first job of a queue would read all of them. It begins at the
// head instead. Jobs get in turn in the order of their numbers. A job that was delayed or buffered,
// or that runs again, is due and not in turn. So a head only grows. If a job is accepted with a
// number below the head, the head is lowered to that number. If jobs move to other slots of their
// pool, the heads of all its slots are lowered to the lowest one.

internal import Jobs
internal import Journals

/// The heads of the queues that this daemon has worked on.
///
/// Changes of a transaction count only once it is committed.
struct QueueHeads {
    /// The number of ended jobs after which the heads are noted again.
    private static let endCountMax = 20_000

    /// The heads as they were read or noted.
    private var numbers: [String: Int64] = [:]
    /// The largest of them.
    private var largest: Int64 = 0
    /// The threads that have a row.
    private var kept: Set<String> = []
    /// The threads that have had jobs in turn since their heads were noted.
    private var touched: Set<String> = []
    /// The largest number of an accepted job.
    private var lastNumber: Int64 = 0
    private var endCount = 0

    // Of the open transaction.
    private(set) var newThreads: Set<String> = []
    private var noted: [String: Int64]?

    /// The number at which a search in the queues of a thread begins.
    func number(of thread: String) -> Int64 { numbers[thread] ?? 0 }

    /// A job is accepted.
    ///
    /// - Returns: whether it lowers the head of its thread.
    mutating func accept(_ id: JobID, _ thread: String) -> Bool {
        let number = Int64(clamping: id.number)
        lastNumber = max(lastNumber, number)
        touched.insert(thread)
        if !kept.contains(thread) { newThreads.insert(thread) }
        guard number < largest else { return false }
        numbers[thread] = min(self.number(of: thread), number)
        return true
    }

    /// Jobs in turn of a thread are loaded.
    mutating func load(_ thread: String) { touched.insert(thread) }

    /// A job has ended.
    mutating func end() { endCount += 1 }

    /// The threads whose heads are to be noted now, and the number of the next job at least.
    ///
    /// - Parameter isOwn: whether this daemon has a thread: another one may give it jobs with
    ///   numbers that are lower.
    func due(where isOwn: (String) -> Bool) -> (threads: [String], next: Int64)? {
        guard endCount >= Self.endCountMax else { return nil }
        return (touched.filter(isOwn).sorted(), lastNumber + 1)
    }

    /// The open transaction has noted heads.
    mutating func note(_ rows: Rows) {
        noted = Dictionary(
            uniqueKeysWithValues: rows.all.map { ($0.text(0), $0.integer(1)) })
    }

    /// The heads of threads were read.
    mutating func read(_ rows: Rows) {
        for row in rows.all { set(row.text(0), row.integer(1)) }
    }

    private mutating func set(_ thread: String, _ number: Int64) {
        numbers[thread] = number
        largest = max(largest, number)
        kept.insert(thread)
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
        for (thread, number) in noted { set(thread, number) }
        touched.removeAll()
        endCount = 0
    }
}

extension PostgreSQLStore {
    /// The rows of jobs in turn, each queue's from its head on.
    ///
    /// - Parameters:
    ///   - threads: the number of the parameter that has the names of the threads.
    ///   - limit: the number of the parameter that limits the jobs of a queue; NULL for no limit.
    static func inTurn(_ columns: String, of threads: Int, limit: Int) -> String {
        """
        SELECT job.* FROM unnest($\(threads)::text[]) AS name
            LEFT JOIN workerd.queue_heads AS head ON head.thread = name
            CROSS JOIN generate_series(0, 2) AS lane
            CROSS JOIN LATERAL (
                SELECT \(columns) FROM workerd.jobs
                WHERE \(isBehind("name", "lane::smallint", ">=", "coalesce(head.number, 0)"))
                ORDER BY priority, id LIMIT $\(limit)::bigint) AS job
        """
    }

    /// The names of the threads of a group that may have jobs in turn.
    func threadNames(of group: String) throws(StoreFault) -> Set<String> {
        var parameters = Parameters()
        parameters.add(group)
        let found = try rows(
            """
            SELECT thread, number FROM workerd.queue_heads WHERE thread = $1::text
                OR thread > $1::text || '/' AND thread < $1::text || '0'
            """, parameters)
        heads.read(found)
        return Set(found.all.map { $0.text(0) }).union([group])
    }

    /// Reads the heads of all threads.
    func readHeads() throws(StoreFault) {
        heads.read(try rows("SELECT thread, number FROM workerd.queue_heads"))
    }

    /// Lowers the heads of a pool's slots to the lowest one, as jobs have moved between the slots.
    func lowerHeads(ofPool pool: String) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(pool)
        let found = try rows(
            """
            UPDATE workerd.queue_heads SET number = (
                SELECT min(number) FROM workerd.queue_heads WHERE \(Self.isSlotOfPool))
            WHERE \(Self.isSlotOfPool) RETURNING thread, number
            """, parameters)
        heads.read(found)
    }

    /// Notes that a job is accepted.
    func noteInTurn(_ job: Job) throws(StoreFault) {
        guard heads.accept(job.id, job.slot) else { return }
        var parameters = Parameters()
        parameters.add(job.slot)
        parameters.add(job.id.number)
        try change(
            """
            UPDATE workerd.queue_heads SET number = $2::bigint
            WHERE thread = $1::text AND number > $2::bigint
            """, parameters)
    }

    /// Notes the heads of queues, as one of the last statements of a transaction.
    func noteHeads(
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
        guard let due = heads.due(where: owns) else { return }
        var parameters = Parameters()
        parameters.add(.texts(due.threads))
        parameters.add(1)
        parameters.add(due.next)
        try send(
            """
            WITH first AS (\(Self.inTurn("id, thread", of: 1, limit: 2)))
            INSERT INTO workerd.queue_heads AS head (thread, number)
            SELECT name, coalesce(
                (SELECT min(id) FROM first WHERE first.thread = name), $3::bigint)
            FROM unnest($1::text[]) AS name
            ON CONFLICT (thread) DO UPDATE SET number = excluded.number
            RETURNING thread, number
            """, parameters
        ) { [unowned self] in heads.note($0) }
    }
}
