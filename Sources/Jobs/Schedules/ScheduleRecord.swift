// A schedule as it is given, which a store keeps beside its progress.

/// A recurring job: a rhythm, and the request of each job.
package struct ScheduleDefinition: Hashable, Sendable {
    /// When, as it was given.
    package enum Rhythm: Hashable, Sendable {
        /// A cron expression and the name of a time zone.
        case cron(String, zone: String)
        case every(milliseconds: Int64)
    }

    package var name: String
    package var rhythm: Rhythm
    package var missed = MissedRuns.once
    package var overlap = OverlappingRuns.one
    /// The request of each job, without its time.
    package var request: JobRequest

    /// Makes a record of the same job in a rhythm.
    package init(name: String, rhythm: Rhythm, request: JobRequest) {
        self.name = name
        self.rhythm = rhythm
        self.request = request
    }
}

/// A schedule in a store.
package struct ScheduleRecord: Hashable, Sendable {
    package var definition: ScheduleDefinition
    /// Whether a client has given it; else it is in the configuration.
    package var isFromCommand: Bool
    package var progress: ScheduleProgress

    /// Whether there can be such a schedule; a file may be damaged.
    package var isWhole: Bool {
        let moments = [progress.since, progress.through]
        guard moments.allSatisfy(Schedule.hasMoment) else { return false }
        guard case .every(let period) = definition.rhythm else { return true }
        return (Schedule.periodMillisecondsMin...Schedule.periodMillisecondsMax).contains(period)
    }

    /// The schedule as other daemons need it.
    package var stored: StoredSchedule {
        StoredSchedule(
            isFromCommand: isFromCommand, thread: definition.request.thread,
            selector: definition.request.selector, progress: progress)
    }

    /// A schedule that has come so far.
    package init(
        _ definition: ScheduleDefinition, isFromCommand: Bool, progress: ScheduleProgress
    ) {
        self.definition = definition
        self.isFromCommand = isFromCommand
        self.progress = progress
    }
}

/// A stored schedule as other daemons need it: the jobs that it makes, and its progress.
package struct StoredSchedule: Hashable, Sendable {
    package let isFromCommand: Bool
    package let thread: String
    package let selector: String
    package let progress: ScheduleProgress

    package init(
        isFromCommand: Bool, thread: String, selector: String, progress: ScheduleProgress
    ) {
        self.isFromCommand = isFromCommand
        self.thread = thread
        self.selector = selector
        self.progress = progress
    }
}

/// That a schedule's job is made, to be recorded together with the job.
package struct ScheduleRun: Hashable, Sendable {
    package let name: String
    /// The schedule's thread; the store refuses the run if the schedule has another one by then.
    package let thread: String
    /// All moments until this one are dealt with then.
    package let through: Int64
    package let at: Int64

    /// A run of the schedule of this name and thread.
    package init(name: String, thread: String, through: Int64, at: Int64) {
        self.name = name
        self.thread = thread
        self.through = through
        self.at = at
    }
}
