// Proves which runs are made up for, and which are not.

import Jobs
import Support
import Testing

@Suite struct `A missed run` {
    private let tenSeconds = Schedule(.every(milliseconds: 10_000, from: 5_000))

    @Test func `counts periods from their start`() {
        #expect(tenSeconds.next(after: -100_000) == 15_000)
        #expect(tenSeconds.next(after: 5_000) == 15_000)
        #expect(tenSeconds.next(after: 14_999) == 15_000)
        #expect(tenSeconds.next(after: 15_000) == 25_000)
        #expect(tenSeconds.latest(until: 24_999, after: 0) == 15_000)
        #expect(tenSeconds.latest(until: 24_999, after: 15_000) == nil)
    }

    @Test(arguments: MissedRuns.allCases)
    func `is none if the moment has just come`(rule: MissedRuns) {
        let due = rule.due(of: tenSeconds, since: 5_000, at: 15_000)
        #expect(due == .init(runs: [15_000], leftOutCount: 0, through: 15_000))
        #expect(rule.due(of: tenSeconds, since: 15_000, at: 24_999) == nil)
    }

    @Test func `is made up for once, each or not at all`() {
        let once = MissedRuns.once.due(of: tenSeconds, since: 5_000, at: 38_000)
        #expect(once == .init(runs: [35_000], leftOutCount: 2, through: 35_000))
        let all = MissedRuns.all.due(of: tenSeconds, since: 5_000, at: 38_000)
        #expect(all == .init(runs: [15_000, 25_000, 35_000], leftOutCount: 0, through: 35_000))
        let none = MissedRuns.none.due(of: tenSeconds, since: 5_000, at: 38_000)
        #expect(none == .init(runs: [], leftOutCount: 3, through: 35_000))
        // The latest has just come.
        let late = MissedRuns.none.due(of: tenSeconds, since: 5_000, at: 36_000)
        #expect(late == .init(runs: [35_000], leftOutCount: 2, through: 35_000))
    }

    @Test func `is among the latest thousand, or left out`() throws {
        let cron = try CronExpression("* * * * * *")
        let schedule = Schedule(.cron(cron, .utc))
        let now: Int64 = 1_795_000_000_500
        let year: Int64 = 365 * 86_400_000
        let all = try #require(MissedRuns.all.due(of: schedule, since: now - year, at: now))
        #expect(all.runs == (0..<1_000).map { 1_794_999_001_000 + $0 * 1_000 })
        #expect(all.through == 1_795_000_000_000 && all.leftOutCount == nil)
        let once = try #require(MissedRuns.once.due(of: schedule, since: now - year, at: now))
        #expect(once.runs == [1_795_000_000_000])
    }

    @Test(arguments: MissedRuns.allCases)
    func `is counted if it is left out, up to a thousand`(rule: MissedRuns) throws {
        let runCount = [.all: 1_000, .once: 1, .none: 0][rule] ?? 0
        for (leftOut, counted) in [(1, 1), (999, 999), (1_000, 1_000), (1_001, nil), (9_000, nil)] {
            // The latest has not just come.
            let now = Int64(runCount + leftOut) * 10_000 + 9_000
            let due = try #require(rule.due(of: tenSeconds, since: 5_000, at: now + 5_000))
            #expect(due.runs.count == runCount, "\(leftOut)")
            #expect(due.leftOutCount == counted, "\(leftOut)")
            #expect(due.leftOutCountAtLeast == min(leftOut, 1_000), "\(leftOut)")
            #expect(due.through == now - 4_000, "\(leftOut)")
        }
    }

    @Test func `is the latest that a step by step walk finds`() throws {
        var dice = SeededRandom(seed: 99)
        let berlin = try zone("Europe/Berlin")
        for text in ["30 2 * * *", "*/7 3 * * *", "0 12 1 * *", "* * * 1 1 *"] {
            let schedule = Schedule(.cron(try CronExpression(text), berlin))
            for _ in 0..<20 {
                let start = Int64(dice.below(2_000_000_000)) * 1_000
                let end = start + Int64(dice.below(100 * 86_400_000))
                var walked: Int64?
                var moment = start
                while let next = schedule.next(after: moment), next <= end {
                    walked = next
                    moment = next
                }
                #expect(schedule.latest(until: end, after: start) == walked, "\(text) \(start)")
            }
        }
    }
}
