// The names under which clients hand in a job once, however often they ask. A name leads to its job for
// a while, and as long as the job has not ended; what is older is deleted as new names come.

extension SQLiteStore {
    /// How many old names are looked at for each new one: more than come, so that they end.
    private static let lookCount: Int64 = 16

    /// Gives a name to a new job, unless it is another one's; part of a transaction.
    ///
    /// - Returns: the job that has the name already, in which case nothing has changed.
    package func giveName(
        _ name: [UInt8], to id: JobID, at now: Int64
    ) throws(StoreFault) -> JobID? {
        if let other = try job(named: name, at: now) { return other }
        let insert = try cached(
            """
            INSERT INTO unique_names (name, job, accepted_at, look_at) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (name) DO UPDATE SET job = ?2, accepted_at = ?3, look_at = ?4
            """)
        try insert.bind(1, name)
        try insert.bind(2, Int64(clamping: id.number))
        try insert.bind(3, now)
        // Not now: the job itself is accepted after its name.
        try insert.bind(4, now + max(1, limits.uniqueMilliseconds))
        try insert.run()
        try forgetOldNames(at: now)
        return nil
    }

    /// The job that has a name; nil if none has it, or none that is remembered or live.
    package func job(named name: [UInt8], at now: Int64) throws(StoreFault) -> JobID? {
        let row = try cached(
            """
            SELECT job, accepted_at, EXISTS (SELECT 1 FROM jobs WHERE id = job)
            FROM unique_names WHERE name = ?
            """)
        try row.bind(1, name)
        defer { row.reset() }
        guard try row.step() else { return nil }
        let isRemembered = now - row.integer(1) < limits.uniqueMilliseconds
        return isRemembered || row.integer(2) != 0 ? JobID(UInt64(row.integer(0))) : nil
    }

    private func forgetOldNames(at now: Int64) throws(StoreFault) {
        let oldest = "SELECT name FROM unique_names WHERE look_at <= ?1 ORDER BY look_at LIMIT ?2"
        let keep = try cached(
            """
            UPDATE unique_names SET look_at = ?1 + ?3 WHERE name IN (\(oldest))
                AND EXISTS (SELECT 1 FROM jobs WHERE id = unique_names.job)
            """)
        try keep.bind(1, now)
        try keep.bind(2, Self.lookCount)
        try keep.bind(3, max(1, limits.uniqueMilliseconds))
        try keep.run()
        let forget = try cached("DELETE FROM unique_names WHERE name IN (\(oldest))")
        try forget.bind(1, now)
        try forget.bind(2, Self.lookCount)
        try forget.run()
    }

    /// How many names are kept.
    package func uniqueNameCount() throws(StoreFault) -> Int {
        Int(try database.integer("SELECT count(*) FROM unique_names") ?? 0)
    }
}
