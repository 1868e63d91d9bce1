// Jobs that end if they have not begun in time.
//
// While a transaction of another program is open, the index of expiring jobs keeps the entries of
// all that have begun since. So a search for expired jobs begins where the one before has found the
// first one, and a search for the next one ends a while ahead.

internal import Jobs
internal import Journals

/// The place at which a search for expired jobs begins.
struct ExpirySearch {
    /// How far ahead the next one is looked for, in milliseconds: then it is looked for again.
    static let aheadMilliseconds: Int64 = 10_000

    /// No waiting job of this daemon's threads expires before this moment; nil if that is not
    /// known.
    private(set) var start: Int64?

    /// All jobs were looked through, and this one expires first.
    mutating func found(first moment: Int64) { start = moment }

    /// A waiting job expires at a moment.
    mutating func add(_ moment: Int64) { if let start, moment < start { self.start = moment } }

    /// The next search looks through all.
    mutating func forget() { start = nil }
}

extension PostgreSQLStore {
    /// The time at which the next waiting job expires; nil if there is none.
    ///
    /// It looks at all jobs that have expired and begun under the oldest open transaction.
    func nextExpiry() throws(StoreFault) -> Int64? {
        let next = try withPatience { () throws(StoreFault) in
            try nextExpiry(after: .min, through: .max)
        }
        expirySearch.found(first: next ?? .max)
        return next
    }

    private func nextExpiry(
        after moment: Int64, through last: Int64
    ) throws(StoreFault) -> Int64? {
        var parameters = Parameters()
        parameters.add(moment)
        parameters.add(last)
        parameters.add(scope)
        return try rows(
            """
            SELECT min(expires_at) FROM workerd.jobs
            WHERE expires_at IS NOT NULL AND attempt = 0 AND expires_at > $1::bigint
                AND expires_at <= $2::bigint AND \(Self.isInScope(3))
            """, parameters
        ).first?.optionalInteger(0)
    }

    /// The waiting jobs that have expired by a time.
    func expiring(
        at moment: Int64, after place: DueKey, limit: Int
    ) throws(StoreFault) -> ExpiringJobs {
        var found = ExpiringJobs()
        let start = max(place, DueKey(dueAt: expirySearch.start ?? .min, id: JobID(0)))
        let search = { () throws(StoreFault) in
            try self.expired(at: moment, after: start, limit: limit)
        }
        // From the first job on, it may have to look at millions.
        found.places = start == .first ? try withPatience(search) : try search()
        if place == .first {
            // They expire again until they have ended.
            expirySearch.found(first: found.places.first?.dueAt ?? moment)
        }
        found.isEnd = found.places.count < limit
        if found.isEnd {
            let (sum, isBeyond) = moment.addingReportingOverflow(ExpirySearch.aheadMilliseconds)
            let last = isBeyond ? .max : sum
            found.next = try nextExpiry(after: moment, through: last) ?? last
        }
        return found
    }

    private func expired(
        at moment: Int64, after place: DueKey, limit: Int
    ) throws(StoreFault) -> [DueKey] {
        var parameters = Parameters()
        parameters.add(moment)
        parameters.add(place.dueAt)
        parameters.add(place.id.number)
        parameters.add(limit)
        parameters.add(scope)
        return try rows(
            """
            SELECT id, expires_at FROM workerd.jobs
            WHERE expires_at IS NOT NULL AND attempt = 0 AND expires_at <= $1::bigint
                AND (expires_at, id) > ($2::bigint, $3::bigint) AND \(Self.isInScope(5))
            ORDER BY expires_at, id LIMIT $4::bigint
            """, parameters
        ).all.map { DueKey(dueAt: $0.integer(1), id: JobColumns.id($0)) }
    }
}
