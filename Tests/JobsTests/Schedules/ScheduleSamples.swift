// Helpers of the tests of schedules: zones, moments that people can read, and fixtures.

import Jobs
import Support
import Testing

/// The rules of a zone, from the copies in `Tests/Fixtures/zoneinfo`.
func zone(_ name: String) throws -> TimeZoneRules {
    let file = String(name.map { $0 == "/" ? "-" : $0 })
    return try TimeZoneRules(file: repositoryFile("Tests/Fixtures/zoneinfo/\(file)"))
}

/// The lines of a file of fixtures.
func fixtureLines(_ name: String) throws -> [Substring] {
    String(decoding: try repositoryFile("Tests/Fixtures/\(name)"), as: UTF8.self)
        .split(separator: "\n")
}

/// Unix seconds of "2026-03-29 01:00:00", which is in UTC; seconds may be left out.
func utc(_ text: String) throws -> Int64 {
    let numbers = text.split { "- :".contains($0) }.compactMap { Int($0) }
    try #require(numbers.count >= 5)
    return CivilTime(
        year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3],
        minute: numbers[4], second: numbers.count > 5 ? numbers[5] : 0
    ).seconds
}

/// The first moments after another one at which an expression is due.
func due(
    _ expression: String, _ zone: TimeZoneRules, after moment: Int64, count: Int
) throws -> [Int64] {
    let cron = try CronExpression(expression)
    var moments: [Int64] = []
    var last = moment
    while moments.count < count, let next = cron.next(after: last, in: zone) {
        moments.append(next)
        last = next
    }
    return moments
}
