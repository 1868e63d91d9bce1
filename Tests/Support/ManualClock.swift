// A clock that stands still until a test moves it.

package import Kernel
internal import Synchronization

/// Monotonic time that only moves when told to.
///
/// - Thread: any thread.
package final class ManualClock: LoopClock {
    private struct State {
        var now = Instant(nanoseconds: 0)
        var wakers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func now() -> Instant { state.withLock { $0.now } }

    package var runsByItself: Bool { false }

    package func whenMoved(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wakers.append(wake) }
    }

    /// Lets time pass and wakes everybody who sleeps by this clock.
    package func advance(by duration: Duration) {
        move(to: now().advanced(by: duration))
    }

    /// Lets time pass until `instant`; an earlier one changes nothing.
    package func move(to instant: Instant) {
        let wakers = state.withLock { state in
            state.now = max(state.now, instant)
            return state.wakers
        }
        for wake in wakers { wake() }
    }

    /// Seconds since the clock was made.
    package var seconds: Double { Double(now().nanoseconds) / 1_000_000_000 }
}
