// The time of an input. The scheduler reads no clock: its driver hands it the time.

/// One moment, by two clocks.
package struct SchedulerTime: Sendable, Equatable {
    /// Nanoseconds on the clock of the alarms, which cannot be set.
    package var monotonic: Int64
    /// Nanoseconds since 1970-01-01 00:00 UTC.
    package var unixNanoseconds: Int64

    /// A moment.
    ///
    /// - Parameter monotonic: read after the other clock. Then an alarm for a time of day rings
    ///   later, never early.
    package init(unixNanoseconds: Int64, monotonic: Int64) {
        self.unixNanoseconds = unixNanoseconds
        self.monotonic = monotonic
    }

    /// Whole milliseconds since 1970-01-01 00:00 UTC.
    package var unixMilliseconds: Int64 { unixNanoseconds / 1_000_000 }

    /// When it will be so late, on the clock of alarms.
    package func monotonic(at unixMilliseconds: Int64) -> Int64 {
        let (moment, isBeyond) = max(0, unixMilliseconds)
            .multipliedReportingOverflow(by: 1_000_000)
        return isBeyond ? .max : monotonic(after: max(0, moment - unixNanoseconds))
    }

    /// The moment so many nanoseconds from now, on the clock of alarms.
    package func monotonic(after nanoseconds: Int64) -> Int64 {
        let (due, isBeyond) = monotonic.addingReportingOverflow(nanoseconds)
        return isBeyond ? .max : due
    }
}
