// Proves how cron expressions are read, against croniter where both mean the same.

import Jobs
import Testing

@Suite struct `A cron expression` {
    @Test func `is due when croniter says so`() throws {
        var count = 0
        for line in try fixtureLines("cron.txt") {
            let parts = line.split(separator: "|")
            let moments = parts.dropFirst().compactMap { Int64($0) }
            let found = try due(String(parts[0]), .utc, after: moments[0], count: 3)
            #expect(found == Array(moments.dropFirst()), "\(line)")
            count += 1
        }
        #expect(count == 400)
    }

    @Test(arguments: [
        ("* * * * *", "2026-11-21 17:01:00"),
        ("*/10 * * * * *", "2026-11-21 17:00:50"),
        ("@hourly", "2026-11-21 18:00"), ("@daily", "2026-11-22 00:00"),
        ("@weekly", "2026-11-22 00:00"), ("@monthly", "2026-12-01 00:00"),
        ("@yearly", "2027-01-01 00:00"), ("@Annually", "2027-01-01 00:00"),
        ("30 3 * * mon", "2026-11-23 03:30"), ("0 0 * * 7", "2026-11-22 00:00"),
        ("0 12 * * FRI-SUN", "2026-11-22 12:00"), ("0 0 29 FEB *", "2028-02-29 00:00"),
        ("0 0 L * *", "2026-11-30 00:00"), ("0 0 L,1 feb *", "2027-02-01 00:00"),
        ("0 50/5 * * * *", "2026-11-21 17:50"),
        // Sunday the 29th of February, which an asterisk makes it be both.
        ("0 0 29 2 */7", "2032-02-29 00:00"),
        // The day of month or the day of week.
        ("0 0 1 * MON", "2026-11-23 00:00"),
        ("59 59 23 31 12 *", "2026-12-31 23:59:59"),
        ("  0\t0 1  1 * ", "2027-01-01 00:00"),
    ])
    func `is due next`(text: String, moment: String) throws {
        let found = try due(text, .utc, after: utc("2026-11-21 17:00:40"), count: 1)
        #expect(found == [try utc(moment)], "\(text)")
    }

    @Test(arguments: [
        ("", "has 0 fields"), ("* * * *", "has 4 fields, must have 5"),
        ("* * * * * * *", "has 7 fields"),
        ("60 * * * *", "minute field: '60' at character 1"), ("60 * * * *", "0 to 59"),
        ("* 24 * * *", "hour field: '24' at character 3"),
        ("0 0 0 * *", "day of month field: '0' at character 5"),
        ("0 0 * 1,13 *", "month field: '13' at character 9"), ("0 0 * FOO *", "JAN to DEC"),
        ("0 0 * * 8", "day of week field: '8'"), ("0 0 * * ?", "'?'"),
        ("1,,2 * * * *", "'' at character 3"), ("5-1 * * * *", "ends before it begins"),
        ("*/0 * * * *", "step"), ("*/ * * * *", "step"), ("*/60 * * * *", "step"),
        ("1-2-3 * * * *", "is not a range"), ("1/2/3 * * * *", "is not a range"),
        ("-1 * * * *", "'-1'"), ("+1 * * * *", "'+1'"), ("١ * * * *", "'١'"),
        ("* * * * * 0-8", "day of week field: '0-8' at character 11"),
        ("0 0 30 FEB *", "never due"), ("0 0 31 4,6,9,11 *", "never due"),
        ("@reboot", "@hourly"), ("* L * * *", "'L'"),
        (String(repeating: "1,", count: 600) + "1 * * * *", "at most 1024"),
    ])
    func `is refused with a sentence that names the place`(text: String, part: String) {
        #expect {
            try CronExpression(text)
        } throws: { error in
            "\(error)".contains(part)
        }
    }

    @Test func `counts days as a calendar does`() {
        // Four hundred years, day by day.
        var day = CivilTime.days(year: 1_899, month: 12, day: 31)
        for year in 1_900..<2_300 {
            for month in 1...12 {
                for number in 1...CivilTime.dayCount(year: year, month: month) {
                    day += 1
                    let time = CivilTime(seconds: day * CivilTime.secondsOfDay + 86_399)
                    guard
                        time
                            == CivilTime(
                                year: year, month: month, day: number, hour: 23, minute: 59,
                                second: 59)
                    else {
                        Issue.record("\(year)-\(month)-\(number) is \(time)")
                        return
                    }
                }
            }
        }
        #expect(day == CivilTime.days(year: 2_299, month: 12, day: 31))
        #expect(CivilTime.weekday(ofDay: 0) == 4)
    }
}
