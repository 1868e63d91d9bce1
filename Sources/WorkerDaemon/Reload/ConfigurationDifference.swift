// The changes of a reload: the difference between the configuration in force and another one.
// Pure: it knows neither the daemon's parts nor files.

/// A named section that is in one of two configurations, or in both with other values.
package enum SectionChange<Section: Sendable>: Sendable {
    case added(Section)
    case removed(Section)
    case changed(from: Section, to: Section)
}

/// The difference between the configuration in force and another one.
package struct ConfigurationDifference: Sendable {
    package let before: Configuration
    package let after: Configuration
    /// Each change in words, in the order of the file: `thread mail: count 2 → 4`.
    package private(set) var lines: [String] = []
    /// The changes that need a restart, each with that advice.
    package private(set) var refusals: [String] = []
    package private(set) var threads: [SectionChange<Configuration.Thread>] = []
    package private(set) var selectors: [SectionChange<Configuration.Selector>] = []
    package private(set) var schedules: [SectionChange<Configuration.Schedule>] = []

    package init(from before: Configuration, to after: Configuration) {
        self.before = before
        self.after = after
        if before.store != after.store { refuse("store") }
        if before.stateDirectory != after.stateDirectory { refuse("stateDirectory") }
        if before.node != after.node { refuse("node") }
        if before.controlGroups != after.controlGroups { refuse("cgroup") }
        addListen(before.listen, after.listen)
        addThreads()
        addSelectors()
        addSchedules()
        var settings = ValueComparison()
        settings.compare("users", before.users, after.users) { $0 ?? "none" }
        settings.compare("backups", before.backups, after.backups) { $0 ?? "beside the store" }
        settings.compareLimits(before.limits, after.limits)
        settings.compare("shutdown.grace", before.shutdown.grace, after.shutdown.grace)
        settings.compare("log.level", before.log.level, after.log.level)
        lines += settings.changes.map { "\($0.key): \($0.before) → \($0.after)" }
        if lines.isEmpty, refusals.isEmpty, !isSame { lines.append("other settings: changed") }
    }

    /// Whether both say the same, wherever in the file: a key that no line names counts too.
    private var isSame: Bool {
        var (before, after) = (before, after)
        (before.schedules, after.schedules) = ([], [])
        (before.threads, after.threads) = ([], [])
        (before.selectors, after.selectors) = ([], [])
        return before == after
    }

    private mutating func refuse(_ setting: String) {
        refusals.append("\(setting) can't change at a reload: restart workerd")
    }

    private mutating func addListen(
        _ before: Configuration.Listen, _ after: Configuration.Listen
    ) {
        var listen = ValueComparison()
        listen.compareListen(before, after)
        for change in listen.changes {
            lines.append(
                change.after.isEmpty
                    ? "listen.\(change.key): changed"
                    : "listen.\(change.key): \(change.before) → \(change.after)")
        }
    }

    // MARK: - Sections with names

    private static func changes<Section: Sendable>(
        _ before: [Section], _ after: [Section], name: (Section) -> String,
        areEqual: (Section, Section) -> Bool
    ) -> [SectionChange<Section>] {
        let earlier = Dictionary(uniqueKeysWithValues: before.map { (name($0), $0) })
        let names = Set(after.map(name))
        let removed = before.filter { !names.contains(name($0)) }
        return removed.map { .removed($0) }
            + after.compactMap { section in
                guard let other = earlier[name(section)] else { return .added(section) }
                return areEqual(other, section) ? nil : .changed(from: other, to: section)
            }
    }

    private mutating func addThreads() {
        threads = Self.changes(before.threads, after.threads, name: \.name, areEqual: ==)
        func shared(_ threads: [Configuration.Thread]) -> [String: [Int]] {
            Dictionary(uniqueKeysWithValues: threads.map { ($0.name, [$0.count, $0.slots]) })
        }
        if before.node.sharesThreads, shared(before.threads) != shared(after.threads) {
            refuse("which threads are shared with other nodes")
        }
        for change in threads {
            switch change {
            case .added(let thread):
                lines.append("thread \(thread.name): added, count \(thread.count)")
            case .removed(let thread): lines.append("thread \(thread.name): removed")
            case .changed(let before, let after):
                var values = ValueComparison()
                values.compareThread(before, after)
                add(values, of: "thread \(after.name)")
            }
        }
    }

    private mutating func addSelectors() {
        selectors = Self.changes(before.selectors, after.selectors, name: \.name, areEqual: ==)
        for change in selectors {
            switch change {
            case .added(let selector): lines.append("selector \(selector.name): added")
            case .removed(let selector): lines.append("selector \(selector.name): removed")
            case .changed(let before, let after):
                var values = ValueComparison()
                values.compareSelector(before, after)
                add(values, of: "selector \(after.name)")
            }
        }
    }

    private mutating func addSchedules() {
        schedules = Self.changes(before.schedules, after.schedules, name: \.name) {
            // Where they are in the file does not matter.
            $0.definition == $1.definition && $0.zone == $1.zone
        }
        for change in schedules {
            switch change {
            case .added(let schedule): lines.append("schedule \(schedule.name): added")
            case .removed(let schedule): lines.append("schedule \(schedule.name): removed")
            case .changed(let before, let after):
                var values = ValueComparison()
                values.compareSchedule(before, after)
                add(values, of: "schedule \(after.name)")
            }
        }
    }

    private mutating func add(_ values: ValueComparison, of subject: String) {
        // A key that the comparison does not name still counts.
        if values.changes.isEmpty { lines.append("\(subject): changed") }
        for change in values.changes {
            lines.append(
                change.after.isEmpty
                    ? "\(subject): \(change.key) changed"
                    : "\(subject): \(change.key) \(change.before) → \(change.after)")
        }
    }
}
