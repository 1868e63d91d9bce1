// Changes of paused threads and pools, as stores keep them.

/// A change of the paused names: of threads, and of pools that are paused as a whole.
package struct PauseChange: Sendable, Equatable {
    /// Names that are paused from now on.
    package var paused: [String]
    /// Names that are removed.
    package var goingOn: [String]
    /// A removed pool: its own name and those of all its members, whatever their numbers.
    package var poolGoingOn: String?

    package init(paused: [String], goingOn: [String] = [], poolGoingOn: String? = nil) {
        self.paused = paused
        self.goingOn = goingOn
        self.poolGoingOn = poolGoingOn
    }

    /// This change and then another one, as one change; nil if both remove pools.
    package func followed(by next: PauseChange) -> PauseChange? {
        guard poolGoingOn == nil || next.poolGoingOn == nil || poolGoingOn == next.poolGoingOn
        else { return nil }
        let pool = next.poolGoingOn
        func isRemoved(_ name: String) -> Bool {
            next.goingOn.contains(name) || name == pool
                || pool.map { name.hasPrefix("\($0)/") } == true
        }
        let stillPaused = paused.filter { !isRemoved($0) && !next.paused.contains($0) }
        return PauseChange(
            paused: stillPaused + next.paused,
            goingOn: goingOn + next.goingOn.filter { !goingOn.contains($0) },
            poolGoingOn: poolGoingOn ?? pool)
    }
}
