// Proves the time of records, on a clock that stands between two milliseconds.

import Kernel
import Testing

@Suite struct `Wall time` {
    /// A clock that shows one instant.
    private struct StandingClock: LoopClock {
        let instant: Instant
        var runsByItself: Bool { false }
        func now() -> Instant { instant }
        func whenMoved(_ wake: @escaping @Sendable () -> Void) {}
    }

    private func time(atNanoseconds count: Int64) -> WallTime {
        WallTime(on: StandingClock(instant: Instant(nanoseconds: count)), from: 1_000)
    }

    @Test func `is told in the milliseconds that are over, or in one more`() {
        let between = time(atNanoseconds: 7_000_001)
        #expect(between.unixMilliseconds() == 1_007)
        #expect(between.unixMillisecondsRoundedUp() == 1_008)
        let even = time(atNanoseconds: 7_000_000)
        #expect(even.unixMilliseconds() == 1_007)
        #expect(even.unixMillisecondsRoundedUp() == 1_007)
    }

    @Test func `of the machine is the same in milliseconds and in nanoseconds`() {
        let before = WallClock.unixNanoseconds() / 1_000_000
        let between = WallTime.system.unixMilliseconds()
        let after = WallTime.system.unixMillisecondsRoundedUp()
        #expect(before <= between && between <= after)
    }
}
