// Expressions of cron, and files of time zones.

internal import Jobs

enum ScheduleBytes {
    /// Moments around which a schedule is asked, in Unix seconds: 1901, 1970, 2026 and 2100.
    private static let moments: [Int64] = [-2_177_452_800, 0, 1_790_000_000, 4_102_444_800]

    /// The next moment is later, and the one before that has the same next.
    static func readExpression(_ bytes: [UInt8]) {
        guard let cron = try? CronExpression(String(decoding: bytes, as: UTF8.self)) else { return }
        check(cron, in: .utc)
    }

    /// The spans of a zone follow each other, and schedules go on in it.
    static func readZone(_ bytes: [UInt8]) {
        guard let zone = try? TimeZoneRules(file: bytes) else { return }
        for moment in moments {
            let span = zone.span(at: moment)
            precondition(span.start <= moment && moment < span.end, "\(span) without \(moment)")
        }
        for text in ["30 2 * * *", "*/20 * * * *"] {
            guard let cron = try? CronExpression(text) else { continue }
            check(cron, in: zone)
        }
    }

    private static func check(_ cron: CronExpression, in zone: TimeZoneRules) {
        for moment in moments {
            guard let next = cron.next(after: moment, in: zone) else { continue }
            precondition(next > moment, "\(next) is not later than \(moment)")
            precondition(
                cron.next(after: next - 1, in: zone) == next, "\(next) is left out before itself")
        }
    }
}
