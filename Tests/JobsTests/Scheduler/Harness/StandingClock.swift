// A clock for tests of several schedulers and stores that share the time.

import Kernel
import Synchronization

/// A clock that stands still until it is moved.
final class StandingClock: LoopClock {
    private let time = Atomic<Int64>(0)

    func now() -> Instant { Instant(nanoseconds: time.load(ordering: .relaxed)) }
    var runsByItself: Bool { false }
    func whenMoved(_ wake: @escaping @Sendable () -> Void) {}
    func advance(byMilliseconds count: Int64) {
        time.add(count * 1_000_000, ordering: .relaxed)
    }
}
