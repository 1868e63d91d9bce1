// What clients have asked for that is no job and has to outlive the daemon: threads that are paused, and
// jobs that ran and were asked to end. Each change is part of a transaction.

extension SQLiteStore {
    // MARK: - Paused threads

    /// The threads that are paused.
    package func pausedThreads() throws(StoreFault) -> Set<String> {
        let rows = try cached("SELECT thread FROM paused")
        defer { rows.reset() }
        var threads: Set<String> = []
        while try rows.step() { threads.insert(rows.text(0)) }
        return threads
    }

    /// Keeps that a thread is paused, or is no more.
    package func keep(_ thread: String, isPaused: Bool) throws(StoreFault) {
        let statement = try cached(
            isPaused
                ? "INSERT INTO paused (thread) VALUES (?) ON CONFLICT (thread) DO NOTHING"
                : "DELETE FROM paused WHERE thread = ?")
        try statement.bind(1, thread)
        try statement.run()
    }

    // MARK: - Jobs that are to end

    /// Keeps that a job which runs was asked to end: it does not run again.
    package func askToEnd(_ id: JobID) throws(StoreFault) {
        let statement = try cached(
            "INSERT INTO asked_to_end (job) VALUES (?) ON CONFLICT (job) DO NOTHING")
        try statement.bind(1, Int64(clamping: id.number))
        try statement.run()
        askedToEnd.insert(id)
    }

    /// Ends those that were asked to and had not when the process died.
    ///
    /// - Returns: how many.
    package func endAsked(at now: Int64) throws(StoreFault) -> Int {
        let rows = try cached("SELECT job FROM asked_to_end ORDER BY job")
        var ids: [JobID] = []
        while try rows.step() { ids.append(JobID(UInt64(clamping: rows.integer(0)))) }
        rows.reset()
        var count = 0
        for id in ids {
            // One that has ended, and whose end was recorded, is no more among them.
            if try job(id)?.state.isEnded == false { count += 1 }
            try end(id, nil, .cancelled, at: now)
        }
        if !ids.isEmpty { try cached("DELETE FROM asked_to_end").run() }
        return count
    }

    /// Forgets that a job was asked to end.
    func forgetAsked(_ id: JobID) throws(StoreFault) {
        askedToEnd.remove(id)
        let statement = try cached("DELETE FROM asked_to_end WHERE job = ?")
        try statement.bind(1, Int64(clamping: id.number))
        try statement.run()
    }
}
