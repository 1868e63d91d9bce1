// One field of a cron expression: the numbers that it may contain, how they are written, and the
// numbers that were read.

/// The kinds of fields, in the order in which they are written.
enum CronFieldKind: Int, CaseIterable {
    case second, minute, hour, dayOfMonth, month, dayOfWeek

    var name: String {
        switch self {
        case .second: "second"
        case .minute: "minute"
        case .hour: "hour"
        case .dayOfMonth: "day of month"
        case .month: "month"
        case .dayOfWeek: "day of week"
        }
    }

    var allowed: ClosedRange<Int> {
        switch self {
        case .second, .minute: 0...59
        case .hour: 0...23
        case .dayOfMonth: 1...31
        case .month: 1...12
        case .dayOfWeek: 0...7
        }
    }

    /// The names that may stand for numbers, the first for the lowest.
    var names: [String] {
        switch self {
        case .second, .minute, .hour, .dayOfMonth: []
        case .month:
            ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
        case .dayOfWeek: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
        }
    }

    /// The allowed values, for people.
    var allowedText: String {
        let numbers = "\(allowed.lowerBound) to \(allowed.upperBound)"
        guard let first = names.first, let last = names.last else {
            return self == .dayOfMonth ? "\(numbers), or L for the last" : numbers
        }
        return "\(numbers), or \(first) to \(last)"
    }
}

/// A set of numbers below 64.
struct CronField: Hashable, Sendable {
    /// The bit of a day of month that stands for the last one.
    static let lastDay = 0

    /// Bit `n` is set if the number is in it.
    private(set) var bits: UInt64 = 0
    /// Whether it was written with an asterisk first: it restricts nothing, or only by steps.
    private(set) var hasStar = false

    /// The set of one number.
    init(only number: Int) { bits = 1 << UInt64(number) }

    /// Reads a field.
    ///
    /// - Parameters:
    ///   - text: without blanks.
    ///   - place: the number of its first character in the whole expression, from 1 on.
    init(_ text: Substring, _ kind: CronFieldKind, place: Int) throws(ScheduleFault) {
        hasStar = text.utf8.first == UInt8(ascii: "*")
        var partPlace = place
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            try add(CronPart(text: part, kind: kind, place: partPlace))
            partPlace += part.count + 1
        }
        if kind == .dayOfWeek, contains(7) { bits = bits & ~(1 << 7) | 1 }
    }

    func contains(_ number: Int) -> Bool { bits >> UInt64(number) & 1 == 1 }

    /// The lowest number that is in it and not lower than `number`.
    func first(from number: Int) -> Int? {
        guard number < 64 else { return nil }
        let rest = bits >> UInt64(number)
        return rest == 0 ? nil : number + rest.trailingZeroBitCount
    }

    private mutating func add(_ part: CronPart) throws(ScheduleFault) {
        if part.kind == .dayOfMonth, part.text.uppercased() == "L" {
            bits |= 1 << UInt64(Self.lastDay)
            return
        }
        let (range, step) = try part.rangeAndStep()
        for number in stride(from: range.lowerBound, through: range.upperBound, by: step) {
            bits |= 1 << UInt64(number)
        }
    }
}

/// One entry of a field's list, between two commas.
private struct CronPart {
    let text: Substring
    let kind: CronFieldKind
    let place: Int

    /// Reads `*`, `a`, `a-b`, and each of them with `/step` behind it.
    func rangeAndStep() throws(ScheduleFault) -> (ClosedRange<Int>, Int) {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let numbers = halves.first, halves.count <= 2 else { throw fault("is not a range") }
        let step = halves.count == 2 ? try self.step(halves[1]) : nil
        if numbers == "*" {
            // 7 is Sunday once more, which is there already.
            let last = kind == .dayOfWeek ? 6 : kind.allowed.upperBound
            return (kind.allowed.lowerBound...last, step ?? 1)
        }
        let ends = numbers.split(separator: "-", omittingEmptySubsequences: false)
        guard let lower = ends.first, let upper = ends.last, ends.count <= 2 else {
            throw fault("is not a range")
        }
        let low = try number(lower)
        guard ends.count == 2 else {
            guard let step else { return (low...low, 1) }
            let last = kind == .dayOfWeek ? 6 : kind.allowed.upperBound
            return (low...max(low, last), step)
        }
        var high = try number(upper)
        // The week of FRI-SUN ends with Sunday.
        if kind == .dayOfWeek, high == 0, low > 0 { high = 7 }
        guard low <= high else { throw fault("is a range that ends before it begins") }
        return (low...high, step ?? 1)
    }

    private func step(_ text: Substring) throws(ScheduleFault) -> Int {
        guard let step = decimal(text), (1...kind.allowed.upperBound).contains(step) else {
            throw fault("has a step that is not from 1 to \(kind.allowed.upperBound)")
        }
        return step
    }

    private func number(_ text: Substring) throws(ScheduleFault) -> Int {
        let upper = text.uppercased()
        if let index = kind.names.firstIndex(of: upper) {
            return index + kind.allowed.lowerBound
        }
        guard let number = decimal(text), kind.allowed.contains(number) else {
            throw fault("is not allowed")
        }
        return number
    }

    private func decimal(_ text: Substring) -> Int? {
        guard (1...2).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int(text)
    }

    private func fault(_ what: String) -> ScheduleFault {
        ScheduleFault(
            "\(kind.name) field: '\(text)' at character \(place) \(what); "
                + "allowed are \(kind.allowedText), with , - * and /")
    }
}
