// The progress of a schedule, also over a wall clock that is set back, and put right again.

/// The progress of a schedule; moments are Unix milliseconds.
package struct ScheduleProgress: Hashable, Sendable {
    /// When it was first given; periods count from then.
    package var since: Int64
    /// All moments until this one are dealt with.
    package var through: Int64
    /// When its last job was made.
    package var lastRunAt: Int64?
    /// Its last job.
    package var lastJob: JobID?
    /// Its progress when the clock was set back; in no store.
    private var left: Place?

    /// Where a schedule is.
    private struct Place: Hashable, Sendable {
        let since: Int64
        let through: Int64
    }

    /// A schedule that begins now.
    package init(since: Int64) {
        self.since = since
        through = since
    }

    /// Restarts the schedule if the clock was set back so far that it would be silent for long, and
    /// restores its progress if the clock has been put right.
    ///
    /// - Parameter tolerance: how long it may be silent.
    package mutating func follow(clockAt now: Int64, tolerance: Int64) {
        if let left, through < left.through, left.through <= now {
            // Runs from before the clock was wrong are not missed now.
            (since, through) = (left.since, left.through)
            self.left = nil
        }
        guard through > now + tolerance else { return }
        if through > left?.through ?? .min { left = Place(since: since, through: through) }
        through = now
        since = now
    }
}
