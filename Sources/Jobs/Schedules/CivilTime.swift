// Dates of the Gregorian calendar as numbers, in both directions. Pure arithmetic, without zones.

/// A moment as a calendar and a clock on the wall show it.
package struct CivilTime: Hashable, Sendable {
    package static let secondsOfDay: Int64 = 86_400

    package var year: Int
    /// 1 to 12.
    package var month: Int
    /// 1 to 31.
    package var day: Int
    package var hour: Int
    package var minute: Int
    package var second: Int

    /// The reading with these parts.
    package init(
        year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0
    ) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// The reading so many seconds after the beginning of 1970.
    package init(seconds: Int64) {
        let days = Self.floorDivide(seconds, Self.secondsOfDay)
        let rest = Int(seconds - days * Self.secondsOfDay)
        // Years begin in March here, so that 29 February is the last day.
        let shifted = days + 719_468
        let era = Self.floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
        hour = rest / 3_600
        minute = rest / 60 % 60
        second = rest % 60
    }

    /// Seconds since the beginning of 1970, as if the clock showed UTC.
    package var seconds: Int64 {
        Self.days(year: year, month: month, day: day) * Self.secondsOfDay
            + Int64(hour * 3_600 + minute * 60 + second)
    }

    /// 0 for Sunday to 6 for Saturday.
    package var weekday: Int {
        Self.weekday(ofDay: Self.days(year: year, month: month, day: day))
    }

    /// Days since the beginning of 1970.
    ///
    /// - Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    package static func days(year: Int, month: Int, day: Int) -> Int64 {
        let shifted = Int64(month <= 2 ? year - 1 : year)
        let era = floorDivide(shifted, 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    /// 0 for Sunday to 6 for Saturday; `day` is counted from the beginning of 1970.
    package static func weekday(ofDay day: Int64) -> Int {
        Int(day + 4 - floorDivide(day + 4, 7) * 7)
    }

    /// The number of days of a month.
    package static func dayCount(year: Int, month: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Whether a year has 366 days.
    package static func isLeap(_ year: Int) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    /// Divides towards the past, so that moments before 1970 belong to the right day.
    package static func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
        let quotient = number / divisor
        return number % divisor < 0 ? quotient - 1 : quotient
    }
}
