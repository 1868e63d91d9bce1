// Runs are missed when their moment passes while the daemon is down, the machine sleeps, or there
// is no room for a job. Pure: the caller gives the time.

/// The rule for runs that were missed.
package enum MissedRuns: String, CaseIterable, Sendable {
    /// One run for all of them.
    case once
    /// Each of them runs, one after another.
    case all
    /// They are left out.
    case none

    /// A run that is later than this was missed.
    package static let graceMilliseconds: Int64 = 1_000
    /// The largest number of missed runs that still run, the latest ones, and the largest number
    /// of left-out ones that is counted.
    package static let countMax = 1_000

    /// The runs that are due, and the number that was left out.
    package struct Due: Hashable, Sendable {
        /// The moments for which there is a run now, the earliest first.
        package let runs: [Int64]
        /// How many moments there is no run for; nil if more than `countMax`.
        package let leftOutCount: Int?
        /// All moments until this one are dealt with.
        package let through: Int64
        /// As many moments as are known to have no run.
        package var leftOutCountAtLeast: Int { leftOutCount ?? MissedRuns.countMax }

        /// The due runs, for tests to compare with.
        package init(runs: [Int64], leftOutCount: Int?, through: Int64) {
            self.runs = runs
            self.leftOutCount = leftOutCount
            self.through = through
        }
    }

    /// Finds the runs that are due now.
    ///
    /// - Parameters:
    ///   - schedule: when it is due.
    ///   - last: all moments until this one are dealt with.
    ///   - now: in Unix milliseconds.
    /// - Returns: nil if nothing was due since.
    package func due(of schedule: Schedule, since last: Int64, at now: Int64) -> Due? {
        var moments: [Int64] = []
        var moment = last
        // Beyond these, more than `countMax` are left out in any case.
        let walkMax = Self.countMax + runCountMax
        while moments.count <= walkMax, let next = schedule.next(after: moment), next <= now {
            moments.append(next)
            moment = next
        }
        guard let latest = schedule.latest(until: now, after: last) else { return nil }
        let runs: [Int64]
        switch self {
        case .once: runs = [latest]
        case .none: runs = now - latest <= Self.graceMilliseconds ? [latest] : []
        case .all:
            runs =
                moments.count > Self.countMax
                ? newest(of: schedule, until: latest, after: last) : moments
        }
        let leftOutCount = moments.count - runs.count
        return Due(
            runs: runs, leftOutCount: leftOutCount > Self.countMax ? nil : leftOutCount,
            through: latest)
    }

    /// At most so many runs are due at a time.
    private var runCountMax: Int { self == .all ? Self.countMax : 1 }

    private func newest(of schedule: Schedule, until last: Int64, after first: Int64) -> [Int64] {
        var moments = [last]
        while moments.count < Self.countMax, let earliest = moments.last,
            let before = schedule.latest(until: earliest - 1, after: first)
        {
            moments.append(before)
        }
        return moments.reversed()
    }
}
