// A schedule of a spread pool is followed by the owner of one slot: that of its jobs' key or
// unique name, or the first one.

internal import Jobs

extension SpreadPools {
    /// A schedule with the name of its slot in place of its pool's.
    func placed(_ definition: ScheduleDefinition) -> ScheduleDefinition {
        var placed = definition
        placed.request.thread = place(of: definition.request)
        return placed
    }

    /// The same for one of the configuration.
    func placed(_ schedule: Configuration.Schedule) -> Configuration.Schedule {
        var placed = schedule
        placed.thread = self.placed(schedule.definition).request.thread
        return placed
    }
}
