// The time by which a daemon goes, as a value: the kernel's, or one that is moved by hand.

/// A daemon's two clocks: one for its loops, one for what it writes down.
package struct Clocks: Sendable {
    /// By which timers and sleeps go.
    package let loop: any LoopClock
    /// By which jobs are dated.
    package let wall: WallTime

    /// The machine's.
    package static let system = Clocks(loop: SystemClock(), wall: .system)

    /// Two clocks that pass together.
    package init(loop: any LoopClock, wall: WallTime) {
        self.loop = loop
        self.wall = wall
    }
}
