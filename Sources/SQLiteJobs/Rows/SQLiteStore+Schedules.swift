// Schedules in the store. A run is recorded in the transaction that accepts its job, so that there
// is never one without the other.

package import Jobs

extension SQLiteStore {
    private static let columns = """
        name, from_command, cron, zone, every_ms, missed, thread, selector, payload, priority,
        retries, timeout_ms, since, through, last_run_at, last_job, expire_ms, order_key,
        retry_blocks, carried, overlap, unique_name, unique_again, unique_ms
        """

    /// All schedules, in the order of their names.
    package func schedules() throws(StoreFault) -> [ScheduleRecord] {
        let rows = try cached("SELECT \(Self.columns) FROM schedules ORDER BY name")
        var records: [ScheduleRecord] = []
        while try rows.step() { records.append(Self.record(rows)) }
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
            INSERT INTO schedules (\(Self.columns))
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
        try statement.bind(7, definition.request.thread)
        try statement.bind(8, definition.request.selector)
        try statement.bind(9, definition.request.payload)
        try statement.bind(10, Int64(definition.request.priority.rawValue))
        try statement.bind(11, definition.request.options.retryCountMax.map { Int64($0) })
        try statement.bind(12, definition.request.options.timeoutMilliseconds)
        try statement.bind(13, record.progress.since)
        try statement.bind(14, record.progress.through)
        try statement.bind(15, record.progress.lastRunAt)
        try statement.bind(16, record.progress.lastJob.map { Int64($0.number) })
        let options = definition.request.options
        try statement.bind(17, options.expireMilliseconds)
        try statement.bind(18, options.key)
        try statement.bind(19, options.retryBlocks.map { $0 ? 1 : 0 })
        try statement.bind(20, options.carried)
        try statement.bind(21, definition.overlap.rawValue)
        let unique = definition.request.unique
        try statement.bind(22, unique?.bytes)
        try statement.bind(23, unique.map { $0.isAgain ? 1 : 0 })
        try statement.bind(24, unique?.milliseconds)
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

    private func schedule(_ name: String) throws(StoreFault) -> ScheduleRecord? {
        let rows = try cached("SELECT \(Self.columns) FROM schedules WHERE name = ?")
        try rows.bind(1, name)
        defer { rows.reset() }
        return try rows.step() ? Self.record(rows) : nil
    }

    private static func record(_ row: Statement) -> ScheduleRecord {
        let rhythm: ScheduleDefinition.Rhythm =
            if let milliseconds = row.optionalInteger(4) {
                .every(milliseconds: milliseconds)
            } else {
                .cron(row.text(2), zone: row.text(3))
            }
        var definition = ScheduleDefinition(
            name: row.text(0), rhythm: rhythm,
            request: JobRequest(
                thread: row.text(6), selector: row.text(7),
                payload: row.bytes(8)))
        definition.missed = MissedRuns(rawValue: row.text(5)) ?? .once
        definition.request.priority = Priority(rawValue: Int(row.integer(9))) ?? .normal
        var options = JobOptions(
            timeoutMilliseconds: row.optionalInteger(11),
            retryCountMax: row.optionalInteger(10).map { Int($0) },
            retryBlocks: row.optionalInteger(18).map { $0 != 0 }, key: row.optionalBytes(17),
            expireMilliseconds: row.optionalInteger(16))
        options.carried = row.optionalBytes(19)
        definition.request.options = SharedJobOptions(options)
        definition.overlap =
            row.optionalText(20).flatMap { OverlappingRuns(rawValue: $0) }
            ?? .standard(with: definition.missed)
        definition.request.unique = row.optionalBytes(21).map { name in
            UniqueName(
                name, isAgain: row.optionalInteger(22) == 1, milliseconds: row.optionalInteger(23))
        }
        var progress = ScheduleProgress(since: row.integer(12))
        progress.through = row.integer(13)
        progress.lastRunAt = row.optionalInteger(14)
        progress.lastJob = row.optionalInteger(15).map { JobID(UInt64(clamping: $0)) }
        return ScheduleRecord(
            definition, isFromCommand: row.integer(1) == 1, progress: progress)
    }
}
