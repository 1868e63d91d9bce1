// Time limits of tasks that wait for something that nearly always comes in time.
//
// A task that sleeps until the limit, and is cancelled when the thing has come, would not do: of a
// cancelled `Task.sleep` Swift's runtime keeps all that it needs to wake it, some 700 bytes, until
// its date. So limits that go by a clock of the runtime's are kept here, and a few tasks sleep for
// all of them.

internal import Kernel
internal import Structures
internal import Synchronization

/// A callback that is called once a time has passed, unless it is cancelled first.
struct TaskTimeLimit: Sendable {
    private static let continuous = TimeLimits(ContinuousClock())
    private static let suspending = TimeLimits(SuspendingClock())

    private let cancelling: @Sendable () -> Void

    /// Begins a time limit.
    ///
    /// - Parameter passed: called when it has passed, or when the clock's own loop has ended: no
    ///   time passes on that any more.
    init(
        after duration: Duration, by clock: some Clock<Duration>,
        _ passed: @escaping @Sendable () -> Void
    ) {
        let duration = min(duration, .longestWait)
        if clock is ContinuousClock {
            cancelling = Self.continuous.add(after: duration, passed)
        } else if clock is SuspendingClock {
            cancelling = Self.suspending.add(after: duration, passed)
        } else {
            cancelling = Self.task(passed) { try await Task.sleep(for: duration, clock: clock) }
        }
    }

    /// Begins a time limit that ends at an instant; past, it ends at once.
    ///
    /// - Parameter passed: called as by the other one.
    init<Time: Clock<Duration>>(
        until deadline: Time.Instant, by clock: Time, _ passed: @escaping @Sendable () -> Void
    ) {
        if clock is ContinuousClock || clock is SuspendingClock {
            self = TaskTimeLimit(after: clock.now.duration(to: deadline), by: clock, passed)
            return
        }
        // Not by a duration: the clock may have been moved before the task begins to sleep.
        cancelling = Self.task(passed) { try await Task.sleep(until: deadline, clock: clock) }
    }

    /// Starts a task that sleeps, and then calls `passed`.
    ///
    /// - Returns: what cancels it.
    private static func task(
        _ passed: @escaping @Sendable () -> Void,
        _ sleep: @escaping @Sendable () async throws -> Void
    ) -> @Sendable () -> Void {
        let task = Task {
            do {
                try await sleep()
            } catch is CancellationError {
                return
            } catch {
                // The clock's own loop has ended.
            }
            passed()
        }
        return { task.cancel() }
    }

    /// Lets go of the closure to be called; the call may be under way.
    func cancel() { cancelling() }
}

/// The time limits that go by one clock.
package final class TimeLimits<Time: Clock<Duration>>: Sendable {
    private struct State {
        var limits = TimerHeap<@Sendable () -> Void>()
        /// The dates for which tasks sleep, each of them earlier than the one before.
        var wakeUps: [Int64] = []

        /// - Returns: whether the caller is to sleep until then: no sleeper wakes up earlier.
        mutating func beginSleeping(until date: Int64) -> Bool {
            if let earliest = wakeUps.last, earliest <= date { return false }
            wakeUps.append(date)
            return true
        }

        /// Takes the limits that have passed.
        ///
        /// - Parameter date: for which the caller slept.
        /// - Returns: what to call, and until when the caller is to sleep next.
        mutating func wakeUp(
            for date: Int64, now: Int64
        ) -> (passed: [@Sendable () -> Void], next: Int64?) {
            wakeUps.removeAll { $0 == date }
            var due: [TimerHeap<@Sendable () -> Void>.Handle] = []
            limits.collectDue(upTo: now, into: &due)
            let passed = due.compactMap { limits.remove($0) }
            guard let next = limits.firstFire, beginSleeping(until: next) else {
                return (passed, nil)
            }
            return (passed, next)
        }
    }

    private let clock: Time
    /// Dates are nanoseconds from here.
    private let origin: Time.Instant
    private let state = Mutex(State())

    /// No limits yet, by a clock whose sleep nothing but its date ends.
    package init(_ clock: Time) {
        self.clock = clock
        origin = clock.now
    }

    /// Adds a limit.
    ///
    /// - Parameter passed: called when it has passed, on a thread that Swift's tasks share.
    /// - Returns: takes it away.
    /// - Thread: any thread.
    package func add(
        after duration: Duration, _ passed: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        let date = now(after: duration)
        let (limit, isSleeper) = state.withLock { state in
            let limit = state.limits.insert(fire: date, latest: date, payload: passed)
            return (limit, state.beginSleeping(until: date))
        }
        if isSleeper { Task.detached { [self] in await sleep(until: date) } }
        return { [self] in
            let passed = state.withLock { $0.limits.remove(limit) }
            // Let go of without the lock.
            withExtendedLifetime(passed) {}
        }
    }

    private func sleep(until date: Int64) async {
        var next: Int64? = date
        while let date = next {
            try? await clock.sleep(
                until: origin.advanced(by: .nanoseconds(date)), tolerance: nil)
            let now = now(after: .zero)
            let (passed, later) = state.withLock { $0.wakeUp(for: date, now: now) }
            for body in passed { body() }
            next = later
        }
    }

    private func now(after duration: Duration) -> Int64 {
        origin.duration(to: clock.now.advanced(by: duration)).nanosecondsClamped
    }
}
