// How much later than its date something may be, in the four bytes that a timer's slot has left.

/// A length of time in four bytes: to the nanosecond up to a second, to the microsecond up to 17
/// minutes, to the millisecond up to 12 days, and to the second above.
///
/// What is less than that is cut off: who may be late is never later.
@usableFromInline
package struct Slack {
    /// How many units, of which each is a thousand of the one before, and in the upper two bits which.
    @usableFromInline let code: UInt32

    /// The time from one moment to another that is no earlier.
    @inlinable
    package init(from start: Int64, to end: Int64) {
        // Most have none.
        code = start == end ? 0 : Self.code(start, end)
    }

    /// The moment that is so much later than another.
    @inlinable
    package func end(from start: Int64) -> Int64 {
        code == 0 ? start : start + Int64(code & Self.countMax) * Self.unit(code >> 30)
    }

    @inlinable static var countMax: UInt32 { (1 << 30) - 1 }

    /// So many nanoseconds are one of the unit of this number.
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
