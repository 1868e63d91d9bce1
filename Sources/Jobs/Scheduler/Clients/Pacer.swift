// The pace of looking at something that may change very often: at once after a quiet time, else
// once in each pause. Its owner keeps the alarm.

/// Paces looks at something that changes; all moments are nanoseconds on one clock.
package struct Pacer {
    private let pause: Int64
    private var lastLook: Int64?
    private var isLookDue = false

    /// - Parameter pause: the shortest time between two looks, in nanoseconds.
    package init(pause: Int64) { self.pause = pause }

    /// Notes a change.
    ///
    /// - Returns: when to look at it, maybe now; nil if a look that is due anyway will see it.
    package mutating func changed(at now: Int64) -> Int64? {
        guard !isLookDue else { return nil }
        isLookDue = true
        return lastLook.map { max(now, $0 + pause) } ?? now
    }

    /// Notes a look.
    package mutating func looked(at now: Int64) {
        isLookDue = false
        lastLook = now
    }
}
