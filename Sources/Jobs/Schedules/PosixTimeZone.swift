// The rule at the end of a zone's file: which applies after its last change, such as
// "CET-1CEST,M3.5.0,M10.5.0/3".

/// A zone in the notation of POSIX, with what RFC 9636 adds to it.
///
/// - Source: tzset(3); RFC 9636, 3.3.1.
struct PosixTimeZone: Hashable, Sendable {
    /// A day of each year and a time on it, which may be days away.
    struct YearlyChange: Hashable, Sendable {
        enum Day: Hashable, Sendable {
            /// 1 to 365; 29 February is never counted.
            case withoutLeapDay(Int)
            /// 0 to 365.
            case fromZero(Int)
            /// Week 5 is the last.
            case weekday(month: Int, week: Int, weekday: Int)
        }

        let day: Day
        let secondOfDay: Int64

        /// Seconds since 1970 as the clock shows them before the change.
        func reading(in year: Int) -> Int64 {
            dayNumber(in: year) * CivilTime.secondsOfDay + secondOfDay
        }

        private func dayNumber(in year: Int) -> Int64 {
            let newYear = CivilTime.days(year: year, month: 1, day: 1)
            switch day {
            case .withoutLeapDay(let number):
                let isBehindLeapDay = number >= 60 && CivilTime.isLeap(year)
                return newYear + Int64(number - 1 + (isBehindLeapDay ? 1 : 0))
            case .fromZero(let number):
                return newYear + Int64(number)
            case .weekday(let month, let week, let weekday):
                let first = CivilTime.days(year: year, month: month, day: 1)
                let ahead = (weekday - CivilTime.weekday(ofDay: first) + 7) % 7
                var day = 1 + ahead + (week - 1) * 7
                if day > CivilTime.dayCount(year: year, month: month) { day -= 7 }
                return first + Int64(day - 1)
            }
        }
    }

    struct DaylightSaving: Hashable, Sendable {
        let offset: Int64
        let start: YearlyChange
        let end: YearlyChange
    }

    /// Seconds that the clock is ahead of UTC.
    let offset: Int64
    let daylightSaving: DaylightSaving?

    /// Reads the notation.
    init(_ text: [UInt8]) throws(ScheduleFault) {
        var scanner = Scanner(text)
        try scanner.name()
        offset = -(try scanner.time(hoursMax: 25))
        guard !scanner.isAtEnd else {
            daylightSaving = nil
            return
        }
        try scanner.name()
        let isOneHour = scanner.next == UInt8(ascii: ",")
        let saved = isOneHour ? offset + 3_600 : -(try scanner.time(hoursMax: 25))
        try scanner.take(",")
        let start = try scanner.yearlyChange()
        try scanner.take(",")
        let end = try scanner.yearlyChange()
        guard scanner.isAtEnd else { throw Scanner.fault }
        daylightSaving = DaylightSaving(offset: saved, start: start, end: end)
    }

    /// The time without a change that a moment lies in.
    func span(at moment: Int64) -> TimeZoneRules.Span {
        guard let daylightSaving else {
            return TimeZoneRules.Span(start: .min, end: .max, offset: offset)
        }
        // Dates beyond the calendar's use have the winter's time.
        guard abs(moment) < 1 << 40 else {
            return TimeZoneRules.Span(start: moment, end: moment + 1, offset: offset)
        }
        let year = CivilTime(seconds: moment).year
        var changes: [(moment: Int64, offset: Int64, isStart: Bool)] = []
        for year in year - 2...year + 1 {
            let start = daylightSaving.start.reading(in: year) - offset
            let end = daylightSaving.end.reading(in: year) - daylightSaving.offset
            changes.append((start, daylightSaving.offset, true))
            changes.append((end, offset, false))
        }
        // Where one year's end is the next one's start, it is always summer.
        changes.sort { ($0.moment, $0.isStart ? 1 : 0) < ($1.moment, $1.isStart ? 1 : 0) }
        var latest = changes[0]
        for change in changes.dropFirst() {
            if change.moment > moment {
                return TimeZoneRules.Span(
                    start: latest.moment, end: change.moment, offset: latest.offset)
            }
            latest = change
        }
        return TimeZoneRules.Span(start: latest.moment, end: moment + 1, offset: latest.offset)
    }
}

/// Reads the parts of the notation.
private struct Scanner {
    static let fault = ScheduleFault("has a last line that is no rule of POSIX")

    private let text: [UInt8]
    private var place = 0

    init(_ text: [UInt8]) { self.text = text }

    var isAtEnd: Bool { place == text.count }
    var next: UInt8? { isAtEnd ? nil : text[place] }

    mutating func take(_ character: Unicode.Scalar) throws(ScheduleFault) {
        guard next == UInt8(ascii: character) else { throw Self.fault }
        place += 1
    }

    private mutating func takes(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }

    /// Three letters or more, or anything in angle brackets.
    mutating func name() throws(ScheduleFault) {
        let start = place
        if takes("<") {
            while let byte = next, byte != UInt8(ascii: ">") { place += 1 }
            return try take(">")
        }
        while let byte = next, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) {
            place += 1
        }
        guard place - start >= 3 else { throw Self.fault }
    }

    mutating func number(_ allowed: ClosedRange<Int>) throws(ScheduleFault) -> Int {
        var number: Int?
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
            number = (number ?? 0) * 10 + Int(byte - UInt8(ascii: "0"))
            guard let number, number <= allowed.upperBound else { throw Self.fault }
            place += 1
        }
        guard let number, allowed.contains(number) else { throw Self.fault }
        return number
    }

    /// `[+-]hh[:mm[:ss]]`, in seconds.
    mutating func time(hoursMax: Int) throws(ScheduleFault) -> Int64 {
        let isNegative = takes("-")
        if !isNegative { _ = takes("+") }
        var seconds = try number(0...hoursMax) * 3_600
        if takes(":") {
            seconds += try number(0...59) * 60
            if takes(":") { seconds += try number(0...59) }
        }
        return Int64(isNegative ? -seconds : seconds)
    }

    mutating func yearlyChange() throws(ScheduleFault) -> PosixTimeZone.YearlyChange {
        let day: PosixTimeZone.YearlyChange.Day
        if takes("J") {
            day = .withoutLeapDay(try number(1...365))
        } else if takes("M") {
            let month = try number(1...12)
            try take(".")
            let week = try number(1...5)
            try take(".")
            day = .weekday(month: month, week: week, weekday: try number(0...6))
        } else {
            day = .fromZero(try number(0...365))
        }
        let second = takes("/") ? try time(hoursMax: 167) : 2 * 3_600
        return PosixTimeZone.YearlyChange(day: day, secondOfDay: second)
    }
}
