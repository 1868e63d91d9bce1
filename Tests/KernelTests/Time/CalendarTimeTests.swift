// Dates of the calendar as moments.

import Kernel
import Testing

@Suite struct `A date of the calendar` {
    @Test func `is a moment at an offset from UTC`() {
        let noon = CalendarTime(year: 2030, month: 1, day: 2, hour: 12, minute: 30, second: 5)
        #expect(noon.unixSeconds(offset: 0) == 1_893_587_405)
        #expect(noon.unixSeconds(offset: 7_200) == 1_893_580_205)
        #expect(CalendarTime(year: 1970, month: 1, day: 1).unixSeconds(offset: 0) == 0)
    }

    @Test(arguments: [
        (2028, 2, 29, true), (2029, 2, 29, false), (2100, 2, 29, false), (2000, 2, 29, true),
        (2030, 4, 31, false), (2030, 12, 31, true), (2030, 13, 1, false), (2030, 1, 0, false),
        (1969, 12, 31, false), (10_000, 1, 1, false),
    ])
    func `is none if the calendar has no such day`(year: Int, month: Int, day: Int, isOne: Bool) {
        let date = CalendarTime(year: year, month: month, day: day)
        #expect((date.unixSeconds(offset: 0) != nil) == isOne)
    }

    @Test func `is none if a day has no such time`() {
        for (hour, minute, second) in [(24, 0, 0), (0, 60, 0), (0, 0, 60), (-1, 0, 0)] {
            let time = CalendarTime(
                year: 2030, month: 1, day: 1, hour: hour, minute: minute, second: second)
            #expect(time.unixSeconds(offset: 0) == nil)
        }
    }

    @Test func `comes back from the clocks of this machine`() {
        for moment in [86_400, 1_893_587_405, 1_721_044_800] as [Int64] {
            #expect(CalendarTime(local: moment).unixSeconds(offset: nil) == moment)
        }
    }
}
