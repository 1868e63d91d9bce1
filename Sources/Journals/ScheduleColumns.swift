// The columns of schedules in the tables of every store, and their values here.

package import Jobs

/// The columns of the table `schedules`.
package enum ScheduleColumns {
    package static let all = """
        name, from_command, cron, zone, every_ms, missed, overlap, thread, selector, payload,
        priority, retries, timeout_ms, expire_ms, order_key, retry_blocks, carried, unique_name,
        unique_again, unique_ms, since, through, last_run_at, last_job
        """

    /// The schedule of a row with all columns.
    package static func record(_ row: some TableRow) -> ScheduleRecord {
        let rhythm: ScheduleDefinition.Rhythm =
            if let milliseconds = row.optionalInteger(4) {
                .every(milliseconds: milliseconds)
            } else {
                .cron(row.text(2), zone: row.text(3))
            }
        var definition = ScheduleDefinition(
            name: row.text(0), rhythm: rhythm,
            request: JobRequest(
                thread: row.text(7), selector: row.text(8), payload: row.bytes(9)))
        definition.missed = MissedRuns(rawValue: row.text(5)) ?? .once
        definition.overlap =
            OverlappingRuns(rawValue: row.text(6)) ?? .standard(with: definition.missed)
        definition.request.priority = Priority(rawValue: Int(row.integer(10))) ?? .normal
        var options = JobOptions(
            timeoutMilliseconds: row.optionalInteger(12),
            retryCountMax: row.optionalInteger(11).map { Int($0) },
            retryBlocks: row.optionalInteger(15).map { $0 != 0 }, key: row.optionalBytes(14),
            expireMilliseconds: row.optionalInteger(13))
        options.carried = row.optionalBytes(16)
        definition.request.options = SharedJobOptions(options)
        definition.request.unique = row.optionalBytes(17).map { name in
            UniqueName(name, isAgain: row.isTrue(18), milliseconds: row.optionalInteger(19))
        }
        return ScheduleRecord(
            definition, isFromCommand: row.isTrue(1), progress: progress(row, from: 20))
    }

    /// The columns that daemons need of the schedules of others.
    package static let stored = """
        name, from_command, thread, selector, since, through, last_run_at, last_job
        """

    /// The schedule of a row with these columns.
    package static func stored(_ row: some TableRow) -> StoredSchedule {
        StoredSchedule(
            isFromCommand: row.isTrue(1), thread: row.text(2), selector: row.text(3),
            progress: progress(row, from: 4))
    }

    private static func progress(_ row: some TableRow, from column: Int32) -> ScheduleProgress {
        var progress = ScheduleProgress(since: row.integer(column))
        progress.through = row.integer(column + 1)
        progress.lastRunAt = row.optionalInteger(column + 2)
        progress.lastJob =
            row.optionalInteger(column + 3).map { JobID(UInt64(clamping: $0)) }
        return progress
    }
}
