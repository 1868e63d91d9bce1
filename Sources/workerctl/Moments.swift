// Moments as people write them: `14:30`, `in 2h`, `tomorrow 8:00`, `2026-12-24 18:00`.

internal import Kernel

enum Moments {
    /// The forms, for an error.
    static let forms =
        "14:30, 'tomorrow 8:00', 'in 2h', 2026-12-24, '2026-12-24 18:00', 2026-12-24T18:00:00Z, "
        + "or milliseconds since 1970"

    /// Reads a moment; one without an offset from UTC is on the clocks of this machine's time zone.
    ///
    /// - Parameter now: in milliseconds since 1970-01-01 00:00 UTC.
    /// - Returns: milliseconds since then; nil if the text is none of the forms.
    static func unixMilliseconds(_ text: String, now: Int64) -> Int64? {
        if text.allSatisfy({ ("0"..."9").contains($0) }) { return Int64(text) }
        if text == "now" { return now }
        for prefix in ["in ", "+"] where text.hasPrefix(prefix) {
            return Durations.milliseconds(String(text.dropFirst(prefix.count))).map {
                now + Int64($0)
            }
        }
        let parts = text.split(
            maxSplits: 1, omittingEmptySubsequences: false, whereSeparator: { " T".contains($0) })
        guard let first = parts.first else { return nil }
        let seconds: Int64? =
            switch (first, parts.count) {
            case ("today", _): day(0, later: parts, now)
            case ("tomorrow", _): day(1, later: parts, now)
            case (_, 1) where first.contains(":"): next(first, now)
            default: dated(first, parts.count > 1 ? parts[1] : nil)
            }
        return seconds.map { $0 * 1_000 }
    }

    /// The next time at which clocks show a time of day.
    private static func next(_ text: Substring, _ now: Int64) -> Int64? {
        guard let today = on(0, text, now) else { return nil }
        return today * 1_000 > now ? today : on(1, text, now)
    }

    private static func day(_ days: Int64, later parts: [Substring], _ now: Int64) -> Int64? {
        on(days, parts.count > 1 ? parts[1] : "0:00", now)
    }

    /// A time of day so many days from today.
    private static func on(_ days: Int64, _ text: Substring, _ now: Int64) -> Int64? {
        let today = CalendarTime(local: now / 1_000)
        // Noon, so that a day of 23 or 25 hours is no other day.
        let noon = CalendarTime(year: today.year, month: today.month, day: today.day, hour: 12)
        guard let noon = noon.unixSeconds(offset: nil), var time = timeOfDay(text) else {
            return nil
        }
        let day = CalendarTime(local: noon + days * 86_400)
        (time.year, time.month, time.day) = (day.year, day.month, day.day)
        return time.unixSeconds(offset: nil)
    }

    private static func dated(_ date: Substring, _ rest: Substring?) -> Int64? {
        let numbers = date.split(separator: "-", omittingEmptySubsequences: false).map(number)
        guard numbers.count == 3, let year = numbers[0], let month = numbers[1],
            let day = numbers[2], date.count == 10
        else { return nil }
        guard let rest else {
            return CalendarTime(year: year, month: month, day: day).unixSeconds(offset: nil)
        }
        let start = rest.firstIndex { "Z+-".contains($0) } ?? rest.endIndex
        guard var time = timeOfDay(rest[..<start]) else { return nil }
        (time.year, time.month, time.day) = (year, month, day)
        if start == rest.endIndex { return time.unixSeconds(offset: nil) }
        return offset(rest[start...]).flatMap { time.unixSeconds(offset: $0) }
    }

    /// `14:30` or `14:30:05`, with a fraction that is passed over; the date is any.
    private static func timeOfDay(_ text: Substring) -> CalendarTime? {
        let whole = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = (whole.first ?? "").split(separator: ":", omittingEmptySubsequences: false)
        let numbers = parts.compactMap(number)
        guard numbers.count == parts.count, (2...3).contains(parts.count),
            parts.dropFirst().allSatisfy({ $0.count == 2 }),
            whole.count == 1 || (parts.count == 3 && number(whole[1]) != nil)
        else { return nil }
        return CalendarTime(
            year: 1_970, month: 1, day: 1, hour: numbers[0], minute: numbers[1],
            second: parts.count == 3 ? numbers[2] : 0)
    }

    /// `Z`, `+01:00` or `-0500`, in seconds.
    private static func offset(_ text: Substring) -> Int? {
        if text == "Z" { return 0 }
        let digits = text.dropFirst().filter { $0 != ":" }
        guard digits.count == 4, let value = number(digits[...]), value / 100 < 24,
            value % 100 < 60
        else { return nil }
        let seconds = value / 100 * 3_600 + value % 100 * 60
        return text.first == "-" ? -seconds : seconds
    }

    /// Digits only, at most nine.
    private static func number(_ text: some StringProtocol) -> Int? {
        guard (1...9).contains(text.count), text.allSatisfy({ ("0"..."9").contains($0) }) else {
            return nil
        }
        return Int(text)
    }
}
