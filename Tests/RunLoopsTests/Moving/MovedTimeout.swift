// A time-out of a moving game, and what is noted of it.

import Kernel
import RunLoops
import Support

/// A closure that a loop is to call once, at a date, unless it is cancelled or the loop ends
/// before.
struct MovedTimeout: Sendable {
    /// Whose it is, for ever.
    let owner: Int
    let mode: ThreadRunLoop.Mode
    /// Held by the closure alone.
    let token: WeakReference<Token>
    /// The name by which it is cancelled.
    var name: ThreadRunLoop.Timeout?
    var due: Instant
    var moves: [Move]
    var isCalled = false
    var isCancelled = false

    var isOver: Bool { isCalled || isCancelled }
}
