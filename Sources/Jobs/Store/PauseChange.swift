// Which threads and pools a command has paused or resumed, as stores keep it.

/// What becomes of the names that are paused: of threads, and of pools that are paused as a whole.
package struct PauseChange: Sendable, Equatable {
    /// Names that are paused from now on.
    package var paused: [String]
    /// Names that are no more.
    package var goingOn: [String]
    /// A pool that is no more, by its own name and by those of its members, whatever numbers they
    /// have.
    package var poolGoingOn: String?

    package init(paused: [String], goingOn: [String] = [], poolGoingOn: String? = nil) {
        self.paused = paused
        self.goingOn = goingOn
        self.poolGoingOn = poolGoingOn
    }
}
