// Cron expressions: when, in the time that a clock on the wall shows. Which moments those are in a
// zone with daylight saving is in CronExpression+Zone.swift.

/// Five fields, or six with seconds first, as the classic cron reads them.
///
/// If both the day of month and the day of week are restricted (neither begins with an asterisk), a
/// day is due that fits either of them.
///
/// - Source: crontab(5).
package struct CronExpression: Hashable, Sendable {
    /// The longest text.
    package static let byteCountMax = 1_024
    /// The last year in which anything is due.
    static let yearMax = 9_999

    /// As it was written.
    package let text: String

    let second: CronField
    let minute: CronField
    let hour: CronField
    private let dayOfMonth: CronField
    private let month: CronField
    private let dayOfWeek: CronField

    /// Reads an expression.
    ///
    /// - Throws: a fault that names the wrong field, its place and the allowed values; also if the
    ///   expression never matches.
    package init(_ text: String) throws(ScheduleFault) {
        guard text.utf8.count <= Self.byteCountMax else {
            throw ScheduleFault("has \(text.utf8.count) bytes, at most \(Self.byteCountMax)")
        }
        self.text = text
        let words = try Self.words(text)
        var fields = words.count == 5 ? [CronField(only: 0)] : []
        let kinds = CronFieldKind.allCases.suffix(words.count)
        for (word, kind) in zip(words, kinds) {
            fields.append(try CronField(word.text, kind, place: word.place))
        }
        second = fields[0]
        minute = fields[1]
        hour = fields[2]
        dayOfMonth = fields[3]
        month = fields[4]
        dayOfWeek = fields[5]
        // After 400 years the calendar repeats itself, days of the week included.
        let start = CivilTime.days(year: 2_000, month: 1, day: 1) * CivilTime.secondsOfDay
        guard first(from: start, yearMax: 2_399) != nil else {
            throw ScheduleFault("is never due: no month that is named has such a day")
        }
    }

    private static func words(
        _ text: String
    ) throws(ScheduleFault) -> [(text: Substring, place: Int)] {
        var words: [(text: Substring, place: Int)] = []
        var place = 1
        let fields = try expansion(text).split(omittingEmptySubsequences: false) {
            $0 == " " || $0 == "\t"
        }
        for word in fields {
            if !word.isEmpty { words.append((word, place)) }
            place += word.count + 1
        }
        guard words.count == 5 || words.count == 6 else {
            throw ScheduleFault(
                "has \(words.count) fields, must have 5 (minute, hour, day of month, month, day of "
                    + "week), or 6 with the second first")
        }
        return words
    }

    private static func expansion(_ text: String) throws(ScheduleFault) -> String {
        guard text.utf8.first == UInt8(ascii: "@") else { return text }
        switch text.lowercased() {
        case "@hourly": return "0 * * * *"
        case "@daily", "@midnight": return "0 0 * * *"
        case "@weekly": return "0 0 * * 0"
        case "@monthly": return "0 0 1 * *"
        case "@yearly", "@annually": return "0 0 1 1 *"
        default:
            throw ScheduleFault(
                "is not a name: allowed are @hourly, @daily, @weekly, @monthly and @yearly")
        }
    }

    /// Whether the time of day is fixed: no asterisk begins the hour, minute or second.
    var isFixedTime: Bool { !(second.hasStar || minute.hasStar || hour.hasStar) }

    /// Whether an asterisk does not begin the field, and so a day must fit it.
    private func fits(year: Int, month: Int, day: Int) -> Bool {
        let weekday = CivilTime.weekday(ofDay: CivilTime.days(year: year, month: month, day: day))
        let isWeekday = dayOfWeek.contains(weekday)
        let isLast =
            dayOfMonth.contains(CronField.lastDay)
            && day == CivilTime.dayCount(year: year, month: month)
        let isDay = dayOfMonth.contains(day) || isLast
        if dayOfMonth.hasStar || dayOfWeek.hasStar { return isDay && isWeekday }
        return isDay || isWeekday
    }

    /// The first reading that fits and is not before another one; both as seconds since 1970.
    ///
    /// - Complexity: O(days of the named months until then), at most those of forty years.
    func first(from seconds: Int64, yearMax: Int = yearMax) -> Int64? {
        var time = CivilTime(seconds: seconds)
        while time.year <= yearMax {
            guard let next = month.first(from: time.month), next <= 12 else {
                time = CivilTime(year: time.year + 1, month: 1, day: 1)
                continue
            }
            if next > time.month { time = CivilTime(year: time.year, month: next, day: 1) }
            let dayCount = CivilTime.dayCount(year: time.year, month: time.month)
            while time.day <= dayCount {
                if fits(year: time.year, month: time.month, day: time.day),
                    let found = firstOfDay(from: time)
                {
                    return found.seconds
                }
                time = CivilTime(year: time.year, month: time.month, day: time.day + 1)
            }
            time = CivilTime(
                year: time.month == 12 ? time.year + 1 : time.year,
                month: time.month == 12 ? 1 : time.month + 1, day: 1)
        }
        return nil
    }

    private func firstOfDay(from start: CivilTime) -> CivilTime? {
        var time = start
        var isLater = false
        guard let hour = hour.first(from: time.hour) else { return nil }
        if hour > time.hour { isLater = true }
        time.hour = hour
        if let minute = minute.first(from: isLater ? 0 : time.minute) {
            if minute > time.minute { isLater = true }
            time.minute = minute
            if let second = second.first(from: isLater ? 0 : time.second) {
                time.second = second
                return time
            }
            // No second is left in this minute.
            guard minute < 59 else { return firstOfHour(after: time) }
            time.minute = minute + 1
            time.second = 0
            return firstOfDay(from: time)
        }
        return firstOfHour(after: time)
    }

    private func firstOfHour(after time: CivilTime) -> CivilTime? {
        guard time.hour < 23 else { return nil }
        var next = time
        next.hour += 1
        next.minute = 0
        next.second = 0
        return firstOfDay(from: next)
    }
}
