// A repeating timer as a sequence that a task walks along.

public import Kernel
public import RunLoops

extension ThreadRunLoop {
    /// The dates of a grid, each when it has come.
    ///
    /// A task that is late gets one tick for all the dates that it missed, and the next one on the
    /// original grid, as a repeating timer does. It ends when the task is cancelled or the loop's
    /// thread has ended.
    public struct Ticks: AsyncSequence, Sendable {
        /// The date that has come; the first one missed, if it is late.
        public typealias Element = Instant
        /// It ends, it does not fail.
        public typealias Failure = Never

        let clock: TimerClock
        let interval: Duration
        let tolerance: Duration?

        /// Begins the grid: the first date is one interval from now.
        public func makeAsyncIterator() -> Iterator {
            Iterator(ticks: self, due: clock.now.advanced(by: interval))
        }

        /// One walk along the grid.
        public struct Iterator: AsyncIteratorProtocol {
            let ticks: Ticks
            var due: Instant

            /// Waits for the next date.
            ///
            /// - Returns: nil when the task was cancelled or the loop's thread has ended.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async -> Instant? {
                let clock = ticks.clock
                do {
                    try await clock.loop.sleep(
                        until: due, tolerance: ticks.tolerance, modes: clock.modes)
                } catch {
                    return nil
                }
                let date = due
                due = date.nextOnGrid(
                    every: ticks.interval.nanosecondsClamped, after: clock.now)
                return date
            }
        }
    }
}

extension ThreadRunLoop.TimerClock {
    /// The dates of a grid that begins when a task begins to wait for them.
    ///
    /// ```swift
    /// for await date in worker.clock.ticks(every: .milliseconds(5)) {
    ///     if date >= end { break }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - interval: between two dates; at least a nanosecond.
    ///   - tolerance: how much later than its date a tick may come; at most half the interval is
    ///     used.
    public func ticks(every interval: Duration, tolerance: Duration? = nil) -> ThreadRunLoop.Ticks {
        let interval = max(interval, .nanoseconds(1))
        return ThreadRunLoop.Ticks(
            clock: self, interval: interval,
            // More than half an interval would let two ticks fall together.
            tolerance: tolerance.map { min($0, interval / 2) })
    }
}
