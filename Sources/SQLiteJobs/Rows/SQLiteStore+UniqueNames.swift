// The names under which clients submit a job once, however often they try. A name leads to its job
// for a while, and until the job has ended; older names are deleted as new ones come.

package import Jobs

extension SQLiteStore {
    /// The number of old names that each new one checks: more than come, so that they end.
    private static let lookCount: Int64 = 16

    /// Gives a name to a new job, unless another job has it; part of a transaction.
    ///
    /// - Returns: the job that has the name already, in which case nothing has changed.
    package func giveName(
        _ claim: NameClaim, to id: JobID, at now: Int64
    ) throws(StoreFault) -> NamedJob? {
        if let other = try job(of: claim, at: now) { return other }
        let insert = try cached(
            """
            INSERT INTO unique_names (name, job, accepted_at, look_at, hold_until, fingerprint)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (name) DO UPDATE
            SET job = ?2, accepted_at = ?3, look_at = ?4, hold_until = ?5, fingerprint = ?6
            """)
        try insert.bind(1, claim.name)
        try insert.bind(2, Int64(clamping: id.number))
        try insert.bind(3, now)
        // Not now: the job itself is accepted after its name.
        try insert.bind(4, max(now + 1, claim.until))
        try insert.bind(5, claim.until)
        try insert.bind(6, Int64(bitPattern: claim.fingerprint))
        try insert.run()
        try forgetOldNames(at: now)
        return nil
    }

    /// The job that has the claimed name; nil if none has, or a new one may have it.
    package func job(of claim: NameClaim, at now: Int64) throws(StoreFault) -> NamedJob? {
        let row = try cached(
            "SELECT job, accepted_at, hold_until, fingerprint FROM unique_names WHERE name = ?")
        try row.bind(1, claim.name)
        defer { row.reset() }
        guard try row.step() else { return nil }
        let id = JobID(UInt64(row.integer(0)))
        let until = row.optionalInteger(2) ?? row.integer(1) + limits.uniqueMilliseconds
        // A name of before has none: its client is believed.
        let fingerprint = row.optionalInteger(3).map { UInt64(bitPattern: $0) }
        let isRemembered = !claim.isAgain && now < until
        if !isRemembered, try !isLive(id) { return nil }
        return NamedJob(id, isSame: fingerprint.map { $0 == claim.fingerprint } ?? true)
    }

    private func isLive(_ id: JobID) throws(StoreFault) -> Bool {
        let row = try cached("SELECT 1 FROM jobs WHERE id = ?")
        try row.bind(1, Int64(clamping: id.number))
        defer { row.reset() }
        if try row.step() { return true }
        return try waitingPacks.contains(id.number)
    }

    private func forgetOldNames(at now: Int64) throws(StoreFault) {
        let rows = try cached(
            "SELECT name, job FROM unique_names WHERE look_at <= ? ORDER BY look_at LIMIT ?")
        try rows.bind(1, now)
        try rows.bind(2, Self.lookCount)
        var old: [(name: [UInt8], id: JobID)] = []
        while try rows.step() {
            old.append((rows.bytes(0), JobID(UInt64(clamping: rows.integer(1)))))
        }
        for (name, id) in old {
            let statement: Statement
            if try isLive(id) {
                statement = try cached("UPDATE unique_names SET look_at = ?2 WHERE name = ?1")
                try statement.bind(2, now + max(1, limits.uniqueMilliseconds))
            } else {
                statement = try cached("DELETE FROM unique_names WHERE name = ?1")
            }
            try statement.bind(1, name)
            try statement.run()
        }
    }
}
