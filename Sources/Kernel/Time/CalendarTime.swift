// Dates of the calendar and the machine's own time zone.

internal import Glibc

/// A date and a time of day, as people write them.
package struct CalendarTime: Equatable, Sendable {
    package var year: Int
    package var month: Int
    package var day: Int
    package var hour: Int
    package var minute: Int
    package var second: Int

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

    /// A moment on the clocks of the machine's time zone (the variable TZ, or /etc/localtime).
    ///
    /// - Thread: any.
    /// - Source: localtime_r(3).
    package init(local unixSeconds: Int64) {
        var seconds = time_t(unixSeconds)
        var parts = unsafe tm()
        tzset()
        unsafe localtime_r(&seconds, &parts)
        self.init(
            year: unsafe Int(parts.tm_year) + 1_900, month: unsafe Int(parts.tm_mon) + 1,
            day: unsafe Int(parts.tm_mday), hour: unsafe Int(parts.tm_hour),
            minute: unsafe Int(parts.tm_min), second: unsafe Int(parts.tm_sec))
    }

    /// The moment in seconds since 1970-01-01 00:00 UTC.
    ///
    /// - Parameter offset: of the clock from UTC in seconds; nil for the machine's time zone. A
    ///   time that its clocks skip is moved by as much as they skip.
    /// - Returns: nil if there is no such date or time of day.
    /// - Thread: any.
    /// - Source: mktime(3), timegm(3).
    package func unixSeconds(offset: Int?) -> Int64? {
        guard (1_970...9_999).contains(year), (1...12).contains(month),
            (1...days).contains(day), (0...23).contains(hour), (0...59).contains(minute),
            (0...59).contains(second)
        else { return nil }
        var parts = unsafe tm()
        unsafe parts.tm_year = CInt(year - 1_900)
        unsafe parts.tm_mon = CInt(month - 1)
        unsafe parts.tm_mday = CInt(day)
        unsafe parts.tm_hour = CInt(hour)
        unsafe parts.tm_min = CInt(minute)
        unsafe parts.tm_sec = CInt(second)
        unsafe parts.tm_isdst = -1
        guard let offset else { return Int64(unsafe mktime(&parts)) }
        return Int64(unsafe timegm(&parts)) - Int64(offset)
    }

    /// The number of days of its month.
    private var days: Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
