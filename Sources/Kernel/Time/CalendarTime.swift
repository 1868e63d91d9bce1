// Dates of the calendar, in UTC and in the machine's own time zone.

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
        unsafe self.init(parts)
    }

    /// A moment on clocks that show UTC.
    ///
    /// - Thread: any.
    /// - Source: gmtime_r(3).
    init(utc unixSeconds: Int64) {
        var seconds = time_t(unixSeconds)
        var parts = unsafe tm()
        unsafe gmtime_r(&seconds, &parts)
        unsafe self.init(parts)
    }

    private init(_ parts: tm) {
        unsafe self.init(
            year: Int(parts.tm_year) + 1_900, month: Int(parts.tm_mon) + 1,
            day: Int(parts.tm_mday), hour: Int(parts.tm_hour), minute: Int(parts.tm_min),
            second: Int(parts.tm_sec))
    }

    /// The moment in seconds since 1970-01-01 00:00 UTC.
    ///
    /// - Parameter offset: of the clock from UTC in seconds; nil for the machine's time zone. A
    ///   time that its clocks skip is moved by as much as they skip.
    /// - Returns: nil if there is no such date or time of day.
    /// - Thread: any.
    /// - Source: mktime(3), timegm(3).
    package func unixSeconds(offset: Int?) -> Int64? {
        guard (1_970...9_999).contains(year) else { return nil }
        var parts = unsafe tm()
        unsafe parts.tm_year = CInt(year - 1_900)
        unsafe parts.tm_mon = CInt(truncatingIfNeeded: month - 1)
        unsafe parts.tm_mday = CInt(truncatingIfNeeded: day)
        unsafe parts.tm_hour = CInt(truncatingIfNeeded: hour)
        unsafe parts.tm_min = CInt(truncatingIfNeeded: minute)
        unsafe parts.tm_sec = CInt(truncatingIfNeeded: second)
        // The call carries a 31 April over to May: then the date is another one.
        let seconds = unsafe timegm(&parts)
        guard unsafe CalendarTime(parts) == self else { return nil }
        if let offset { return Int64(seconds) - Int64(offset) }
        unsafe parts.tm_isdst = -1
        return Int64(unsafe mktime(&parts))
    }
}
