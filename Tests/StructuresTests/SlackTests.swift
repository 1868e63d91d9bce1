// Proves how exactly four bytes keep a timer's tolerance, and that they never make the timer later.

import Structures
import Support
import Testing

@Suite struct `How late a timer may be` {
    static let second: Int64 = 1_000_000_000

    @Test(arguments: [
        0, 1, 999_999_999, second, 17 * 60 * second + 999_999_000, 12 * 86_400 * second + 1_000_000,
        365 * 86_400 * second,
    ])
    func `is kept as it is in the units that people use`(nanoseconds: Int64) {
        #expect(Slack(from: 7, to: 7 + nanoseconds).end(from: 7) == 7 + nanoseconds)
    }

    @Test func `is cut off to microseconds, milliseconds and seconds the longer it is`() {
        #expect(Slack(from: 0, to: 2 * Self.second + 1_999).end(from: 0) == 2 * Self.second + 1_000)
        let hour = 3_600 * Self.second
        #expect(Slack(from: 0, to: hour + 1_999_999).end(from: 0) == hour + 1_000_000)
        let month = 30 * 24 * hour
        #expect(Slack(from: 0, to: month + 2 * Self.second - 1).end(from: 0) == month + Self.second)
    }

    @Test func `of more than 34 years is 34 years`() {
        let most = Slack(from: 0, to: .max).end(from: 0)
        #expect(most == ((1 << 30) - 1) * Self.second)
        #expect(Slack(from: .min, to: .max).end(from: .min) == .min + most)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `is never more than was asked for, and less by less than a millionth`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<10_000 {
            let asked =
                Int64.random(in: 0...(1 << 59), using: &random)
                >> Int64.random(in: 0...59, using: &random)
            let kept = Slack(from: -5, to: asked - 5).end(from: -5) + 5
            #expect(kept <= asked, "seed \(seed)")
            #expect(asked - kept <= asked / 1_000_000, "seed \(seed): \(asked) is \(kept)")
        }
    }
}
