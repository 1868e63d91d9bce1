// What can be checked of the configured schedules only when all handlers are there.

extension Daemon {
    /// Checks that there is a handler for each schedule of the configuration.
    func checkSchedules() throws(DaemonError) {
        for schedule in configuration.schedules where handlers[schedule.selector] == nil {
            throw DaemonError(
                "schedules.\(schedule.name).selector: there is no selector "
                    + schedule.selector.quoted,
                exitStatus: DaemonError.badConfiguration)
        }
    }
}
