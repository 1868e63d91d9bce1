// Schedules of the configuration that come, go and change at a reload. Those of commands stay.

internal import Jobs
internal import Kernel

extension ScheduleRunner {
    /// Follows other schedules of the configuration from now on; the store is told.
    ///
    /// A schedule with the same rhythm goes on from where it is.
    func apply(_ changes: [SectionChange<Configuration.Schedule>]) {
        for change in changes {
            switch change {
            case .added(let schedule), .changed(_, let schedule): follow(schedule)
            case .removed(let schedule):
                guard let entry = entries[schedule.name], !entry.isFromCommand else { continue }
                remove(entry)
                drop(entry.definition)
            }
        }
    }

    private func follow(_ schedule: Configuration.Schedule) {
        let schedule = driver.spread.placed(schedule)
        let before = entries[schedule.name]
        guard driver.isOpen(schedule.definition.request.thread) else {
            // Another daemon owns its thread, and follows it from now on.
            if let before, !before.isFromCommand { remove(before) }
            return
        }
        var record = ScheduleRecord(
            schedule.definition, isFromCommand: false,
            progress: ScheduleProgress(since: driver.wall.unixMilliseconds()))
        if before?.isFromCommand == true { warnOfReplaced(schedule.name) }
        if let before, before.definition.rhythm == record.definition.rhythm {
            record.progress = before.progress
        }
        let entry = ScheduleEntry(record, schedule.cron, schedule.zone.rules)
        // Also in another rhythm: these jobs are of this schedule.
        entry.living = before?.living ?? []
        keep(entry)
        insert(entry)
    }
}
