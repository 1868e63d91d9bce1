// Changes of single jobs that come less often; each is part of a transaction.

internal import Jobs
internal import Journals

extension PostgreSQLStore {
    /// Records that a job has begun at least `attempts` times.
    func begun(_ id: JobID, attempts: Int) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(id.number)
        parameters.add(attempts)
        try change(
            """
            UPDATE workerd.jobs SET attempt = $2::bigint
            WHERE id = $1::bigint AND attempt < $2::bigint
            """, parameters)
    }

    /// Records that a job waits again that had begun.
    ///
    /// - Parameters:
    ///   - attempt: how many attempts it has.
    ///   - forgivenCount: how many of these do not count against its retries.
    ///   - mayExpire: whether it still ends if it does not begin in time.
    func putBack(
        _ id: JobID, attempt: Int, forgivenCount: Int, mayExpire: Bool
    ) throws(StoreFault) {
        try releaseHolder(of: id)
        // It may expire again, and long ago.
        if mayExpire { expirySearch.forget() }
        recordedAttempts.append(id)
        var parameters = Parameters()
        parameters.add(id.number)
        parameters.add(attempt)
        parameters.add(forgivenCount)
        parameters.add(mayExpire ? 1 : 0)
        try change(
            """
            UPDATE workerd.jobs
            SET attempt = $2::bigint, forgiven = $3::bigint, started_at = NULL, worker = NULL,
                expires_at = CASE WHEN $4::bigint = 1 THEN expires_at END
            WHERE id = $1::bigint
            """, parameters)
    }

    /// Records that an attempt has failed and that the next one comes at a moment.
    func retry(_ id: JobID, _ attempt: Attempt, dueAt: Int64, at now: Int64) throws(StoreFault) {
        try forgetHolder(of: id)
        try noteDelay(until: dueAt)
        heads.change()
        recordedAttempts.append(id)
        try start(id, attempt)
        var parameters = Parameters()
        parameters.add(id.number)
        parameters.add(dueAt)
        try change(
            """
            UPDATE workerd.jobs SET held = 1, due_at = $2::bigint, released_before = 0
            WHERE id = $1::bigint
            """, parameters)
    }

    /// Records that all numbers below this one may have been given to jobs, kept or not.
    func reserve(below number: UInt64) throws(StoreFault) {
        guard share == nil else { return try takeNumbers(ifBelow: number) }
        var parameters = Parameters()
        parameters.add(number)
        try change(
            "UPDATE workerd.settings SET value = $1::bigint WHERE name = 'next_id'", parameters)
    }

    /// Nothing: each commit waits for the server's disk.
    func touch() {}

    /// Nothing: a session has no place that could be moved.
    func doubtPresence() {}

    /// Gives the seat back, with the note that nothing is unknown of its jobs.
    func end(isWritten: Bool) {
        defer { seat.leave() }
        guard isWritten else { return }
        guard share == nil else { return giveAllBack() }
        var parameters = Parameters()
        parameters.add(Seat.closedSetting)
        parameters.add(seat.epoch)
        try? transaction(at: 0, isSynced: true) { () throws(StoreFault) in
            try change(ServerSchema.keepSetting, parameters)
        }
    }

    /// Counts an attempt of jobs that may have begun in a daemon whose attempt log is not here.
    ///
    /// A daemon begins only jobs that are in its memory: the first ones of each queue, and delayed
    /// ones that are due. The attempt uses up no retry. An attempt that a worker holds is known: a
    /// job is held and due if an earlier opening has prepared it for its worker.
    func countUnknownBeginnings(at now: Int64) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(Seat.closedSetting)
        let closed = try rows(
            "SELECT value FROM workerd.settings WHERE name = $1::text", parameters
        ).first?.integer(0)
        guard seat.epoch > 1, closed != seat.epoch - 1, try !wereSharedInOrder() else { return }
        try countBeginnings(of: Set(queues().map(\.thread)), at: now)
    }

    /// Counts an attempt of the jobs of some threads that may have begun without a record.
    func countBeginnings(of threads: Set<String>, at now: Int64) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(.texts(threads.sorted()))
        parameters.add(windowCountMax)
        try change(
            """
            UPDATE workerd.jobs AS jobs SET attempt = attempt + 1, forgiven = forgiven + 1
            FROM (\(Self.inTurn("ctid AS place, started_at", of: 1, limit: 2))) AS first
            WHERE jobs.ctid = first.place AND first.started_at IS NULL
            """, parameters)
        // One that had expired before it was due has not begun.
        let due = Self.delayed(
            "ctid AS place, id, attempt", of: 1, limit: 2,
            where: """
                due_at <= $3::bigint
                    AND (expires_at IS NULL OR attempt > 0 OR expires_at > due_at)
                """)
        try change(
            """
            UPDATE workerd.jobs AS jobs SET attempt = jobs.attempt + 1, forgiven = forgiven + 1
            FROM (SELECT place FROM (\(due)) AS due
                WHERE NOT EXISTS (SELECT FROM workerd.holders AS holders
                    WHERE holders.job = due.id AND holders.attempt <= due.attempt)) AS begun
            WHERE jobs.ctid = begun.place
            """, Self.parameters(of: threads, at: now))
    }

    /// The parameters of a search for delayed jobs: the names of threads, no limit, and the time.
    private static func parameters(of threads: Set<String>, at now: Int64) -> Parameters {
        var parameters = Parameters()
        parameters.add(.texts(threads.sorted()))
        parameters.add(nil as Int64?)
        parameters.add(now)
        return parameters
    }

    /// Forgets when attempts have begun that are over, once they are counted: the next ones may
    /// begin without a record, and a daemon that takes over counts one for them.
    func forgetBeginnings() throws(StoreFault) {
        try forgetBeginnings(of: Set(queues().map(\.thread)))
    }

    /// Forgets when attempts of the jobs of some threads have begun.
    func forgetBeginnings(of threads: Set<String>) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(.texts(threads.sorted()))
        parameters.add(nil as Int64?)
        try change(
            """
            UPDATE workerd.jobs AS jobs SET started_at = NULL, worker = NULL
            FROM (\(Self.inTurn("ctid AS place, started_at", of: 1, limit: 2))) AS job
            WHERE jobs.ctid = job.place AND job.started_at IS NOT NULL
            """, parameters)
    }

    // MARK: - Holders

    /// Records which worker holds an attempt, or that none does any more.
    func keep(_ holder: JobHolder?, of id: JobID, _ attempt: Int) throws(StoreFault) {
        guard let holder else { return try releaseHolder(of: id) }
        var parameters = Parameters()
        parameters.add(id.number)
        parameters.add(attempt)
        var words: [UInt8] = []
        for word in holder.words { words.append(bigEndian: word) }
        parameters.add(words)
        try change(
            """
            INSERT INTO workerd.holders (job, attempt, words)
            VALUES ($1::bigint, $2::bigint, $3::bytea)
            ON CONFLICT (job) DO UPDATE SET attempt = excluded.attempt, words = excluded.words
            """, parameters)
        noteHold(id)
    }

    /// Records that no worker holds a job any more.
    ///
    /// The row stays, without a worker, if the job has left its turn at the opening: then the next
    /// opening puts it back there.
    private func releaseHolder(of id: JobID) throws(StoreFault) {
        guard holds.contains(id) else { return }
        var parameters = Parameters()
        parameters.add(id.number)
        parameters.add(JobColumns.hasLeftTurn)
        try change(
            """
            WITH left_turn AS (
                SELECT FROM workerd.jobs WHERE id = $1::bigint AND released_before = $2::bigint
            ), gone AS (
                DELETE FROM workerd.holders
                WHERE job = $1::bigint AND NOT EXISTS (SELECT FROM left_turn)
            )
            UPDATE workerd.holders SET words = ''
            WHERE job = $1::bigint AND EXISTS (SELECT FROM left_turn)
            """, parameters)
    }

    /// Prepares jobs that workers of an earlier run may still hold: each is due now, with as many
    /// attempts as before the one that is held, so that the next one is that.
    ///
    /// Jobs that were prepared so at an earlier opening, and that no worker holds any more, are in
    /// turn again.
    ///
    /// - Returns: the held jobs, in the order of their numbers.
    func takeHeld(at now: Int64) throws(StoreFault) -> [HeldJob] {
        try noteDelay(until: now)
        var scoped = Parameters()
        scoped.add(scope)
        let found = try rows(
            """
            SELECT holders.job, holders.attempt, holders.words
            FROM workerd.holders LEFT JOIN workerd.jobs ON jobs.id = holders.job
            WHERE \(Self.isInScope(1)) ORDER BY holders.job
            """, scoped)
        noteTaken(found.all.map(JobColumns.id))
        var held: [HeldJob] = []
        for row in found.all {
            let id = JobColumns.id(row)
            guard let holder = JobHolder(Self.words(of: row.bytes(2))),
                let job = try takeHeld(id, attempt: row.integer(1), at: now)
            else {
                try putInTurn(id)
                continue
            }
            held.append(HeldJob(job: job, holder: holder))
        }
        return held
    }

    private func takeHeld(
        _ id: JobID, attempt: Int64, at now: Int64
    ) throws(StoreFault) -> Job? {
        var parameters = Parameters()
        parameters.add(now)
        parameters.add(attempt - 1)
        parameters.add(id.number)
        parameters.add(JobColumns.hasLeftTurn)
        return try rows(
            """
            UPDATE workerd.jobs
            SET held = 1, due_at = $1::bigint, attempt = $2::bigint, expires_at = NULL,
                released_before = CASE held WHEN 0 THEN $4::bigint ELSE released_before END
            WHERE id = $3::bigint AND attempt IN ($2::bigint, $2::bigint + 1)
            RETURNING \(JobColumns.live)
            """, parameters
        ).first.map(JobColumns.liveJob)
    }

    /// Puts a job that no worker holds any more back in its turn, if it had left that.
    private func putInTurn(_ id: JobID) throws(StoreFault) {
        try forgetHolder(of: id)
        var parameters = Parameters()
        parameters.add(id.number)
        parameters.add(JobColumns.hasLeftTurn)
        let back = try rows(
            """
            UPDATE workerd.jobs SET held = 0, due_at = NULL, released_before = 0
            WHERE id = $1::bigint AND held = 1 AND released_before = $2::bigint RETURNING thread
            """, parameters)
        if let thread = back.first?.text(0) { try noteInTurn(id, thread) }
    }

    private static func words(of bytes: [UInt8]) -> [UInt64] {
        stride(from: 0, to: bytes.count, by: 8).map { start in
            bytes[start..<min(start + 8, bytes.count)].reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    // MARK: - Pauses and requests to end

    func pausedThreads() throws(StoreFault) -> Set<String> {
        let rows = try rows("SELECT thread FROM workerd.paused")
        return Set(rows.all.map { $0.text(0) })
    }

    /// Stores which threads are paused, and which no longer are.
    func keep(_ pauses: PauseChange) throws(StoreFault) {
        for name in pauses.goingOn {
            var parameters = Parameters()
            parameters.add(name)
            try change("DELETE FROM workerd.paused WHERE thread = $1::text", parameters)
        }
        if let pool = pauses.poolGoingOn {
            var parameters = Parameters()
            parameters.add(pool)
            try change(
                """
                DELETE FROM workerd.paused
                WHERE thread = $1::text OR starts_with(thread, $1::text || '/')
                """, parameters)
        }
        for name in pauses.paused {
            var parameters = Parameters()
            parameters.add(name)
            try change(
                "INSERT INTO workerd.paused (thread) VALUES ($1::text) ON CONFLICT DO NOTHING",
                parameters)
        }
    }

    /// Ends the jobs that were asked to end and had not ended when the process died.
    ///
    /// - Returns: their number.
    func endAsked(at now: Int64) throws(StoreFault) -> Int {
        var parameters = Parameters()
        parameters.add(scope)
        let found = try rows(
            """
            SELECT asked.job, jobs.id IS NOT NULL
            FROM workerd.asked_to_end AS asked LEFT JOIN workerd.jobs ON jobs.id = asked.job
            WHERE \(Self.isInScope(1)) ORDER BY asked.job
            """, parameters)
        for row in found.all { try end(JobColumns.id(row), nil, .cancelled, at: now) }
        if found.count > 0 {
            parameters = Parameters()
            parameters.add(.numbers(found.all.map { JobColumns.id($0).number }))
            for table in ["asked_to_end", "holders"] {
                try change(
                    "DELETE FROM workerd.\(table) WHERE job = ANY ($1::bigint[])", parameters)
            }
        }
        return found.all.reduce(0) { $0 + ($1.isTrue(1) ? 1 : 0) }
    }

    // MARK: - Clock corrections

    /// Redates all jobs that were due and no longer are.
    ///
    /// - Parameter now: the time of the clock, which may have been set back.
    func keepDue(at now: Int64) throws(StoreFault) {
        try noteDelay(until: now)
        var parameters = Parameters()
        parameters.add(now)
        parameters.add(scope)
        try change(
            """
            UPDATE workerd.jobs SET due_at = $1::bigint
            WHERE held = 1 AND released_before > 0 AND due_at > $1::bigint
                AND \(Self.isInScope(2))
            """, parameters)
    }

    /// The same for some threads: it looks at none of the jobs of others.
    func keepDue(of threads: Set<String>, at now: Int64) throws(StoreFault) {
        try noteDelay(until: now)
        let later = Self.delayed(
            "ctid AS place", of: 1, limit: 2,
            where: "due_at > $3::bigint AND released_before > 0")
        try change(
            """
            UPDATE workerd.jobs AS jobs SET due_at = $3::bigint FROM (\(later)) AS later
            WHERE jobs.ctid = later.place
            """, Self.parameters(of: threads, at: now))
    }

    /// Redates retries that would come later than a pause may last.
    ///
    /// - Parameter now: the time of the clock, which may have been set back.
    func shortenPauses(at now: Int64) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(now)
        parameters.add(scope)
        let found = try rows(
            """
            SELECT id, attempt - forgiven, due_at FROM workerd.jobs
            WHERE held = 1 AND attempt > forgiven AND due_at > $1::bigint
                AND \(Self.isInScope(2))
            """, parameters)
        try shorten(found, at: now)
    }

    /// The same for some threads: it looks at none of the jobs of others.
    func shortenPauses(of threads: Set<String>, at now: Int64) throws(StoreFault) {
        let later = Self.delayed(
            "id, attempt - forgiven AS attempts, due_at", of: 1, limit: 2,
            where: "due_at > $3::bigint AND attempt > forgiven")
        try shorten(try rows(later, Self.parameters(of: threads, at: now)), at: now)
    }

    /// - Parameter pauses: the numbers of jobs, their attempts, and when the next ones come.
    private func shorten(_ pauses: Rows, at now: Int64) throws(StoreFault) {
        for row in pauses.all {
            let longest = RetryPause.milliseconds(after: Int(row.integer(1))).upperBound
            guard row.integer(2) > now + longest else { continue }
            try noteDelay(until: now + longest)
            var parameters = Parameters()
            parameters.add(row.integer(0))
            parameters.add(now + longest)
            try change(
                "UPDATE workerd.jobs SET due_at = $2::bigint WHERE id = $1::bigint", parameters)
        }
    }

    // MARK: - The marks of the attempt log

    func attemptMarks() throws(StoreFault) -> AttemptMarks {
        let found = try rows(
            """
            SELECT name, value FROM workerd.settings
            WHERE name IN ('\(AttemptMarks.presentSetting)', '\(AttemptMarks.learntSetting)')
            """)
        var marks = AttemptMarks()
        for row in found.all {
            let mark = UInt64(bitPattern: row.integer(1))
            if row.text(0) == AttemptMarks.presentSetting {
                marks.present = mark
            } else {
                marks.learnt = mark
            }
        }
        return marks
    }

    func setAttemptMarks(_ marks: AttemptMarks) throws(StoreFault) {
        for (name, value) in [
            (AttemptMarks.presentSetting, Optional(marks.present)),
            (AttemptMarks.learntSetting, marks.learnt),
        ] {
            var parameters = Parameters()
            parameters.add(name)
            guard let value else {
                try change("DELETE FROM workerd.settings WHERE name = $1::text", parameters)
                continue
            }
            parameters.add(Int64(bitPattern: value))
            try change(ServerSchema.keepSetting, parameters)
        }
    }
}
