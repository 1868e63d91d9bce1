// Why a schedule can't be used, in words that name the part and say what is allowed.

/// A fault of a cron expression, a time zone or another part of a schedule.
package struct ScheduleFault: Error, Hashable, CustomStringConvertible {
    /// One line, to be put behind the name of the schedule's owner.
    package let description: String

    /// A fault with this sentence.
    package init(_ description: String) { self.description = description }
}
