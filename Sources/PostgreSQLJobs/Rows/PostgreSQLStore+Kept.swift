// The ended jobs in the table, as far as they are read into memory (KeptEnds.swift).

internal import Jobs

extension PostgreSQLStore {
    /// The number of earlier ended jobs that are read at once after a lost answer.
    static let readCount = 1_000

    /// Begins to read the ended jobs anew.
    func readKept() throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(scope)
        let row = try rows(
            """
            SELECT coalesce(max(id), 0), count(kept_until),
                coalesce(sum(length(result)) FILTER (WHERE kept_until IS NOT NULL), 0)::bigint
            FROM workerd.ended WHERE \(Self.isInScope(1))
            """, parameters
        ).first
        kept = KeptEnds(
            limits, earlierLast: row?.integer(0) ?? 0,
            named: KeptEnds.Named(
                count: Int(row?.integer(1) ?? 0), byteCount: Int(row?.integer(2) ?? 0)))
    }

    func readEnded(atMost limit: Int) throws(StoreFault) -> Bool {
        guard !kept.areAllKnown else { return false }
        var parameters = Parameters()
        parameters.add(kept.earlierThrough)
        parameters.add(kept.earlierLast)
        parameters.add(limit)
        parameters.add(scope)
        let rows = try rows(
            """
            SELECT id, ended_at,
                (coalesce(length(result), 0) + coalesce(length(payload), 0))::bigint,
                outcome IN (2, 3)
            FROM workerd.ended
            WHERE id > $1::bigint AND id <= $2::bigint AND kept_until IS NULL
                AND \(Self.isInScope(4))
            ORDER BY id LIMIT $3::bigint
            """, parameters)
        kept.addEarlier(rows, isLast: rows.count < limit)
        return !kept.areAllKnown
    }
}
