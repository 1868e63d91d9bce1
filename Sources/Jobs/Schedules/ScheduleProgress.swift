// How far a schedule has come, also when the clock by which it goes is set back, and put right
// again.

/// How far a schedule has come; moments are Unix milliseconds.
package struct ScheduleProgress: Hashable, Sendable {
    /// When it was first given: what periods are counted from.
    package var since: Int64
    /// All moments until this one are dealt with.
    package var through: Int64
    /// When its last job was made.
    package var lastRunAt: Int64?
    /// Its last job.
    package var lastJob: JobID?
    /// Where it was when the clock was set back; in no store.
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

    /// Begins anew if the clock was set back so far that it would be silent for long, and goes on
    /// from where it was if the clock has been put right.
    ///
    /// - Parameter tolerance: how long it may be silent.
    package mutating func follow(clockAt now: Int64, tolerance: Int64) {
        if let left, through < left.through, left.through <= now {
            // What ran before the clock was wrong is not missed now.
            (since, through) = (left.since, left.through)
            self.left = nil
        }
        guard through > now + tolerance else { return }
        if through > left?.through ?? .min { left = Place(since: since, through: through) }
        through = now
        since = now
    }
}
