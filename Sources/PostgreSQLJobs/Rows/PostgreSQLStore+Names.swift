// The names under which clients submit a job once, however often they try. A name leads to its job
// for a while, and until the job has ended; older names are deleted as new ones come.

internal import Jobs
internal import Journals

/// How far old names are forgotten.
struct OldNames {
    /// The names that are to be looked at earlier are forgotten, but for a few.
    ///
    /// A long transaction of another program may keep the entries of millions of them.
    private var through = Int64.min
    /// The same, as the open transaction leaves it.
    private var open: Int64?

    mutating func begin() { open = nil }

    mutating func commit() { if let open { through = open } }

    /// The moment from which names are looked for: the first one if the clock was set back.
    fileprivate func start(at now: Int64) -> Int64 { now < through ? .min : through }

    fileprivate mutating func forget(through moment: Int64) { open = moment }
}

extension PostgreSQLStore {
    /// How far before the last look the next one begins, as another daemon may commit a name late.
    ///
    /// A name that comes later still is forgotten when a daemon starts.
    private static let latenessMilliseconds: Int64 = 10_000
    /// The number of old names that each transaction with new ones checks: more than it gives, so
    /// that they end.
    private static let lookCount = 1_000

    /// Gives a name to a new job, unless another job has it; part of a transaction.
    ///
    /// - Returns: the job that has the name already, in which case nothing has changed.
    /// - Throws: also `nameInUse`, if an open transaction of another daemon uses the name: none
    ///   waits for another one, so none is held up by a slow one.
    func giveName(
        _ claim: NameClaim, to id: JobID, at now: Int64
    ) throws(StoreFault) -> NamedJob? {
        if isShared { try lock(claim) }
        if let other = try job(of: claim, at: now) { return other }
        var parameters = Parameters()
        parameters.add(claim.name)
        parameters.add(id.number)
        // Not now: the job itself is accepted after its name.
        parameters.add(max(now + 1, claim.until))
        parameters.add(claim.until)
        parameters.add(Int64(bitPattern: claim.fingerprint))
        try change(
            """
            INSERT INTO workerd.unique_names (name, job, look_at, hold_until, fingerprint)
            VALUES ($1::bytea, $2::bigint, $3::bigint, $4::bigint, $5::bigint)
            ON CONFLICT (name) DO UPDATE
            SET job = excluded.job, look_at = excluded.look_at, hold_until = excluded.hold_until,
                fingerprint = excluded.fingerprint
            """, parameters)
        noteNewName()
        return nil
    }

    /// Locks a name until the end of the transaction.
    private func lock(_ claim: NameClaim) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(Int64(ServerSchema.nameLockClass))
        parameters.add(claim.name)
        let isLocked = try rows(
            """
            SELECT pg_try_advisory_xact_lock($1::bigint::integer,
                hashtext(encode($2::bytea, 'hex')))
            """, parameters
        ).first?.isTrue(0)
        guard isLocked == true else {
            throw seat.fault(
                .nameInUse, "another node is using the name of this job just now: try again")
        }
    }

    /// The job that has the claimed name; nil if none has, or a new one may have it.
    func job(of claim: NameClaim, at now: Int64) throws(StoreFault) -> NamedJob? {
        var parameters = Parameters()
        parameters.add(claim.name)
        let row = try rows(
            """
            SELECT names.job, names.hold_until, names.fingerprint,
                EXISTS (SELECT FROM workerd.jobs WHERE id = names.job)
            FROM workerd.unique_names AS names WHERE names.name = $1::bytea
            """, parameters
        ).first
        guard let row else { return nil }
        let isRemembered = !claim.isAgain && now < row.integer(1)
        guard isRemembered || row.isTrue(3) else { return nil }
        let isSame = UInt64(bitPattern: row.integer(2)) == claim.fingerprint
        return NamedJob(JobColumns.id(row), isSame: isSame)
    }

    /// Deletes names whose time is over; those of jobs that have not ended are looked at later.
    func forgetOldNames(at now: Int64) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(now)
        parameters.add(Self.lookCount)
        parameters.add(now + max(1, limits.uniqueMilliseconds))
        parameters.add(oldNames.start(at: now))
        try change(
            """
            WITH found AS MATERIALIZED (
                SELECT name, look_at, job FROM workerd.unique_names
                WHERE look_at >= $4::bigint AND look_at <= $1::bigint
                ORDER BY look_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED
            ), old AS MATERIALIZED (
                SELECT found.*, live.id IS NOT NULL AS is_live
                FROM found LEFT JOIN LATERAL (
                    SELECT id FROM workerd.jobs WHERE id = found.job OFFSET 0) AS live ON true
            ), gone AS (
                DELETE FROM workerd.unique_names AS names USING old
                WHERE names.name = old.name AND NOT old.is_live
            ), kept AS (
                UPDATE workerd.unique_names AS names SET look_at = $3::bigint FROM old
                WHERE names.name = old.name AND old.is_live
            )
            SELECT count(*), max(look_at) FROM old
            """, parameters
        ) { [unowned self] in
            guard let found = $0.first else { return }
            let last = found.integer(0) < Self.lookCount ? now : found.integer(1)
            oldNames.forget(through: min(last, now - Self.latenessMilliseconds))
        }
    }
}
