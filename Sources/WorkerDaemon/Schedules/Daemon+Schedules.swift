// What can be checked of the configured schedules only when all handlers are there.

extension Daemon {
    /// Checks that there is a handler for each schedule of the configuration.
    func checkSchedules() throws(DaemonError) {
        let faults = configuration.schedules.filter { handlers[$0.selector] == nil }.map {
            ConfigurationFault(
                path: "schedules.\($0.name).selector",
                message: $0.unknownSelector(among: handlers.keys), position: $0.selectorPosition)
        }
        guard !faults.isEmpty else { return }
        let error = ConfigurationError(
            fileName: configurationFile ?? "configuration", faults: faults)
        throw DaemonError(error.description, exitStatus: DaemonError.badConfiguration)
    }
}
