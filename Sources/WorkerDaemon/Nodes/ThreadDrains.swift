// The threads that begin nothing more, so that they become idle and can be given to another node.
//
// A single thread waits for its running job anyway. Of a pool or a slot, other jobs could begin
// meanwhile, so it is drained for a few seconds only, and again a minute later.

internal import Kernel

/// The threads, pools and slots that are drained, and the moments from which others may be again.
struct ThreadDrains {
    /// How long a pool or a slot is drained at most.
    static let patience = Duration.seconds(5)
    /// How long it goes on before it is drained again.
    static let pause = Duration.seconds(60)

    /// Since when a unit is drained.
    private var since: [String: Instant] = [:]
    /// When a unit may be drained again.
    private var next: [String: Instant] = [:]

    /// The units that are drained.
    var units: Set<String> { Set(since.keys) }

    /// Whether a unit that is not drained may be.
    func mayBegin(_ unit: String, at now: Instant) -> Bool {
        since[unit] == nil && next[unit].map { now >= $0 } != false
    }

    /// A unit is drained, or a job still runs that keeps it from anything else.
    mutating func begin(_ unit: String, at now: Instant) { since[unit] = now }

    /// Whether a unit has been drained for too long.
    func isInVain(_ unit: String, at now: Instant) -> Bool {
        since[unit].map { now >= $0.advanced(by: Self.patience) } == true
    }

    /// A unit goes on here.
    ///
    /// - Returns: whether it was drained.
    mutating func end(_ unit: String, at now: Instant) -> Bool {
        guard since.removeValue(forKey: unit) != nil else { return false }
        next[unit] = now.advanced(by: Self.pause)
        return true
    }

    /// A unit is given away.
    mutating func leave(_ unit: String) {
        since[unit] = nil
        next[unit] = nil
    }
}
