// Jobs that expire if they have not begun by a time. They have rows and an index of their own, so
// that a search among a million jobs reads only those.

package import Jobs

extension SQLiteStore {
    /// The time at which the next waiting job expires; nil if there is none.
    package func nextExpiry() throws(StoreFault) -> Int64? { try nextExpiry(after: .min) }

    private func nextExpiry(after moment: Int64) throws(StoreFault) -> Int64? {
        let rows = try cached(
            """
            SELECT min(expires_at) FROM jobs
            WHERE expires_at IS NOT NULL AND attempt = 0 AND expires_at > ?
            """)
        try rows.bind(1, moment)
        defer { rows.reset() }
        return try rows.step() ? rows.optionalInteger(0) : nil
    }

    /// The waiting jobs that have expired by a time.
    ///
    /// - Parameters:
    ///   - place: only jobs behind this place.
    ///   - limit: the largest number of jobs.
    package func expiring(
        at moment: Int64, after place: DueKey, limit: Int
    ) throws(StoreFault) -> ExpiringJobs {
        let rows = try cached(
            """
            SELECT expires_at, id FROM jobs
            WHERE expires_at IS NOT NULL AND attempt = 0 AND expires_at <= ?1
                AND (expires_at, id) > (?2, ?3)
            ORDER BY expires_at, id LIMIT ?4
            """)
        try rows.bind(1, moment)
        try rows.bind(2, place.dueAt)
        try rows.bind(3, Int64(clamping: place.id.number))
        try rows.bind(4, Int64(limit))
        defer { rows.reset() }
        var found = ExpiringJobs()
        while try rows.step() {
            found.places.append(
                DueKey(dueAt: rows.integer(0), id: JobID(UInt64(clamping: rows.integer(1)))))
        }
        found.isEnd = found.places.count < limit
        if found.isEnd { found.next = try nextExpiry(after: moment) }
        return found
    }
}
