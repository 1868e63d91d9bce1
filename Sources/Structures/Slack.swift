// The tolerance of a timer, in the four bytes that a timer's slot has left.

/// A length of time in four bytes: to the nanosecond up to a second, to the microsecond up to 17
/// minutes, to the millisecond up to 12 days, and to the second above.
///
/// Smaller parts are cut off: a timer is never later than its tolerance allows.
@usableFromInline
package struct Slack {
    /// The number of units, and in the upper two bits the unit, each a thousand times the one
    /// before.
    @usableFromInline let code: UInt32

    /// The time from `start` to `end`, which must not be earlier.
    @inlinable
    package init(from start: Int64, to end: Int64) {
        // Most timers have none.
        code = start == end ? 0 : Self.code(start, end)
    }

    /// The moment that is this much later than `start`.
    @inlinable
    package func end(from start: Int64) -> Int64 {
        code == 0 ? start : start + Int64(code & Self.countMax) * Self.unit(code >> 30)
    }

    @inlinable static var countMax: UInt32 { (1 << 30) - 1 }

    /// The nanoseconds of one unit.
    @inlinable
    static func unit(_ number: UInt32) -> Int64 {
        switch number {
        case 0: 1
        case 1: 1_000
        case 2: 1_000_000
        default: 1_000_000_000
        }
    }

    @inlinable
    @inline(never)
    static func code(_ start: Int64, _ end: Int64) -> UInt32 {
        let (difference, isTooLong) = end.subtractingReportingOverflow(start)
        var count = isTooLong ? .max : difference
        var unit: UInt32 = 0
        while count > countMax, unit < 3 {
            count /= 1_000
            unit += 1
        }
        return unit << 30 | min(UInt32(clamping: count), countMax)
    }
}
