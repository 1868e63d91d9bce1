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
    /// Its progress at each time when the clock was set back, the earliest moment last; in no
    /// store.
    private var left: [Place] = []
    /// So many are remembered.
    private static let leftCountMax = 16

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
        while let place = left.last, place.through <= now {
            left.removeLast()
            // Runs from before the clock was wrong are not missed now.
            if through < place.through { (since, through) = (place.since, place.through) }
        }
        guard through > now + tolerance else { return }
        while let place = left.last, place.through <= through { left.removeLast() }
        left.append(Place(since: since, through: through))
        if left.count > Self.leftCountMax { left.removeFirst() }
        through = now
        since = now
    }
}
