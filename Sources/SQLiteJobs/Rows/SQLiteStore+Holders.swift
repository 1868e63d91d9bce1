// Workers in other processes that hold attempts: a row for each attempt that lasts. Each function
// is part of a transaction.

package import Jobs
internal import Journals

extension SQLiteStore {
    /// The jobs that have a row with their holder.
    func readHolds() throws(StoreFault) -> Set<JobID> {
        let rows = try cached("SELECT job FROM holders")
        defer { rows.reset() }
        var ids: Set<JobID> = []
        while try rows.step() { ids.insert(JobID(UInt64(clamping: rows.integer(0)))) }
        return ids
    }

    /// Records which worker holds an attempt, or that none does any more.
    package func keep(
        _ holder: JobHolder?, of id: JobID, _ attempt: Int
    ) throws(StoreFault) {
        guard let holder else { return try releaseHolder(of: id) }
        let statement = try cached(
            """
            INSERT INTO holders (job, attempt, words) VALUES (?1, ?2, ?3)
            ON CONFLICT (job) DO UPDATE SET attempt = ?2, words = ?3
            """)
        try statement.bind(1, Int64(clamping: id.number))
        try statement.bind(2, Int64(attempt))
        try statement.bind(3, Self.bytes(of: holder.words))
        try statement.run()
        holds.insert(id)
        endedHolds.remove(id)
    }

    /// Deletes the record of a job's holder, if there is one.
    func forgetHolder(of id: JobID) throws(StoreFault) {
        guard holds.contains(id) else { return }
        let statement = try cached("DELETE FROM holders WHERE job = ?")
        try statement.bind(1, Int64(clamping: id.number))
        try statement.run()
        endedHolds.insert(id)
    }

    /// Records that no worker holds a job any more.
    ///
    /// The row stays, without a worker, if the job has left its turn at the opening: then the next
    /// opening puts it back there.
    private func releaseHolder(of id: JobID) throws(StoreFault) {
        guard holds.contains(id) else { return }
        let release = try cached(
            """
            UPDATE holders SET words = x'' WHERE job = ?1 AND EXISTS (
                SELECT 1 FROM jobs WHERE id = ?1 AND released_before = ?2)
            """)
        try release.bind(1, Int64(clamping: id.number))
        try release.bind(2, JobColumns.hasLeftTurn)
        try release.run()
        if database.changeCount == 0 { try forgetHolder(of: id) }
    }

    /// Records that a job waits again that had begun.
    ///
    /// - Parameters:
    ///   - attempt: how many attempts it has.
    ///   - forgivenCount: how many of these do not count against its retries.
    ///   - mayExpire: whether it still ends if it does not begin in time.
    package func putBack(
        _ id: JobID, attempt: Int, forgivenCount: Int, mayExpire: Bool
    ) throws(StoreFault) {
        try releaseHolder(of: id)
        let statement = try cached(
            """
            UPDATE jobs SET attempt = ?, forgiven = ?, started_at = NULL, worker = NULL,
                expires_at = CASE WHEN ? THEN expires_at END
            WHERE id = ?
            """)
        try changeRow(of: id) { () throws(StoreFault) in
            try statement.bind(1, Int64(attempt))
            try statement.bind(2, Int64(forgivenCount))
            try statement.bind(3, mayExpire ? 1 : 0)
            try statement.bind(4, Int64(id.number))
            try statement.run()
        }
    }

    /// Prepares jobs that workers of an earlier run may still hold: each is due now, with as many
    /// attempts as before the one that is held, so that the next one is that.
    ///
    /// Jobs that were prepared so at an earlier opening, and that no worker holds any more, are in
    /// turn again.
    ///
    /// - Returns: the held jobs, in the order of their numbers.
    package func takeHeld(at now: Int64) throws(StoreFault) -> [HeldJob] {
        let rows = try cached("SELECT job, attempt, words FROM holders ORDER BY job")
        var found: [(id: JobID, attempt: Int, holder: JobHolder?)] = []
        while try rows.step() {
            found.append(
                (
                    JobID(UInt64(clamping: rows.integer(0))), Int(rows.integer(1)),
                    JobHolder(Self.words(of: rows.bytes(2)))
                ))
        }
        rows.reset()
        let deferring = try cached(
            """
            UPDATE jobs SET held = 1, due_at = ?1, attempt = ?2, expires_at = NULL,
                released_before = CASE held WHEN 0 THEN ?4 ELSE released_before END
            WHERE id = ?3 AND (attempt = ?2 OR attempt = ?2 + 1)
            """)
        var held: [HeldJob] = []
        for (id, attempt, holder) in found {
            guard let holder else {
                try putInTurn(id)
                continue
            }
            try deferring.bind(1, now)
            try deferring.bind(2, Int64(attempt - 1))
            try deferring.bind(3, Int64(clamping: id.number))
            try deferring.bind(4, JobColumns.hasLeftTurn)
            try deferring.run()
            guard database.changeCount == 1, let job = try liveJob(id) else {
                try putInTurn(id)
                continue
            }
            held.append(HeldJob(job: job, holder: holder))
        }
        return held
    }

    /// Puts a job that no worker holds any more back in its turn, if it had left that.
    private func putInTurn(_ id: JobID) throws(StoreFault) {
        try forgetHolder(of: id)
        let statement = try cached(
            """
            UPDATE jobs SET held = 0, due_at = NULL, released_before = 0
            WHERE id = ? AND held = 1 AND released_before = ?
            """)
        try statement.bind(1, Int64(clamping: id.number))
        try statement.bind(2, JobColumns.hasLeftTurn)
        try statement.run()
    }

    /// Lowest byte first.
    private static func bytes(of words: [UInt64]) -> [UInt8] {
        words.flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
        }
    }

    private static func words(of bytes: [UInt8]) -> [UInt64] {
        stride(from: 0, to: bytes.count, by: 8).map { start in
            bytes[start..<min(start + 8, bytes.count)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
    }
}
