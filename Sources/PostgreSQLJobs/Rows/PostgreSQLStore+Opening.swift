// The opening of tables that several daemons share. No job is read: each thread is claimed later.
//
// The attempts of this daemon's earlier run are in a file of this machine. If that run has ended
// and its threads are still on its seat, they move to the new one with these attempts, all in one
// transaction. If another daemon has moved them, the file is of no use: that daemon has counted an
// attempt for each job that may have begun.

internal import Jobs
internal import Journals
internal import Kernel
internal import Structures

extension PostgreSQLStore {
    /// How long the session of the earlier run is waited for: its process has ended.
    private static let earlierPatience = Duration.seconds(1)
    private static let earlierPause = Duration.milliseconds(20)

    /// Begins a run of a daemon that shares threads.
    ///
    /// - Parameter threads: the names of the threads, pools and slots that it can run.
    /// - Returns: the state of the tables: none of their jobs.
    /// - Throws: `StoreFault`, `SystemError`.
    /// - Blocks: for the server and the disk.
    func beginShare(
        attemptsPath: String, serving selectors: Set<String>, threads: [String],
        _ window: WindowLimits, at now: Int64
    ) throws -> (RecoveryCounter, StoreRecovery, AttemptLog) {
        let found = try AttemptLog.look(at: attemptsPath)
        let mark = try SystemRandom.number()
        var recovery = StoreRecovery()
        let earlier = try lockEarlierSeat(found)
        try transaction(at: now, isSynced: true) { () throws(StoreFault) in
            if let earlier, case .ring(_, let entries) = found {
                try moveThreads(from: earlier, entries, at: now)
            }
            var parameters = Parameters()
            parameters.add(seat.number)
            parameters.add(Int64(bitPattern: mark))
            try change(
                "UPDATE workerd.seats SET attempt_mark = $2::bigint WHERE id = $1::bigint",
                parameters)
            recovery.nextNumber = try takeNumbers(isAnnounced: true)
            try agree(on: threads)
        }
        if let earlier { try unlock(earlier) }
        recovery.reservedBelow = recovery.nextNumber + StoreRecovery.reservedCount
        try File.removeIfThere(attemptsPath)
        let counter = try RecoveryCounter(self, serving: selectors, stepCount: window.countedAtOnce)
        return (counter, recovery, try AttemptLog(attemptsPath, mark: mark))
    }

    /// Locks the seat of this daemon's earlier run.
    ///
    /// - Returns: its number; nil if it has no thread any more, or is not over.
    private func lockEarlierSeat(_ found: AttemptLog.Found) throws(StoreFault) -> Int64? {
        guard case .ring(let mark, _) = found, mark != 0 else { return nil }
        var parameters = Parameters()
        parameters.add(Int64(bitPattern: mark))
        let earlier = try rows(
            """
            SELECT id FROM workerd.seats seat WHERE attempt_mark = $1::bigint
                AND EXISTS (SELECT FROM workerd.threads WHERE threads.seat = seat.id)
            """, parameters
        ).first?.integer(0)
        guard let earlier else { return nil }
        let end = ContinuousClock.now + Self.earlierPatience
        while try !isLocked(earlier) {
            guard ContinuousClock.now < end,
                !seat.closing.wait(until: .now + Self.earlierPause)
            else { return nil }
        }
        return earlier
    }

    private func isLocked(_ number: Int64) throws(StoreFault) -> Bool {
        let connection = try present()
        return try seat.asking { () throws(ServerError) in
            try seat.lock(number, on: connection)
        }
    }

    private func unlock(_ number: Int64) throws(StoreFault) {
        let parameters = Parameters(lock: number)
        _ = try rows(
            "SELECT pg_advisory_unlock($1::bigint::integer, $2::bigint::integer)", parameters)
    }

    /// Moves the threads of an earlier run to this seat, with the attempts of its file.
    private func moveThreads(
        from earlier: Int64, _ entries: [UInt64: AttemptLog.Entry], at now: Int64
    ) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(earlier)
        let names = try rows(
            "SELECT name FROM workerd.threads WHERE seat = $1::bigint AND moved = 0", parameters
        ).all.map { $0.text(0) }
        let known = try entriesOfJobs(entries, of: names)
        try readHolds(of: known.keys.sorted())
        try Recovering.learn(known, in: self, at: now)
        parameters.add(seat.number)
        parameters.add(ServerSchema.Moved.handedOver.rawValue)
        try change(
            """
            WITH over AS (
                UPDATE workerd.seats SET epoch = epoch + 1 WHERE id = $1::bigint
            )
            UPDATE workerd.threads
            SET seat = $2::bigint, moved = CASE moved WHEN 0 THEN $3::bigint ELSE moved END
            WHERE seat = $1::bigint
            """, parameters)
    }

    /// Reads which of some jobs have a recorded holder.
    private func readHolds(of ids: [UInt64]) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(.numbers(ids))
        let rows = try rows(
            "SELECT job FROM workerd.holders WHERE job = ANY ($1::bigint[])", parameters)
        noteTaken(rows.all.map(JobColumns.id))
    }

    /// The entries of jobs that are of some threads and have not ended.
    private func entriesOfJobs(
        _ entries: [UInt64: AttemptLog.Entry], of names: [String]
    ) throws(StoreFault) -> [UInt64: AttemptLog.Entry] {
        var parameters = Parameters()
        parameters.add(.numbers(entries.keys.sorted()))
        parameters.add(.texts(names))
        let found = try rows(
            """
            SELECT id FROM workerd.jobs
            WHERE id = ANY ($1::bigint[]) AND \(Self.isInScope(2))
            """, parameters
        )
        let ids = Set(found.all.map { JobColumns.id($0).number })
        return entries.filter { ids.contains($0.key) }
    }
}
