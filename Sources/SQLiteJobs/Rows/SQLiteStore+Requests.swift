// Requests of clients that are no jobs and must outlive the daemon: paused threads, and running
// jobs that were asked to end. Each change is part of a transaction.

package import Jobs

extension SQLiteStore {
    // MARK: - Paused threads

    /// The names of the threads and pools that are paused.
    package func pausedThreads() throws(StoreFault) -> Set<String> {
        let rows = try cached("SELECT thread FROM paused")
        defer { rows.reset() }
        var threads: Set<String> = []
        while try rows.step() { threads.insert(rows.text(0)) }
        return threads
    }

    /// Stores which threads are paused, and which no longer are.
    package func keep(_ change: PauseChange) throws(StoreFault) {
        let forget = try cached("DELETE FROM paused WHERE thread = ?")
        for name in change.goingOn {
            try forget.bind(1, name)
            try forget.run()
        }
        if let pool = change.poolGoingOn {
            // Its own name, and all names that begin with it and a slash, which sorts just before a
            // zero.
            let forgetAll = try cached(
                """
                DELETE FROM paused
                WHERE thread = ?1 OR (thread > ?1 || '/' AND thread < ?1 || '0')
                """)
            try forgetAll.bind(1, pool)
            try forgetAll.run()
        }
        let keep = try cached(
            "INSERT INTO paused (thread) VALUES (?) ON CONFLICT (thread) DO NOTHING")
        for name in change.paused {
            try keep.bind(1, name)
            try keep.run()
        }
    }

    // MARK: - Jobs that were asked to end

    /// Records that a running job was asked to end: it does not run again.
    package func askToEnd(_ id: JobID) throws(StoreFault) {
        let statement = try cached(
            "INSERT INTO asked_to_end (job) VALUES (?) ON CONFLICT (job) DO NOTHING")
        try statement.bind(1, Int64(clamping: id.number))
        try statement.run()
        askedToEnd.insert(id)
    }

    /// Ends the jobs that were asked to end and had not ended when the process died.
    ///
    /// - Returns: their number.
    package func endAsked(at now: Int64) throws(StoreFault) -> Int {
        let rows = try cached("SELECT job FROM asked_to_end ORDER BY job")
        var ids: [JobID] = []
        while try rows.step() { ids.append(JobID(UInt64(clamping: rows.integer(0)))) }
        rows.reset()
        var count = 0
        for id in ids {
            // A job whose end was recorded is no longer among them.
            if try job(id)?.state.isEnded == false { count += 1 }
            try end(id, nil, .cancelled, at: now)
        }
        if !ids.isEmpty { try cached("DELETE FROM asked_to_end").run() }
        return count
    }

    /// Deletes the record that a job was asked to end.
    func forgetAsked(_ id: JobID) throws(StoreFault) {
        askedToEnd.remove(id)
        let statement = try cached("DELETE FROM asked_to_end WHERE job = ?")
        try statement.bind(1, Int64(clamping: id.number))
        try statement.run()
    }
}
