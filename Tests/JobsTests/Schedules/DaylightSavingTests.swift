// Proves what is due around changes of the clocks: known nights, and each second of many, against
// the rule as it is said in words.

import Jobs
import Support
import Testing

@Suite struct `A schedule around a change of the clocks` {
    @Test func `runs at the change what the clock leaves out`() throws {
        let berlin = try zone("Europe/Berlin")
        // 02:00 becomes 03:00 on 29 March 2026, at 01:00 UTC.
        let start = try utc("2026-03-28 12:00")
        let fixed = try due("30 2 * * *", berlin, after: start, count: 2)
        #expect(fixed == [try utc("2026-03-29 01:00"), try utc("2026-03-30 00:30")])
        // Several that are left out, and one that is due then anyway, are one.
        let many = try due("0,15,30 2,3 * * *", berlin, after: start, count: 3)
        #expect(
            many == [
                try utc("2026-03-29 01:00"), try utc("2026-03-29 01:15"),
                try utc("2026-03-29 01:30"),
            ])
    }

    @Test func `runs what comes twice the first time only, if its time is fixed`() throws {
        let berlin = try zone("Europe/Berlin")
        // 03:00 becomes 02:00 on 25 October 2026, at 01:00 UTC.
        let start = try utc("2026-10-24 12:00")
        let fixed = try due("30 2 * * *", berlin, after: start, count: 2)
        #expect(fixed == [try utc("2026-10-25 00:30"), try utc("2026-10-26 01:30")])
        let newYork = try zone("America/New_York")
        let again = try due("30 1 * * *", newYork, after: utc("2026-11-01 05:30"), count: 1)
        #expect(again == [try utc("2026-11-02 06:30")])
    }

    @Test func `follows the clock, if an asterisk begins the hour or the minute`() throws {
        let berlin = try zone("Europe/Berlin")
        let spring = try due("30 * * * *", berlin, after: utc("2026-03-29 00:00"), count: 3)
        #expect(
            spring == [
                try utc("2026-03-29 00:30"), try utc("2026-03-29 01:30"),
                try utc("2026-03-29 02:30"),
            ])
        let autumn = try due("*/30 2 * * *", berlin, after: utc("2026-10-24 12:00"), count: 5)
        #expect(
            autumn == [
                try utc("2026-10-25 00:00"), try utc("2026-10-25 00:30"),
                try utc("2026-10-25 01:00"), try utc("2026-10-25 01:30"),
                try utc("2026-10-26 01:00"),
            ])
        // In an hour that is left out, never.
        let gone = try due("*/30 2 * * *", berlin, after: utc("2026-03-28 12:00"), count: 1)
        #expect(gone == [try utc("2026-03-30 00:00")])
    }

    @Test func `knows half an hour of summer, and a day that never was`() throws {
        let island = try zone("Australia/Lord_Howe")
        // 02:00 becomes 02:30 on 4 October 2026, at 15:30 UTC of the day before.
        let half = try due("15 2 * * *", island, after: utc("2026-10-03 00:00"), count: 1)
        #expect(half == [try utc("2026-10-03 15:30")])
        // Samoa had no 30 December 2011: it began with the 31st, at 10:00 UTC.
        let apia = try zone("Pacific/Apia")
        let days = try due("30 3 * * *", apia, after: utc("2011-12-29 00:00"), count: 3)
        #expect(
            days == [
                try utc("2011-12-29 13:30"), try utc("2011-12-30 10:00"),
                try utc("2011-12-30 13:30"),
            ])
    }

    /// The rule word by word, for each second of some days.
    struct Walk {
        let start: Int64
        let end: Int64

        func due(
            _ zone: TimeZoneRules, isFixed: Bool, fits: (CivilTime) -> Bool
        ) -> [Int64] {
            var moments: [Int64] = []
            // No clock was set back on the day before.
            var latest = start - 1 + zone.span(at: start - 1).offset
            for moment in start..<end {
                let shown = moment + zone.span(at: moment).offset
                if isFixed {
                    guard shown > latest else { continue }
                    let isDue = (latest + 1...shown).contains { fits(CivilTime(seconds: $0)) }
                    if isDue { moments.append(moment) }
                    latest = shown
                } else if fits(CivilTime(seconds: shown)) {
                    moments.append(moment)
                }
            }
            return moments
        }
    }

    @Test(arguments: [
        ("Europe/Berlin", "2026-03-28 22:00"), ("Europe/Berlin", "2026-10-24 22:00"),
        ("Australia/Lord_Howe", "2026-10-03 14:00"), ("Australia/Lord_Howe", "2026-04-04 12:00"),
        ("Antarctica/Troll", "2026-03-28 23:00"), ("Pacific/Apia", "2011-12-30 08:00"),
        ("America/St_Johns", "2006-10-29 00:00"),
    ])
    func `is due as the rule says in words, second by second`(
        name: String, begin: String
    ) throws {
        let zone = try zone(name)
        let walk = Walk(start: try utc(begin), end: try utc(begin) + 6 * 3_600)
        var dice = SeededRandom(seed: UInt64(walk.start))
        for _ in 0..<4 {
            let (minute, hour) = (dice.below(60), dice.below(4))
            let cases: [(String, Bool, (CivilTime) -> Bool)] = [
                (
                    "\(minute) \(hour),\(hour + 1) * * *", true,
                    { $0.minute == minute && [hour, hour + 1].contains($0.hour) && $0.second == 0 }
                ),
                (
                    "7 \(minute) * * * *", false, { $0.minute == minute && $0.second == 7 }
                ),
                (
                    "*/20 \(hour) * * *", false,
                    { $0.minute % 20 == 0 && $0.hour == hour && $0.second == 0 }
                ),
            ]
            for (text, isFixed, fits) in cases {
                let expected = walk.due(zone, isFixed: isFixed, fits: fits)
                let found = try due(text, zone, after: walk.start - 1, count: expected.count + 1)
                #expect(found.filter { $0 < walk.end } == expected, "\(name) \(text)")
            }
        }
    }

    @Test func `never goes back, and leaves nothing out between two moments`() throws {
        var dice = SeededRandom(seed: 4_711)
        let zones = try [
            "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia",
        ]
        .map { try zone($0) }
        for text in ["30 2 * * *", "*/30 * * * *", "0 0 29 2 *", "15 1,2,3 * * SUN", "@hourly"] {
            let cron = try CronExpression(text)
            for zone in zones {
                for _ in 0..<50 {
                    let moment = Int64(dice.below(4_000_000_000))
                    let next = try #require(cron.next(after: moment, in: zone))
                    #expect(next > moment)
                    // From anywhere between, it is the same.
                    let between = moment + Int64(dice.below(Int(next - moment)))
                    #expect(cron.next(after: between, in: zone) == next)
                    #expect(cron.next(after: next - 1, in: zone) == next)
                }
            }
        }
    }
}
