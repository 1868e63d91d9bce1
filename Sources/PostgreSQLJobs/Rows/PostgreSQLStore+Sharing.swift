// The tables of several daemons, each with threads of its own. A daemon reads and changes the jobs
// of its threads only: its scope.
//
// A thread passes from one daemon to another in two transactions of its new owner. The first one
// moves its row, and ends the epoch of an owner that has gone. The second one recovers its jobs as
// a restart would, and only then are they read.

internal import Jobs
internal import Journals

extension PostgreSQLStore {
    /// The names of the threads, pools and slots that a statement is about; nil for all.
    var scope: ArrayParameter? { share.map { .texts($0.scope) } }

    /// The condition that a row is of a thread in the scope.
    ///
    /// - Parameter number: that of the parameter with the scope.
    static func isInScope(_ number: Int) -> String {
        "($\(number)::text[] IS NULL OR split_part(thread, '/', 1) = ANY ($\(number)::text[]))"
    }

    var isShared: Bool { share != nil }

    func takeNewNumbers() -> UInt64? { share?.takeUntoldNumber() }

    func owns(_ thread: String) -> Bool { share?.includes(thread) ?? true }

    /// Reads again what depends on this daemon's threads, as they have changed.
    ///
    /// That is the count of kept results, and the submitted jobs, also the refused ones.
    func noteOtherThreads() {
        tryRefusedAgain()
        do throws(StoreFault) {
            try readKept()
            share?.mustReadKept = false
        } catch {
            // The next sign of life tries again.
        }
    }

    // MARK: - Moving

    func move(_ moves: [ThreadMove]) throws(StoreFault) {
        for move in moves {
            if move.from == seat.number {
                try give(move)
            } else if move.to == seat.number {
                try take(move)
            }
        }
    }

