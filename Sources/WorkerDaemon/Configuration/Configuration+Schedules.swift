// The configured schedules: jobs that are made again and again.

package import Jobs

extension Configuration {
    /// A job that is made in a rhythm.
    package struct Schedule: Sendable, Equatable {
        /// A time zone by its name, with its rules.
        package struct Zone: Sendable, Equatable {
            package let name: String
            package let rules: TimeZoneRules
        }

        package let name: String
        /// Exactly one of `cron` and `every`.
        package var cron: CronExpression?
        package var every: Duration?
        package var zone = Zone(name: ZoneFiles.defaultName, rules: .utc)
        package var missed = MissedRuns.once
        package var thread = ""
        package var selector = ""
        package var payload = ""
        package var priority = Priority.normal
        /// The time limit of one attempt; nil for that of the selector.
        package var timeout: Duration?
        /// The time after its acceptance at which a waiting job expires; nil for that of the
        /// selector.
        package var expire: Duration?
        /// The number of retries; nil for that of the selector.
        package var retries: Int?
        /// The names that `thread` may have; empty once that is checked.
        private var threadNames: Set<String>

        init(name: String, threadNames: Set<String> = []) {
            self.name = name
            self.threadNames = threadNames
        }

        /// The schedule as a command would define it.
        var definition: ScheduleDefinition {
            let rhythm: ScheduleDefinition.Rhythm =
                if let cron {
                    .cron(cron.text, zone: zone.name)
                } else {
                    .every(milliseconds: every?.milliseconds ?? 0)
                }
            var definition = ScheduleDefinition(
                name: name, rhythm: rhythm,
                request: JobRequest(
                    thread: thread, selector: selector,
                    payload: Array(payload.utf8)))
            definition.missed = missed
            definition.request.priority = priority
            definition.request.options = SharedJobOptions(
                JobOptions(
                    timeoutMilliseconds: timeout?.milliseconds, retryCountMax: retries,
                    expireMilliseconds: expire?.milliseconds))
            return definition
        }
    }
}

extension Configuration.Schedule: ConfigurationSection {
    /// The longest payload, in bytes: a longer one belongs into a file.
    static let payloadByteCountMax = 64 << 10

    /// A schedule for one of these threads or their members.
    static func make(
        _ name: String, at place: Place, threads: [Configuration.Thread]
    ) -> Configuration.Schedule? {
        guard Configuration.isName(name, at: place) else { return nil }
        var names = Set(threads.map(\.name))
        for thread in threads where thread.count > 1 {
            names.formUnion((1...thread.count).map { "\(thread.name)/\($0)" })
        }
        return Configuration.Schedule(name: name, threadNames: names)
    }

    mutating func read(from section: inout SectionReader) {
        section.read("cron", into: &cron, .cron)
        section.read("every", into: &every, .duration(Self.shortest...Self.longest))
        section.read("zone", into: &zone, .zone)
        section.read("missed", into: &missed, .choice)
        section.require(
            "thread", into: &thread, .text(such: "ledger", byteCountMax: 80),
            example: "thread: \"ledger\"")
        section.require(
            "selector", into: &selector, .text(such: "gzip", byteCountMax: 64),
            example: "selector: \"gzip\"")
        section.read(
            "payload", into: &payload,
            .text(such: "hello", byteCountMax: Self.payloadByteCountMax))
        section.read("priority", into: &priority, .priority)
        section.read(
            "timeout", into: &timeout, .duration(.milliseconds(1) ... .seconds(24 * 3600)))
        section.read("expire", into: &expire, Configuration.expiry)
        section.read(
            "retries", into: &retries, .whole(0...Configuration.Selector.retryCountLimit))
        if section.has("cron") == section.has("every") {
            section.report(
                "cron", "give either cron, such as \"30 3 * * *\", or every, such as \"10s\"")
        }
        if section.has("zone"), !section.has("cron") {
            section.report("zone", "is of no use without cron: add cron or remove it")
        }
        if !thread.isEmpty, !threadNames.contains(thread) {
            section.report("thread", "there is no thread \(thread.quoted) under threads")
        }
        threadNames = []
    }

    private static let shortest = Duration.milliseconds(Jobs.Schedule.periodMillisecondsMin)
    private static let longest = Duration.milliseconds(Jobs.Schedule.periodMillisecondsMax)
}

extension ValueRule<CronExpression> {
    fileprivate static var cron: ValueRule {
        .string(such: "30 3 * * *") { text, place in
            do throws(ScheduleFault) {
                return try CronExpression(text)
            } catch {
                place.report("\(text.quoted): \(error)")
                return nil
            }
        }
    }
}

extension ValueRule<Configuration.Schedule.Zone> {
    fileprivate static var zone: ValueRule {
        .string(such: "Europe/Berlin") { text, place in
            do throws(ScheduleFault) {
                return Configuration.Schedule.Zone(
                    name: text, rules: try ZoneFiles.rules(text, place.files))
            } catch {
                place.report("\(error)")
                return nil
            }
        }
    }
}

extension ValueRule<Priority> {
    fileprivate static var priority: ValueRule {
        .string(such: "high") { text, place in
            if let priority = Priority(name: text.utf8) { return priority }
            place.report("must be \"high\", \"normal\" or \"low\", is \(text.quoted)")
            return nil
        }
    }
}
