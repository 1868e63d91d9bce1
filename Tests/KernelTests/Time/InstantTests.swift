// Proves points in time: arithmetic that stays at the two distant ends, and text for people.

import Kernel
import Testing

@Suite struct InstantTests {
    private let second: Int64 = 1_000_000_000

    @Test func `it is moved by durations, and measures them`() {
        let start = Instant(nanoseconds: 5)
        #expect(start.advanced(by: .seconds(2)) == Instant(nanoseconds: 5 + 2 * second))
        #expect(start.advanced(by: .nanoseconds(-6)) == Instant(nanoseconds: -1))
        #expect(start.duration(to: Instant(nanoseconds: 12)) == .nanoseconds(7))
        #expect(start.duration(to: Instant(nanoseconds: 0)) == .nanoseconds(-5))
        #expect(start < start.advanced(byNanoseconds: 1))
    }

    @Test func `it stays at the distant ends instead of overflowing`() {
        #expect(Instant.distantFuture.advanced(by: .seconds(1)) == .distantFuture)
        #expect(Instant.distantPast.advanced(by: .seconds(-1)) == .distantPast)
        #expect(Instant(nanoseconds: 1).advanced(by: .seconds(Int64.max)) == .distantFuture)
        #expect(Instant(nanoseconds: -1).advanced(by: .seconds(Int64.min)) == .distantPast)
        #expect(
            Instant.distantPast.duration(to: .distantFuture) == .nanoseconds(Int64.max))
        #expect(
            Instant.distantFuture.duration(to: .distantPast) == .nanoseconds(Int64.min))
    }

    @Test func `parts of a nanosecond are rounded up, so that nothing is early`() {
        let part = Duration(secondsComponent: 0, attosecondsComponent: 1)
        #expect(part.nanosecondsClamped == 1)
        #expect((.nanoseconds(3) + part).nanosecondsClamped == 4)
        #expect((.nanoseconds(-3) + part).nanosecondsClamped == -2)
        #expect(Duration.zero.nanosecondsClamped == 0)
        #expect(Duration.seconds(Int64.max).nanosecondsClamped == .max)
        #expect(Duration.seconds(Int64.min).nanosecondsClamped == .min)
        // More seconds than 64 bits hold.
        #expect(Duration.seconds(1e19).nanosecondsClamped == .max)
        #expect(Duration.seconds(-1e19).nanosecondsClamped == .min)
        #expect(Duration.nanoseconds(Int64.max).nanosecondsClamped == .max)
        #expect((.nanoseconds(Int64.max) + part).nanosecondsClamped == .max)
    }

    @Test(
        arguments: [
            (0, "0.000000000s"), (1, "0.000000001s"), (1_500_000_000, "1.500000000s"),
            (-1, "-0.000000001s"), (-1_500_000_000, "-1.500000000s"),
            (.max, "never"), (.min, "always"),
        ] as [(Int64, String)])
    func `its text is seconds with nine decimals`(nanoseconds: Int64, text: String) {
        #expect(Instant(nanoseconds: nanoseconds).description == text)
    }

    @Test func `the kernel's clock never goes back`() {
        let clock = SystemClock()
        var last = clock.now()
        for _ in 0..<1_000 {
            let now = clock.now()
            #expect(now >= last)
            last = now
        }
        #expect(last > Instant(nanoseconds: 0))
    }
}
