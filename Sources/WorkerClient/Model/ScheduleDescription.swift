// The description of a schedule by the daemon.

internal import RESP

/// A schedule as the daemon lists it; times are milliseconds since 1970-01-01 00:00 UTC.
public struct ScheduleDescription: Sendable, Equatable {
    /// Its name.
    public let name: String
    /// Whether a client gave it; else it is in the daemon's configuration.
    public let isFromCommand: Bool
    /// When it makes its jobs.
    public let rhythm: ScheduleRhythm
    /// The rule for missed runs: `once`, `all` or `none`.
    public let missed: String
    /// The rule for overlapping runs: `one`, `skip` or `queue`.
    public let overlap: String
    /// The thread or pool that its jobs are for.
    public let thread: String
    /// The selector of its jobs.
    public let selector: String
    /// `high`, `normal` or `low`.
    public let priority: String
    /// When it is looked at next; nil while a run is written to the disk.
    public let nextDueAt: Int64?
    /// When it made a job last; nil if it has made none.
    public let lastRunAt: Int64?
    /// The number of that job.
    public let lastJob: UInt64?
    /// How many of its moments had no job of their own, since the daemon's start or its own change.
    public let leftOutCount: Int
    /// When the latest of them was noticed; nil if there was none.
    public let lastLeftOutAt: Int64?
}

extension ScheduleDescription {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        let fields = Fields(reply, of: "a schedule")
        name = try fields.text("name")
        isFromCommand = try fields.text("from") == "command"
        if let expression = fields.optionalText("cron") {
            rhythm = .cron(expression, zone: try fields.text("zone"))
        } else {
            rhythm = .every(.milliseconds(try fields.time("every-ms")))
        }
        missed = try fields.text("missed")
        // Daemons before it was there made a job for each moment.
        overlap = fields.optionalText("overlap") ?? "queue"
        thread = try fields.text("thread")
        selector = try fields.text("selector")
        priority = try fields.text("priority")
        nextDueAt = fields.optionalTime("next-due-at")
        lastRunAt = fields.optionalTime("last-run-at")
        // Daemons before these were there told the sum of all schedules only.
        leftOutCount = fields.optionalInteger("left-out") ?? 0
        lastLeftOutAt = fields.optionalTime("left-out-at")
        lastJob = fields.optionalInteger("last-job").flatMap { UInt64(exactly: $0) }
    }
}
