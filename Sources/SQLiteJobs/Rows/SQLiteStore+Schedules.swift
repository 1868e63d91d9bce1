// Schedules in the store. A run is recorded in the transaction that accepts its job, so that there
// is never one without the other.

package import Jobs
internal import Journals

extension SQLiteStore {
    /// All schedules, in the order of their names.
    package func schedules() throws(StoreFault) -> [ScheduleRecord] {
        let rows = try cached("SELECT \(ScheduleColumns.all) FROM schedules ORDER BY name")
        var records: [ScheduleRecord] = []
        while try rows.step() { records.append(ScheduleColumns.record(rows)) }
        return records
    }

    // MARK: - Inside a transaction

    /// Stores a schedule in place of one of the same name.
    ///
    /// If the rhythm is the same, the new schedule continues the old one's progress.
    package func keep(_ record: ScheduleRecord) throws(StoreFault) {
        var record = record
        let name = record.definition.name
        if let before = try schedule(name), before.definition.rhythm == record.definition.rhythm {
            record.progress = before.progress
        }
        try dropSchedule(name)
        let statement = try cached(
            """
            INSERT INTO schedules (\(ScheduleColumns.all))
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        let definition = record.definition
        try statement.bind(1, name)
        try statement.bind(2, record.isFromCommand ? 1 : 0)
        switch definition.rhythm {
        case .cron(let text, let zone):
            try statement.bind(3, text)
            try statement.bind(4, zone)
            try statement.bind(5, nil as Int64?)
        case .every(let milliseconds):
            try statement.bind(3, nil as String?)
            try statement.bind(4, nil as String?)
            try statement.bind(5, milliseconds)
        }
        try statement.bind(6, definition.missed.rawValue)
        try statement.bind(7, definition.overlap.rawValue)
        let request = definition.request
        try statement.bind(8, request.thread)
        try statement.bind(9, request.selector)
        try statement.bind(10, request.payload)
        try statement.bind(11, Int64(request.priority.rawValue))
        let options = request.options
        try statement.bind(12, options.retryCountMax.map { Int64($0) })
        try statement.bind(13, options.timeoutMilliseconds)
        try statement.bind(14, options.expireMilliseconds)
        try statement.bind(15, options.key)
        try statement.bind(16, options.retryBlocks.map { $0 ? 1 : 0 })
        try statement.bind(17, options.carried)
        try statement.bind(18, request.unique?.bytes)
        try statement.bind(19, request.unique.map { $0.isAgain ? 1 : 0 })
        try statement.bind(20, request.unique?.milliseconds)
        try statement.bind(21, record.progress.since)
        try statement.bind(22, record.progress.through)
        try statement.bind(23, record.progress.lastRunAt)
        try statement.bind(24, record.progress.lastJob.map { Int64($0.number) })
        try statement.run()
    }

    /// Deletes a schedule.
    package func dropSchedule(_ name: String) throws(StoreFault) {
        let statement = try cached("DELETE FROM schedules WHERE name = ?")
        try statement.bind(1, name)
        try statement.run()
    }

    /// Stores the job of a schedule, and that it was made.
    package func accept(_ job: Job, of run: ScheduleRun) throws(StoreFault) {
        // Not packed: it arrives after jobs with larger numbers, because the journal is told of a
        // schedule's jobs later.
        try insert(job)
        let statement = try cached(
            "UPDATE schedules SET through = ?, last_run_at = ?, last_job = ? WHERE name = ?")
        try statement.bind(1, run.through)
        try statement.bind(2, run.at)
        try statement.bind(3, Int64(job.id.number))
        try statement.bind(4, run.name)
        try statement.run()
    }

    /// Stores that a moment of a schedule needs no job, as another one has its name.
    package func note(_ run: ScheduleRun) throws(StoreFault) {
        let statement = try cached("UPDATE schedules SET through = ? WHERE name = ?")
        try statement.bind(1, run.through)
        try statement.bind(2, run.name)
        try statement.run()
    }

    package func threads(
        ofSchedules names: Set<String>
    ) throws(StoreFault) -> [String: String] {
        var threads: [String: String] = [:]
        let rows = try cached("SELECT thread FROM schedules WHERE name = ?")
        for name in names {
            try rows.bind(1, name)
            defer { rows.reset() }
            if try rows.step() { threads[name] = rows.text(0) }
        }
        return threads
    }

    private func schedule(_ name: String) throws(StoreFault) -> ScheduleRecord? {
        let rows = try cached("SELECT \(ScheduleColumns.all) FROM schedules WHERE name = ?")
        try rows.bind(1, name)
        defer { rows.reset() }
        return try rows.step() ? ScheduleColumns.record(rows) : nil
    }
}
