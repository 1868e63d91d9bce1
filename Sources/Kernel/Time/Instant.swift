// A point on the monotonic time line, as run loops count it: one 64-bit number of nanoseconds.

/// A point in monotonic time, in nanoseconds since an origin that stays the same while the system
/// is up.
///
/// It does not jump when the wall clock is set, and it is comparable between all threads of
/// the machine. `distantFuture` stands for "never".
///
/// - Source: clock_gettime(2), CLOCK_MONOTONIC.
public struct Instant: InstantProtocol, Sendable, CustomStringConvertible {
    /// Nanoseconds since the origin.
    public let nanoseconds: Int64

    /// The instant that lies `nanoseconds` after the origin.
    @inlinable
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The instant of the system's monotonic clock at which the continuous clock shows `instant`.
    ///
    /// The two clocks run alike while the machine is awake. If it is suspended in between, the
    /// continuous clock goes on and this one does not.
    ///
    /// - Thread: any thread.
    public init(_ instant: ContinuousClock.Instant) {
        self = SystemClock().now().advanced(by: ContinuousClock.now.duration(to: instant))
    }

    /// Later than every instant that comes: a deadline that never passes.
    @inlinable public static var distantFuture: Instant { Instant(nanoseconds: .max) }

    /// Earlier than every instant that was: a deadline that has always passed.
    @inlinable public static var distantPast: Instant { Instant(nanoseconds: .min) }

    /// The instant `duration` later; stays at the distant future instead of overflowing.
    public func advanced(by duration: Duration) -> Instant {
        advanced(byNanoseconds: duration.nanosecondsClamped)
    }

    /// The instant `count` nanoseconds later, clamped to the two distant ends.
    package func advanced(byNanoseconds count: Int64) -> Instant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(count)
        if overflow { return count > 0 ? .distantFuture : .distantPast }
        return Instant(nanoseconds: sum)
    }

    /// How long it is from this instant to `other`; negative when `other` is earlier.
    public func duration(to other: Instant) -> Duration {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        if overflow { return .nanoseconds(other > self ? Int64.max : Int64.min) }
        return .nanoseconds(difference)
    }

    /// The first instant after `now` on a grid, which goes through this instant.
    ///
    /// - Parameters:
    ///   - interval: nanoseconds between two places of the grid; more than 0.
    ///   - now: before this instant or not, the answer lies after both.
    package func nextOnGrid(every interval: Int64, after now: Instant) -> Instant {
        // Twice as wide: from the distant past to now is more than 64 bits hold.
        let interval = Int128(interval)
        let late = max(0, Int128(now.nanoseconds) - Int128(nanoseconds))
        let next = Int128(nanoseconds) + (late / interval + 1) * interval
        return Instant(nanoseconds: Int64(clamping: next))
    }

    /// Whether `left` comes before `right`.
    public static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Seconds since the origin, with nine decimals; "never" for the distant future.
    public var description: String {
        if self == .distantFuture { return "never" }
        if self == .distantPast { return "always" }
        let fraction = String(nanoseconds.magnitude % 1_000_000_000)
        let padding = String(repeating: "0", count: 9 - fraction.utf8.count)
        let sign = nanoseconds < 0 ? "-" : ""
        return "\(sign)\(nanoseconds.magnitude / 1_000_000_000).\(padding)\(fraction)s"
    }
}

extension Duration {
    /// Whole nanoseconds, rounded up so that nothing due is early, clamped to 64 bits
    /// (292 years).
    package var nanosecondsClamped: Int64 { clamped(toUnitsOf: .nanoseconds(1)) }

    /// How often a unit fits, rounded up, clamped to 64 bits.
    package func clamped(toUnitsOf unit: Duration) -> Int64 {
        // Not by its seconds, of which it may have more than 64 bits hold.
        let (whole, part) = attoseconds.quotientAndRemainder(dividingBy: unit.attoseconds)
        return Int64(clamping: part > 0 ? whole + 1 : whole)
    }
}
