// The ended jobs in the table, as far as they are read into memory (KeptEnds.swift).

internal import Jobs

extension PostgreSQLStore {
    /// How many rows a page of the table has, or fewer.
    private static let rowsOfPage = 8

    /// Begins to read the ended jobs anew.
    func readKept() throws(StoreFault) {
        let row = try rows(
            "SELECT pg_relation_size('workerd.ended') / current_setting('block_size')::bigint"
        ).first
        kept = KeptEnds(limits, earlierPageCount: Int(row?.integer(0) ?? 0))
    }

    var areEndsRead: Bool { kept.areAllKnown }

    /// Reads the ended jobs in some pages of the table.
    ///
    /// The time of a step is limited by the number of its pages. If a long transaction is open, an
    /// index may have millions of entries of jobs that were dropped between two that are kept.
    func readEnded(atMost limit: Int) throws(StoreFault) -> Bool {
        guard let pages = kept.nextPages(atMost: max(1, limit / Self.rowsOfPage)) else {
            return false
        }
        var parameters = Parameters()
        parameters.add("(\(pages.lowerBound),0)")
        parameters.add("(\(pages.upperBound),0)")
        parameters.add(scope)
        let rows = try rows(
            """
            SELECT id, ended_at,
                (coalesce(length(result), 0) + coalesce(length(payload), 0))::bigint,
                outcome IN (2, 3), kept_until
            FROM workerd.ended
            WHERE ctid >= $1::text::tid AND ctid < $2::text::tid AND \(Self.isInScope(3))
            """, parameters)
        kept.addEarlier(rows, of: pages)
        return !kept.areAllKnown
    }
}
