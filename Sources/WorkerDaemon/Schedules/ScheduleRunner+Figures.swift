// What INFO says of schedules.

extension ScheduleRunner {
    /// The lines of its section.
    var figures: [(String, String)] {
        [
            ("schedules", "\(entries.count)"),
            ("schedules_without_room", "\(crowded.count)"),
            ("next_schedule_due_at", "\(nextDueAt ?? 0)"),
            ("total_schedule_jobs", "\(madeCount)"),
            ("total_schedule_runs_left_out", "\(leftOutCount)"),
        ]
    }
}
