// Times as people write and read them.

internal import Kernel

enum Durations {
    private static let units: [(name: String, milliseconds: Double)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    /// The daemon takes a hundred years at most.
    private static let longest = 100.0 * 365 * 86_400_000

    /// Reads `500` (milliseconds), `250ms`, `1.5s`, `5m`, `1h`, `2d`, `1h30m`.
    ///
    /// - Returns: milliseconds, rounded up; nil if it is anything else.
    static func milliseconds(_ text: String) -> Int? {
        var rest = text[...]
        var sum = 0.0
        repeat {
            let number = rest.prefix { ("0"..."9").contains($0) || $0 == "." }
            let unit = rest[number.endIndex...].prefix { $0.isLetter }
            guard number.first != ".", number.last != ".", let count = Double(number) else {
                return nil
            }
            // A number without a unit stands alone.
            let isBare = unit.isEmpty && number.count == text.count
            let factor = isBare ? 1 : units.first { $0.name == unit }?.milliseconds
            guard let factor else { return nil }
            sum += count * factor
            rest = rest[unit.endIndex...]
        } while !rest.isEmpty
        return sum <= longest ? Int(sum.rounded(.up)) : nil
    }

    /// A span for people: `850 ms`, `1.2 s`, `3 min 5 s`, `2 h 4 min`, `3 d 2 h`.
    static func span(_ milliseconds: Int64) -> String {
        let count = max(0, milliseconds)
        if count < 1_000 { return "\(count) ms" }
        if count < 60_000 { return "\(count / 1_000).\(count % 1_000 / 100) s" }
        let seconds = count / 1_000
        if seconds < 3_600 { return "\(seconds / 60) min \(seconds % 60) s" }
        if seconds < 86_400 { return "\(seconds / 3_600) h \(seconds % 3_600 / 60) min" }
        return "\(seconds / 86_400) d \(seconds % 86_400 / 3_600) h"
    }

    /// A time for people: when, and how long ago or ahead that is.
    static func time(_ unixMilliseconds: Int64) -> String {
        let difference = WallClock.unixMilliseconds() - unixMilliseconds
        let distance = difference < 0 ? "in \(span(-difference))" : "\(span(difference)) ago"
        return "\(WallClock.utc(unixMilliseconds)) (\(distance))"
    }
}
