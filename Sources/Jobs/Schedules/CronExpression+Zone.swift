// Which moments a cron expression means in a zone whose clocks are changed.
//
// - A fixed time of day (no asterisk begins the hour, minute or second) is due each day once: at
//   the first moment at which the clock shows it or a later time. So a time that a change leaves
//   out is due at the change, together with others that it leaves out; one that comes twice, the
//   first time.
// - Otherwise the expression follows the clock: it is due whenever the clock shows a time that
//   fits, in an hour that comes twice both times, and in an hour that is left out never.

extension CronExpression {
    /// The first moment later than another one, both in Unix seconds.
    package func next(after moment: Int64, in zone: TimeZoneRules) -> Int64? {
        isFixedTime ? nextFixed(after: moment, zone) : nextShown(after: moment, zone)
    }

    private func nextShown(after moment: Int64, _ zone: TimeZoneRules) -> Int64? {
        var earliest = moment + 1
        while true {
            let span = zone.span(at: earliest)
            guard let reading = first(from: earliest + span.offset) else { return nil }
            if reading - span.offset < span.end { return reading - span.offset }
            // The clock is changed before, maybe back to times that it has shown already.
            earliest = span.end
        }
    }

    private func nextFixed(after moment: Int64, _ zone: TimeZoneRules) -> Int64? {
        guard let reading = first(from: latestReading(until: moment, zone) + 1) else { return nil }
        return firstMoment(showing: reading, zone)
    }

    /// The latest time that the clock has shown.
    ///
    /// Before the days that are looked at it can't have shown a later one.
    private func latestReading(until moment: Int64, _ zone: TimeZoneRules) -> Int64 {
        var latest = Int64.min
        var at = moment - 2 * TimeZoneRules.offsetMax
        while at <= moment {
            let span = zone.span(at: at)
            latest = max(latest, min(moment, span.end - 1) + span.offset)
            guard span.end <= moment else { break }
            at = span.end
        }
        return latest
    }

    /// The first moment at which the clock shows a time or a later one.
    private func firstMoment(showing reading: Int64, _ zone: TimeZoneRules) -> Int64 {
        var at = reading - TimeZoneRules.offsetMax
        while true {
            let span = zone.span(at: at)
            let moment = max(at, reading - span.offset)
            if moment < span.end { return moment }
            at = span.end
        }
    }
}
