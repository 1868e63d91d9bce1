// When something that may change very often is looked at: at once after a while of quiet, and else not
// more often than once in a while. Pure; who calls keeps the timer.

package import Kernel

/// Paces looks at something that changes.
package struct Pacer {
    private let pause: Duration
    private var lastLook = Instant.distantPast
    private var isLookDue = false

    /// - Parameter pause: the shortest time between two looks.
    package init(pause: Duration) { self.pause = pause }

    /// Notes that something has changed.
    ///
    /// - Returns: when to look at it, maybe now; nil if a look was asked for before and will see it.
    package mutating func changed(at now: Instant) -> Instant? {
        guard !isLookDue else { return nil }
        isLookDue = true
        return lastLook == .distantPast ? now : max(now, lastLook.advanced(by: pause))
    }

    /// Notes that it was looked at.
    package mutating func looked(at now: Instant) {
        isLookDue = false
        lastLook = now
    }
}
