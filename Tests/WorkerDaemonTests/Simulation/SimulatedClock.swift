// The time of a simulation: moved by hand, and common to all daemons that live one after another in
// it.

import Kernel
import Synchronization

/// Monotonic time that only moves when it is told to.
final class SimulatedClock: LoopClock {
    private struct State {
        var now = Instant(nanoseconds: 0)
        var wakers: [@Sendable () -> Void] = []
        /// How far the clock on the wall was set forward.
        var wallShift = Duration.zero
    }

    /// The clock behind the clock on the wall.
    private struct Wall: LoopClock {
        let clock: SimulatedClock

        var runsByItself: Bool { false }

        func now() -> Instant {
            clock.state.withLock { $0.now.advanced(by: $0.wallShift) }
        }

        func whenMoved(_ wake: @escaping @Sendable () -> Void) { clock.whenMoved(wake) }
    }

    /// The time of the wall clock at its beginning.
    static let beginning: Int64 = 1_800_000_000_000

    private let state = Mutex(State())

    var runsByItself: Bool { false }

    func now() -> Instant { state.withLock { $0.now } }

    func whenMoved(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wakers.append(wake) }
    }

    /// Milliseconds since its beginning.
    var milliseconds: Int64 { now().nanoseconds / 1_000_000 }

    /// Milliseconds since its beginning, of which the last may not be over.
    var millisecondsRoundedUp: Int64 { (now().nanoseconds + 999_999) / 1_000_000 }

    /// Lets time pass.
    func advance(byMilliseconds count: Int64) { advance(byNanoseconds: count * 1_000_000) }

    /// Lets time pass.
    func advance(byNanoseconds count: Int64) {
        let wakers = state.withLock { state in
            state.now = state.now.advanced(by: .nanoseconds(count))
            return state.wakers
        }
        for wake in wakers { wake() }
    }

    /// The clock on the wall.
    var wall: WallTime { WallTime(on: Wall(clock: self), from: Self.beginning) }

    /// Sets the clock on the wall, forward or back, while time goes on as it did.
    func setWall(byMilliseconds count: Int64) {
        state.withLock { $0.wallShift += .milliseconds(count) }
    }

    /// Forgets the loops that went by it: their threads have ended.
    func forgetLoops() { state.withLock { $0.wakers.removeAll() } }
}
