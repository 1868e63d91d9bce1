// The promotion of a standby. Its timeline is a new one, and it may lack the latest transactions of
// the old primary. A daemon that had the seat compares its committed transactions with the row of
// the seat, logs the missing changes and ends: its next start loads all anew. The first daemon that
// takes the seat on a new timeline leaps over the numbers that the old primary may have given.

internal import Jobs
internal import Journals

extension Seat {
    /// The distance between the last known number of a job and the first one on a new timeline.
    static let leap: Int64 = 1_000_000_000

    /// Logs the changes that a promoted standby lacks, and ends this daemon.
    ///
    /// - Returns: the fault. Clients must not be answered with it: the server may have their jobs.
    /// - Throws: `away` if the server does not tell.
    func promoted(
        on connection: ServerConnection, from earlier: ServerTimeline?, to found: ServerTimeline
    ) throws(StoreFault) -> StoreFault {
        var parameters = Parameters()
        parameters.add(number)
        let row = try asking { () throws(ServerError) in
            try connection.rows(
                """
                SELECT epoch, \(Self.latestBatch), (to_jsonb(seat) ->> 'base')::bigint
                FROM workerd.seats seat WHERE id = $1::bigint::integer
                """, parameters
            ).first
        }
        let lack: String
        if let row, let kept = lastKept(row) {
            lack = work.losses(after: kept).description
        } else {
            lack = "another daemon has taken the seat since, so what it lacks is not known"
        }
        return lose(
            "a standby was promoted (timeline \(earlier?.number ?? 0) to \(found.number)): \(lack)",
            .promoted)
    }

    /// The latest transaction of this daemon that the server has; nil if that can't be known.
    private func lastKept(_ row: Row) -> Int64? {
        // One from before the taking of the seat has less; one daemon later, it is in its `base`.
        if row.integer(0) <= epoch { return row.integer(1) }
        return row.integer(0) == epoch + 1 ? row.optionalInteger(2) : nil
    }

    /// Leaps over the numbers that were given on an earlier timeline; part of a transaction.
    func leapNumbers(
        from timeline: Int64?, on connection: ServerConnection
    ) throws(ServerError) {
        var parameters = Parameters()
        parameters.add(Self.leap)
        let next = try connection.rows(
            """
            UPDATE workerd.settings SET value = $1::bigint + greatest(value,
                (SELECT coalesce(max(id), 0) + 1 FROM workerd.jobs),
                (SELECT coalesce(max(id), 0) + 1 FROM workerd.ended))
            WHERE name = 'next_id' RETURNING value
            """, parameters
        ).first?.integer(0)
        log.warning(
            "the database server is another one than at the last start, or a promoted standby "
                + "(timeline \(timeline ?? 0) to \(server?.timeline.number ?? 0)): new jobs have "
                + "numbers from \(next ?? 0) on, as it may not have all that were given")
    }

    /// Warns if a promotion may lose accepted jobs.
    func warnOfWeakPromise(on connection: ServerConnection) throws(StoreFault) {
        let row = try asking { () throws(ServerError) in
            try connection.rows(
                """
                SELECT (SELECT count(*) FROM pg_stat_replication),
                    current_setting('synchronous_standby_names') = '',
                    current_setting('synchronous_commit')
                """
            ).first
        }
        guard let row, row.integer(0) > 0 || hosts.count > 1 else { return }
        let setting = row.text(2)
        let isLocal = setting == "local" || setting == "off"
        guard isLocal || row.isTrue(1) else { return }
        log.warning(
            "an accepted job may be lost when a standby is promoted: the database server does not "
                + "wait for one "
                + (isLocal
                    ? "(synchronous_commit is \(setting))"
                    : "(synchronous_standby_names is empty)"))
    }
}
