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
}