    /// Gives a thread to another daemon: all its changes are in the transactions before.
    private func give(_ move: ThreadMove) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(move.thread)
        parameters.add(move.from)
        parameters.add(move.to)
        parameters.add(ServerSchema.Moved.handedOver.rawValue)
        try change(
            """
            UPDATE workerd.threads SET seat = $3::bigint, moved = $4::bigint
            WHERE name = $1::text AND seat = $2::bigint AND moved = 0
            """, parameters)
        share?.give(move.thread)
    }

    /// Moves a thread to this seat whose daemon has gone; does nothing if another daemon was first.
    ///
    /// It also does nothing if the session is not the one of the look that decided it, as when a
    /// batch is made anew. The server may have restarted since: then all locks are free, also the
    /// lock of a daemon that is still trusted.
    private func take(_ move: ThreadMove) throws(StoreFault) {
        if move.from > Seat.whole {
            guard move.session == seat.sessionNumber, try endEpoch(of: move.from) else { return }
        }
        var parameters = Parameters()
        parameters.add(move.thread)
        parameters.add(move.from)
        parameters.add(seat.number)
        parameters.add(ServerSchema.Moved.takenOver.rawValue)
        guard move.from != Seat.whole else {
            parameters.add(Seat.restSetting)
            return try change(
                """
                INSERT INTO workerd.threads (name, seat, moved)
                SELECT $1::text, $3::bigint, coalesce(
                    (SELECT value FROM workerd.settings WHERE name = $5::text), $4::bigint)
                WHERE $2::bigint IS NOT NULL
                ON CONFLICT (name) DO NOTHING
                """, parameters)
        }
        try change(
            """
            UPDATE workerd.threads
            SET seat = $3::bigint, moved = CASE moved WHEN 0 THEN $4::bigint ELSE moved END
            WHERE name = $1::text AND seat = $2::bigint
            """, parameters)
    }

    /// Ends the epoch of a seat whose daemon has gone.
    ///
    /// - Returns: false if a session has its lock.
    private func endEpoch(of number: Int64) throws(StoreFault) -> Bool {
        var parameters = Parameters(lock: number)
        let isFree = try rows(
            "SELECT pg_try_advisory_xact_lock($1::bigint::integer, $2::bigint::integer)",
            parameters
        ).first?.isTrue(0)
        guard isFree == true else { return false }
        parameters = Parameters()
        parameters.add(number)
        try change(
            "UPDATE workerd.seats SET epoch = epoch + 1 WHERE id = $1::bigint", parameters)
        return true
    }

    // MARK: - Taking over

    /// How long a statement may take that reads all jobs of a thread: millions may wait.
    private static let longPatience = Duration.seconds(30)

    /// Waits longer for statements that may have to look at millions of jobs.
    func withPatience<Value>(
        _ body: () throws(StoreFault) -> Value
    ) throws(StoreFault) -> Value {
        let connection = try present()
        let patience = connection.patience
        connection.patience = Self.longPatience
        defer { connection.patience = patience }
        return try body()
    }

    func take(_ queues: [QueueName], at now: Int64) throws(StoreFault) -> TakenJobs {
        try withPatience { () throws(StoreFault) in try takePatiently(queues, at: now) }
    }

    private func takePatiently(
        _ queues: [QueueName], at now: Int64
    ) throws(StoreFault) -> TakenJobs {
        guard let thread = queues.first?.thread else {
            preconditionFailure("a thread has queues")
        }
        let group = ThreadGroup.name(of: thread)
        var taken = TakenJobs(of: thread)
        if try recover(group, at: now) {
            taken.nextNumber = try takeNumbers(isAnnounced: true)
            // It is looked for next, once for all threads that are taken up together.
            expirySearch.forget()
            taken.nextExpiry = now
        }
        taken.counts = try counts(of: thread)
        taken.held = share?.tellHeld(of: thread) ?? []
        var parameters = Parameters()
        parameters.add(PoolSlot.shown(thread))
        taken.isPaused =
            try rows(
                "SELECT EXISTS (SELECT FROM workerd.paused WHERE thread = $1::text)", parameters
            ).first?.isTrue(0) == true
        parameters = Parameters()
        parameters.add(thread)
        taken.schedules = try rows(
            """
            SELECT \(ScheduleColumns.all) FROM workerd.schedules WHERE thread = $1::text
            ORDER BY name
            """, parameters
        ).all.map(ScheduleColumns.record)
        return taken
    }

    /// Recovers the jobs of a thread or pool as a restart would.
    ///
    /// - Returns: whether that had to be done.
    /// - Throws: `foreignThread` if it belongs to another seat.
    private func recover(_ group: String, at now: Int64) throws(StoreFault) -> Bool {
        var parameters = Parameters()
        parameters.add(group)
        parameters.add(seat.number)
        let moved = try rows(
            """
            SELECT moved FROM workerd.threads WHERE name = $1::text AND seat = $2::bigint FOR UPDATE
            """, parameters
        ).first.map { ServerSchema.Moved(rawValue: $0.integer(0)) ?? .takenOver }
        guard let moved else {
            throw seat.fault(.foreignThread, "thread \(group) belongs to another node")
        }
        share?.take(group)
        guard moved != .not else { return false }
        share?.narrowed = group
        defer { share?.narrowed = nil }
        let names = try threadNames(of: group)
        if moved == .takenOver { try countBeginnings(of: names, at: now) }
        try forgetBeginnings(of: names)
        _ = try endAsked(at: now)
        try keepDue(of: names, at: now)
        try shortenPauses(of: names, at: now)
        let held = try takeHeld(at: now)
        share?.hold(held)
        try change(
            "UPDATE workerd.threads SET moved = 0 WHERE name = $1::text AND seat = $2::bigint",
            parameters)
        return true
    }

    /// The jobs of a thread that have not ended.
    private func counts(
        of thread: String
    ) throws(StoreFault) -> [QueueName: [String: [JobState: JobAmount]]] {
        let columns = "priority, held, selector, length(payload) AS byte_count"
        var parameters = Parameters()
        parameters.add(.texts([thread]))
        parameters.add(nil as Int64?)
        let found = try rows(
            """
            SELECT priority, held, selector, count(*), coalesce(sum(byte_count), 0)::bigint
            FROM (
                \(Self.inTurn(columns, of: 1, limit: 2))
                UNION ALL
                \(Self.delayed(columns, of: 1, limit: 2))
                UNION ALL
                SELECT \(columns) FROM workerd.jobs
                WHERE held > 0 AND held = 2 AND thread = ANY ($1::text[])
                    AND priority IN (0, 1, 2)
            ) AS jobs GROUP BY priority, held, selector
            """, parameters)
        var counts: [QueueName: [String: [JobState: JobAmount]]] = [:]
        for row in found.all {
            guard let priority = Priority(rawValue: Int(row.integer(0))) else { continue }
            let queue = QueueName(thread: thread, priority: priority)
            counts[queue, default: [:]][row.text(2), default: [:]][
                JobColumns.state(held: row.integer(1)), default: JobAmount()] += JobAmount(
                    count: Int(row.integer(3)), byteCount: Int(row.integer(4)))
        }
        return counts
    }

    // MARK: - Numbers

    /// Takes a range of numbers, all larger than the number of any job; keeps the present one if
    /// no daemon has taken another one since.
    ///
    /// - Parameter isAnnounced: whether the caller tells the scheduler.
    /// - Returns: the first number.
    func takeNumbers(isAnnounced: Bool) throws(StoreFault) -> UInt64 {
        let present = share?.presentNumber ?? 0
        let next = try rows("SELECT value FROM workerd.settings WHERE name = 'next_id'").first
        if present > 0, next?.integer(0) == Int64(present + ThreadShare.numberCount) {
            return present
        }
        return try takeNewNumbers(isAnnounced: isAnnounced)
    }

    private func takeNewNumbers(isAnnounced: Bool) throws(StoreFault) -> UInt64 {
        var parameters = Parameters()
        parameters.add(ThreadShare.numberCount)
        let end = try rows(
            """
            UPDATE workerd.settings
            SET value = ((\(Self.nextNumber) - 1) / $1::bigint + 2) * $1::bigint
            WHERE name = 'next_id' RETURNING value
            """, parameters
        ).first?.integer(0)
        guard let end else { throw seat.fault(.foreign, "its settings have no next_id") }
        let first = UInt64(end) - ThreadShare.numberCount
        share?.take(numbersFrom: first, isAnnounced: isAnnounced)
        return first
    }

    /// Takes another range in time: when half of the present one is given.
    func takeNumbers(ifBelow number: UInt64) throws(StoreFault) {
        guard let share, number > share.firstNumber + ThreadShare.numberCount / 2,
            number < share.firstNumber + ThreadShare.numberCount
        else { return }
        _ = try takeNewNumbers(isAnnounced: false)
    }

    // MARK: - The end

    /// Whether the daemons before this one have shared the threads, and all have ended in order.
    func wereSharedInOrder() throws(StoreFault) -> Bool {
        var parameters = Parameters()
        parameters.add(Seat.sharedSetting)
        parameters.add(seat.epoch - 1)
        parameters.add(Seat.restSetting)
        parameters.add(ServerSchema.Moved.handedOver.rawValue)
        return try rows(
            """
            SELECT EXISTS (SELECT FROM workerd.settings
                    WHERE name = $1::text AND value = $2::bigint)
                AND EXISTS (SELECT FROM workerd.settings
                    WHERE name = $3::text AND value = $4::bigint)
                AND NOT EXISTS (SELECT FROM workerd.threads WHERE moved <> $4::bigint)
            """, parameters
        ).first?.isTrue(0) == true
    }

    /// Gives all threads back: any daemon may take them at once.
    func giveAllBack() {
        var parameters = Parameters()
        parameters.add(seat.number)
        parameters.add(ServerSchema.Moved.handedOver.rawValue)
        try? transaction(at: 0, isSynced: true) { () throws(StoreFault) in
            try change(
                """
                UPDATE workerd.threads
                SET seat = 0, moved = CASE moved WHEN 0 THEN $2::bigint ELSE moved END
                WHERE seat = $1::bigint
                """, parameters)
        }
    }
}
