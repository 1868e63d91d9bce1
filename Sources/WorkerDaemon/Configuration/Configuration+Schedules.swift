// The configured schedules: jobs that are made again and again.

package import Jobs
internal import Wording

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
        /// Nil for the one that goes with `missed`.
        package var overlap: OverlappingRuns?
        /// A name that at most one job has; empty for none.
        package var unique = ""
        /// Whether there is a new job if the one of its name has ended.
        package var uniqueAgain = false
        /// How long the name is in force; nil for the default.
        package var uniqueFor: Duration?
        package var thread = ""
        package var selector = ""
        package var payload = ""
        /// The payload in place of `payload`, as it was in a file when the configuration was read.
        package var payloadFile: [UInt8]?
        /// Whose order its jobs keep; empty for none.
        package var key = ""
        /// The label of its jobs; empty for none.
        package var label = ""
        /// The words of `ARGS` of its jobs.
        package var arguments: [String] = []
        /// The words of `ENV` of its jobs, by their names.
        package var environment: [String: String] = [:]
        package var priority = Priority.normal
        /// The time limit of one attempt; nil for that of the selector.
        package var timeout: Duration?
        /// The time after its acceptance at which a waiting job expires; nil for that of the
        /// selector.
        package var expire: Duration?
        /// The number of retries; nil for that of the selector.
        package var retries: Int?
        /// The rule for the jobs behind one that is tried again; nil for the selector's.
        package var retry: Configuration.Selector.RetryManner?
        /// Where `selector` is in the file.
        package private(set) var selectorPosition: JSON5Position?
        /// The names that `thread` may have; empty once that is checked.
        private var threadNames: Set<String>
        /// The names that `selector` may have; nil once that is checked, or if it is checked later.
        private var selectorNames: Set<String>?
        /// The configured selectors; empty once that is checked.
        private var programs: [Configuration.Selector]

        init(
            name: String, threadNames: Set<String> = [], selectorNames: Set<String>? = nil,
            programs: [Configuration.Selector] = []
        ) {
            self.name = name
            self.programs = programs
            self.threadNames = threadNames
            self.selectorNames = selectorNames
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
                    payload: payloadFile ?? Array(payload.utf8)))
            definition.missed = missed
            definition.overlap = overlap ?? .standard(with: missed)
            if !unique.isEmpty {
                definition.request.unique = UniqueName(
                    Array(unique.utf8), isAgain: uniqueAgain, milliseconds: uniqueFor?.milliseconds)
            }
            definition.request.priority = priority
            var options = JobOptions(
                timeoutMilliseconds: timeout?.milliseconds, retryCountMax: retries,
                retryBlocks: retry.map { $0 == .block },
                expireMilliseconds: expire?.milliseconds)
            if !key.isEmpty { options.key = Array(key.utf8) }
            if !label.isEmpty { options.label = Array(label.utf8) }
            options.arguments = JobOptions.bytes(ofWords: arguments)
            options.environment = JobOptions.bytes(ofWords: variables)
            definition.request.options = SharedJobOptions(options)
            return definition
        }
    }
}

extension Configuration.Schedule: ConfigurationSection {
    /// The longest payload, in bytes: a longer one belongs into a file.
    static let payloadByteCountMax = 64 << 10

    /// A schedule for one of these threads or their members, and for one of these selectors.
    static func make(
        _ name: String, at place: Place, threads: [Configuration.Thread],
        selectors: Set<String>?, programs: [Configuration.Selector]
    ) -> Configuration.Schedule? {
        guard Configuration.isName(name, at: place) else { return nil }
        var names = Set(threads.map(\.name))
        for thread in threads where thread.count > 1 {
            names.formUnion((1...thread.count).map { "\(thread.name)/\($0)" })
        }
        return Configuration.Schedule(
            name: name, threadNames: names, selectorNames: selectors, programs: programs)
    }

    mutating func read(from section: inout SectionReader) {
        section.read("cron", into: &cron, .cron)
        section.read("every", into: &every, .duration(Self.shortest...Self.longest))
        section.read("zone", into: &zone, .zone)
        section.read("missed", into: &missed, .choice)
        section.read("overlap", into: &overlap, .choice)
        section.read("unique", into: &unique, .text(such: "refresh", byteCountMax: 256))
        section.read("uniqueAgain", into: &uniqueAgain, .boolean)
        section.read(
            "uniqueFor", into: &uniqueFor,
            .duration(.milliseconds(1) ... .milliseconds(UniqueName.millisecondsMax)))
        section.require(
            "thread", into: &thread, .text(such: "ledger", byteCountMax: 80),
            example: "thread: \"ledger\"")
        section.require(
            "selector", into: &selector, .text(such: "gzip", byteCountMax: 64),
            example: "selector: \"gzip\"")
        section.read(
            "payload", into: &payload,
            .text(such: "hello", byteCountMax: Self.payloadByteCountMax))
        section.read("payloadFile", into: &payloadFile, .payloadFile)
        section.read("key", into: &key, .text(such: "alice", byteCountMax: 256))
        section.read("label", into: &label, .text(such: "nightly run", byteCountMax: 256))
        section.read("arguments", into: &arguments, .words)
        section.values(
            "environment", into: &environment,
            .text(such: "40", byteCountMax: JobOptionReader.wordsByteCountMax),
            isName: Configuration.Selector.isEnvironmentName)
        section.read("priority", into: &priority, .priority)
        section.read(
            "timeout", into: &timeout, .duration(.milliseconds(1) ... .seconds(24 * 3600)))
        section.read("expire", into: &expire, Configuration.expiry)
        section.read(
            "retries", into: &retries, .whole(0...Configuration.Selector.retryCountLimit))
        section.read("retry", into: &retry, .choice)
        check(section)
    }

