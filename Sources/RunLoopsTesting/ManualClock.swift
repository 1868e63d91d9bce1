// A clock that stands still until a test moves it. It knows nothing of loops: who sleeps by it has
// asked to be woken.

public import Kernel
internal import Synchronization

/// Monotonic time that only moves when it is told to.
///
/// It begins at zero. Give it to a worker (`WorkerThread(name:clock:)`) or a thread of your own
/// (`ThreadRunLoop.makeCurrent(clock:)`), then move it: the timers that are due by then fire, and
/// no thread waits for real time.
///
/// - Thread: any thread.
public final class ManualClock: LoopClock {
    private struct State {
        var now = Instant(nanoseconds: 0)
        var wakers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// A clock that shows zero.
    public init() {}

    /// The time that it shows.
    public func now() -> Instant { state.withLock { $0.now } }

    /// False: the test moves it.
    public var runsByItself: Bool { false }

    /// Registers a closure that is called after each move; run loops do so by themselves.
    public func whenMoved(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wakers.append(wake) }
    }

    /// Lets time pass, in one leap, and wakes all that sleep by this clock.
    ///
    /// A repeating timer that was due several times on the way fires once, as it does when its
    /// thread is late. Advance step by step to see each.
    public func advance(by duration: Duration) {
        move { $0.advanced(by: duration) }
    }

    /// Lets time pass until `instant`; an earlier one changes nothing.
    public func move(to instant: Instant) {
        move { _ in instant }
    }

    private func move(_ next: (Instant) -> Instant) {
        let wakers = state.withLock { state in
            state.now = max(state.now, next(state.now))
            return state.wakers
        }
        for wake in wakers { wake() }
    }

    /// How much time has passed since the clock was made.
    public var elapsed: Duration { Instant(nanoseconds: 0).duration(to: now()) }
}
