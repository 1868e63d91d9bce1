// Schedules. A run is recorded in the transaction that accepts its job, so that there is never one
// without the other.

internal import Jobs
internal import Journals

extension PostgreSQLStore {
    /// All schedules, in the order of their names.
    func schedules() throws(StoreFault) -> [ScheduleRecord] {
        let found = try rows("SELECT \(ScheduleColumns.all) FROM workerd.schedules ORDER BY name")
        return found.all.map(ScheduleColumns.record)
    }

    /// Stores a schedule in place of one of the same name.
    ///
    /// If the rhythm is the same, the new schedule continues the old one's progress.
    func keep(_ record: ScheduleRecord) throws(StoreFault) {
        var record = record
        let before = try lockedSchedule(record.definition.name)
        if let before, before.definition.rhythm == record.definition.rhythm {
            record.progress = before.progress
        }
        if let before, before.definition.request.thread != record.definition.request.thread {
            try change(Self.countMove)
        }
        // One statement: after a DELETE, an INSERT fails if another node inserts the same name.
        try change(
            """
            INSERT INTO workerd.schedules (\(ScheduleColumns.all))
            VALUES ($1::text, $2::boolean, $3::text, $4::text, $5::bigint, $6::text, $7::text,
                $8::text, $9::text, $10::bytea, $11::bigint, $12::bigint, $13::bigint, $14::bigint,
                $15::bytea, $16::boolean, $17::bytea, $18::bytea, $19::boolean, $20::bigint,
                $21::bigint, $22::bigint, $23::bigint, $24::bigint)
            ON CONFLICT (name) DO UPDATE SET (\(ScheduleColumns.all)) = (
                excluded.\(ScheduleColumns.all.replacing(",", with: ", excluded.")))
            """, Self.parameters(of: record))
    }

    /// The statement that counts a change of a schedule's thread.
    ///
    /// The former owner sees the count at its next look.
    private static let countMove = """
        INSERT INTO workerd.settings AS setting (name, value)
        VALUES ('\(ServerSchema.scheduleMoves)', 1)
        ON CONFLICT (name) DO UPDATE SET value = setting.value + 1
        """

    private static func parameters(of record: ScheduleRecord) -> Parameters {
        var parameters = Parameters()
        let definition = record.definition
        parameters.add(definition.name)
        parameters.add(record.isFromCommand)
        switch definition.rhythm {
        case .cron(let text, let zone):
            parameters.add(text)
            parameters.add(zone)
            parameters.add(nil as Int64?)
        case .every(let milliseconds):
            parameters.add(nil as String?)
            parameters.add(nil as String?)
            parameters.add(milliseconds)
        }
        parameters.add(definition.missed.rawValue)
        parameters.add(definition.overlap.rawValue)
        let request = definition.request
        parameters.add(request.thread)
        parameters.add(request.selector)
        parameters.add(request.payload)
        parameters.add(request.priority.rawValue)
        let options = request.options
        parameters.add(options.retryCountMax.map { Int64($0) })
        parameters.add(options.timeoutMilliseconds)
        parameters.add(options.expireMilliseconds)
        parameters.add(options.key)
        parameters.add(options.retryBlocks)
        parameters.add(options.carried)
        parameters.add(request.unique?.bytes)
        parameters.add(request.unique?.isAgain)
        parameters.add(request.unique?.milliseconds)
        parameters.add(record.progress.since)
        parameters.add(record.progress.through)
        parameters.add(record.progress.lastRunAt)
        parameters.add(record.progress.lastJob.map { Int64(clamping: $0.number) })
        return parameters
    }

    func dropSchedule(_ name: String) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(name)
        try change("DELETE FROM workerd.schedules WHERE name = $1::text", parameters)
    }

    /// Stores the job of a schedule, and that it was made.
    func accept(_ job: Job, of run: ScheduleRun) throws(StoreFault) {
        try accept(job)
        var parameters = Parameters()
        parameters.add(run.name)
        parameters.add(run.through)
        parameters.add(run.at)
        parameters.add(job.id.number)
        try change(
            """
            UPDATE workerd.schedules
            SET through = $2::bigint, last_run_at = $3::bigint, last_job = $4::bigint
            WHERE name = $1::text
            """, parameters)
    }

    /// Stores that a moment of a schedule needs no job, as another one has its name.
    func note(_ run: ScheduleRun) throws(StoreFault) {
        var parameters = Parameters()
        parameters.add(run.name)
        parameters.add(run.through)
        try change(
            "UPDATE workerd.schedules SET through = $2::bigint WHERE name = $1::text", parameters)
    }

    /// The schedules of these names, whichever daemon has them.
    func schedules(named names: [String]) throws(StoreFault) -> [String: StoredSchedule] {
        var parameters = Parameters()
        parameters.add(.texts(names))
        let found = try rows(
            """
            SELECT \(ScheduleColumns.stored) FROM workerd.schedules
            WHERE name = ANY ($1::text[])
            """, parameters)
        return Dictionary(
            uniqueKeysWithValues: found.all.map { ($0.text(0), ScheduleColumns.stored($0)) })
    }

    func threads(ofSchedules names: Set<String>) throws(StoreFault) -> [String: String] {
        var parameters = Parameters()
        parameters.add(.texts(names))
        // All transactions lock schedules in the order of their names, which avoids deadlocks.
        let found = try rows(
            """
            SELECT name, thread FROM workerd.schedules WHERE name = ANY ($1::text[])
            ORDER BY name FOR UPDATE
            """, parameters)
        return Dictionary(uniqueKeysWithValues: found.all.map { ($0.text(0), $0.text(1)) })
    }

    /// Reads a schedule, and locks its row until the end of the transaction.
    private func lockedSchedule(_ name: String) throws(StoreFault) -> ScheduleRecord? {
        var parameters = Parameters()
        parameters.add(name)
        return try rows(
            """
            SELECT \(ScheduleColumns.all) FROM workerd.schedules WHERE name = $1::text FOR UPDATE
            """, parameters
        ).first.map(ScheduleColumns.record)
    }
}