    private mutating func check(_ section: SectionReader) {
        if section.has("payload"), section.has("payloadFile") {
            section.report("payloadFile", "give either payload or payloadFile")
        }
        if section.has("cron") == section.has("every") {
            section.report(
                "cron", "give either cron, such as \"30 3 * * *\", or every, such as \"10s\"")
        }
        if section.has("zone"), !section.has("cron") {
            section.report("zone", "is of no use without cron: add cron or remove it")
        }
        if let overlap {
            do throws(ScheduleFault) {
                try overlap.check(with: missed)
            } catch {
                section.report("overlap", "must be \"queue\" with missed: \(error)")
            }
        }
        for key in ["uniqueAgain", "uniqueFor"] where section.has(key) && unique.isEmpty {
            section.report(key, "is of no use without unique: add unique or remove it")
        }
        if !thread.isEmpty, !threadNames.contains(thread) {
            section.report("thread", "there is no thread \(thread.quoted) under threads")
        }
        if !selector.isEmpty, let selectorNames, !selectorNames.contains(selector) {
            section.report("selector", unknownSelector(among: selectorNames))
        }
        checkWords(section)
        selectorPosition = section.position(of: "selector")
        programs = []
        threadNames = []
        selectorNames = nil
    }

    /// The variables as words of `ENV`.
    private var variables: [String] {
        environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }

    private func checkWords(_ section: SectionReader) {
        let max = JobOptionReader.wordsByteCountMax
        for (key, words) in [("arguments", arguments), ("environment", variables)] {
            guard !words.isEmpty else { continue }
            guard words.count <= JobOptionReader.wordCountMax,
                words.reduce(words.count - 1, { $0 + $1.utf8.count }) <= max
            else {
                let countMax = JobOptionReader.wordCountMax
                section.report(key, "has at most \(countMax) words of \(max) bytes together")
                continue
            }
            guard let program = programs.first(where: { $0.name == selector }) else {
                if selectorNames?.contains(selector) == true {
                    section.report(key, "is for programs, and \(selector.quoted) is none")
                }
                continue
            }
            var options = JobOptions()
            if key == "arguments" {
                options.arguments = JobOptions.bytes(ofWords: words)
            } else {
                options.environment = JobOptions.bytes(ofWords: words)
            }
            if let fault = program.faultInWords(of: SharedJobOptions(options)) {
                section.report(key, fault)
            }
        }
    }

    /// The sentence about a selector that is none of these.
    func unknownSelector(among known: some Sequence<String>) -> String {
        let near = Spelling.nearest(to: selector, among: known.sorted())
        let advice = near.map { ", did you mean \($0.quoted)?" } ?? ""
        return "there is no selector \(selector.quoted)\(advice)"
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

extension ValueRule<[String]> {
    /// Arguments of a program.
    fileprivate static var words: ValueRule {
        ValueRule { value, place in
            guard case .array(let elements, _) = value else {
                place.wrongType(value, expected: "a list such as [\"--size=40\"]")
                return nil
            }
            let rule = ValueRule<String>.text(
                such: "--size=40", byteCountMax: JobOptionReader.wordsByteCountMax)
            let words = elements.enumerated().compactMap { index, element in
                rule.read(element, place.element(index, at: element.position))
            }
            return words.count == elements.count ? words : nil
        }
    }
}

extension ValueRule<[UInt8]> {
    /// The absolute path of a file that contains a payload; the value is its bytes.
    fileprivate static var payloadFile: ValueRule {
        ValueRule { value, place in
            let rule = ValueRule<String>.absolutePath(such: "/etc/workerd/nightly.json")
            guard let path = rule.read(value, place) else { return nil }
            let max = Configuration.Schedule.payloadByteCountMax
            do throws(FileChecks.Unreadable) {
                let bytes = try place.files.contents(path, max + 1)
                if bytes.count <= max { return bytes }
                place.report("\(path.quoted) has more than \(max) bytes")
            } catch {
                place.report("\(path.quoted) cannot be read: \(error.reason)")
            }
            return nil
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
