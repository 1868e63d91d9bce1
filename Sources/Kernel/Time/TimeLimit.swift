// How much is left of a time limit: a call that a signal interrupts is made again with that, or
// signals that come more often than it is long would put off its end for ever.

/// A time limit that begins when it is made.
struct TimeLimit {
    private let end: Instant

    init(milliseconds: Int) {
        end = SystemClock().now().advanced(by: .milliseconds(milliseconds))
    }

    /// The rest of it, rounded up; 0 when it has passed.
    var millisecondsLeft: Int {
        let left = SystemClock().now().duration(to: end)
        return max(0, Int(left.clamped(toUnitsOf: .milliseconds(1))))
    }
}
