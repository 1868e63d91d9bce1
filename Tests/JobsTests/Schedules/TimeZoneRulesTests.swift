// Proves that zones are read as Python's zoneinfo reads them, and that no file crashes the reader.

import Jobs
import Support
import Testing

@Suite struct `A time zone` {
    @Test func `has the offsets that zoneinfo has`() throws {
        var zones: [Substring: TimeZoneRules] = [:]
        var count = 0
        for line in try fixtureLines("offsets.txt") {
            let parts = line.split(separator: " ")
            let rules = try zones[parts[0]] ?? zone(String(parts[0]))
            zones[parts[0]] = rules
            let moment = try #require(Int64(parts[1]))
            #expect(rules.span(at: moment).offset == Int64(parts[2]), "\(line)")
            count += 1
        }
        #expect(zones.count == 14 && count > 1_600)
    }

    @Test func `has spans that follow each other without a gap`() throws {
        for name in ["Europe/Berlin", "Africa/Casablanca", "Pacific/Apia", "Asia/Kathmandu"] {
            let rules = try zone(name)
            var span = rules.span(at: .min)
            var count = 0
            while span.end < 6_000_000_000 {
                #expect(rules.span(at: span.end - 1) == span)
                let next = rules.span(at: span.end)
                #expect(next.start == span.end && next.end > next.start)
                span = next
                count += 1
            }
            #expect(count > 1)
        }
        #expect(TimeZoneRules.utc.span(at: 0).offset == 0)
    }

    @Test func `knows the far future by its last line`() throws {
        let berlin = try zone("Europe/Berlin")
        #expect(berlin.span(at: try utc("9990-07-01 12:00")).offset == 7_200)
        #expect(berlin.span(at: try utc("9990-12-01 12:00")).offset == 3_600)
    }

    @Test func `is refused if its file is none, cut short or changed`() throws {
        let bytes = try repositoryFile("Tests/Fixtures/zoneinfo/Europe-Berlin")
        for count in 0..<bytes.count - 1 {
            #expect(throws: ScheduleFault.self) {
                try TimeZoneRules(file: Array(bytes[..<count]))
            }
        }
        var dice = SeededRandom(seed: 20_261_121)
        for _ in 0..<3_000 {
            var changed = bytes
            for _ in 0...dice.below(3) {
                changed[dice.below(2) == 0 ? dice.below(100) : dice.below(bytes.count)] =
                    UInt8(dice.below(256))
            }
            // Whatever it is taken for, it answers.
            guard let rules = try? TimeZoneRules(file: changed) else { continue }
            let cron = try CronExpression("30 2 * * *")
            if let next = cron.next(after: 1_790_000_000, in: rules) {
                #expect(next > 1_790_000_000)
            }
        }
    }
}
