// The rhythm of recurring jobs. Pure: the caller gives the time. All moments are Unix milliseconds.

/// A rhythm: by the calendar of a zone, or with a fixed period.
package struct Schedule: Hashable, Sendable {
    package enum Timing: Hashable, Sendable {
        /// As a clock on the wall of a zone shows it.
        case cron(CronExpression, TimeZoneRules)
        /// One period after a start, and each further period, whatever clocks show.
        case every(milliseconds: Int64, from: Int64)
    }

    /// The shortest period.
    package static let periodMillisecondsMin: Int64 = 10
    /// The longest: a hundred years.
    package static let periodMillisecondsMax: Int64 = 100 * 365 * 86_400_000
    /// The end of the supported years: 10000.
    private static let momentMax: Int64 = 1 << 48

    package let timing: Timing

    /// A schedule with this rhythm.
    package init(_ timing: Timing) { self.timing = timing }

    /// Whether a moment is within the supported years.
    static func hasMoment(_ moment: Int64) -> Bool { (-momentMax...momentMax).contains(moment) }

    /// The first moment later than another one; nil if there is none before the year 10000.
    package func next(after moment: Int64) -> Int64? {
        guard Self.hasMoment(moment) else { return nil }
        switch timing {
        case .cron(let expression, let zone):
            let second = CivilTime.floorDivide(moment, 1_000)
            return expression.next(after: second, in: zone).map { $0 * 1_000 }
        case .every(let period, let start):
            guard moment > start else { return start + period }
            return start + ((moment - start) / period + 1) * period
        }
    }

    /// The last moment that is later than `earlier` and not later than `moment`.
    ///
    /// - Complexity: O(log of the time between) calls of `next(after:)`.
    package func latest(until moment: Int64, after earlier: Int64) -> Int64? {
        guard let first = next(after: earlier), first <= moment else { return nil }
        if case .every(let period, let start) = timing {
            return start + (moment - start) / period * period
        }
        // There is one behind `low`, and none behind `high`.
        var (low, high, latest) = (earlier, moment, first)
        while low < high {
            let middle = max(low + (high - low) / 2, latest)
            guard middle < high else { break }
            if let found = next(after: middle), found <= moment {
                (low, latest) = (middle, found)
            } else {
                high = middle
            }
            if latest == high { break }
        }
        return latest
    }
}

/// A fault of a cron expression, a time zone or another part of a schedule.
package struct ScheduleFault: Error, Hashable, CustomStringConvertible {
    /// One line, to be put behind the name of the schedule's owner.
    package let description: String

    /// A fault with this sentence.
    package init(_ description: String) { self.description = description }
}
