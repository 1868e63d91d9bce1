// A consumer lets a stream of work gather for a moment, then takes it at once.
//
// Without that pause it would take a little at a time, and each handover moves some ten cache lines
// to the other processor and back (their cost: `line` of `Scripts/bench post`). A network card does
// the same when it holds its interrupt back while packets come in quick succession.

internal import Kernel
internal import RunLoops

/// Whether things come in a stream, and for how long more of them may gather.
///
/// A producer that hands over a few and waits for their results is no stream, and served at once.
@usableFromInline
package struct StreamPace {
    /// As many in a row are a stream.
    private static let least = 8
    /// So many at once that nothing is gained by more.
    private static let enough = 256
    /// A fraction of what it takes to wake a thread on another processor.
    private static let moment = Duration.microseconds(2)

    private var latestCount = 0
    private var latestSleepCount: UInt64 = 0

    package init() {}

    /// Waits a moment if so many were taken one after the other, until there was nothing more.
    ///
    /// With one processor alone it never does: that would keep the producer from running.
    ///
    /// - Returns: whether it did.
    /// - Blocks: for 2 µs at most, awake.
    package static func gather(after count: Int) -> Bool {
        guard count >= least, SystemThread.processorCount > 1 else { return false }
        SystemThread.linger(moment)
        return true
    }

    /// Waits a moment if the last items taken were part of a stream, and the thread has not slept
    /// since.
    ///
    /// - Returns: whether it did.
    /// - Thread: the loop's, as `note`.
    /// - Blocks: for 2 µs at most, awake.
    @discardableResult
    @usableFromInline
    package func gather() -> Bool {
        guard latestCount < Self.enough,
            latestSleepCount == ThreadRunLoop.current.counters.sleepCount
        else { return false }
        return Self.gather(after: latestCount)
    }

    /// Takes note of how many were taken at once.
    @usableFromInline
    package mutating func note(count: Int) {
        latestCount = count
        latestSleepCount = ThreadRunLoop.current.counters.sleepCount
    }
}
