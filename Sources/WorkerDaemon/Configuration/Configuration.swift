// The configuration of the daemon: plain values with their defaults. Each section is in a file of
// its own, beside the rules by which it is read. Nothing here knows files, JSON5 or the daemon's
// parts.

internal import Jobs

/// The whole configuration of a daemon.
///
/// A configuration from `ConfigurationReader` has been checked; the memberwise initialisers are for
/// tests and for programs that embed the daemon.
package struct Configuration: Sendable, Equatable {
    /// The users file: its absolute path, or `$CREDENTIALS_DIRECTORY/NAME`.
    package var users: String?
    package var listen = Listen()
    package var store = Store.automatic
    /// The directory of what a daemon with a database keeps on its own machine; nil for the service
    /// manager's.
    package var stateDirectory: String?
    /// The words about this daemon for others with the same database.
    package var node = Node()
    /// The directory of backups; nil for one beside the store.
    package var backups: String?
    /// At least one, in the order of the file.
    package var threads: [Thread] = []
    /// In the order of the file.
    package var selectors: [Selector] = []
    /// In the order of the file.
    package var schedules: [Schedule] = []
    package var controlGroups = ControlGroups.automatic
    package var limits = Limits()
    package var shutdown = Shutdown()
    package var log = Log()

    package init() {}
}

extension Configuration {
    /// Where each program gets a control group of its own.
    package enum ControlGroups: Sendable, Equatable {
        /// In the group that systemd has left to the daemon, if it has.
        case automatic
        /// Nowhere.
        case none
        /// In the group of this directory.
        case at(String)
    }

    /// How the daemon shuts down.
    package struct Shutdown: Sendable, Equatable {
        /// The time that running jobs have after the first signal to end.
        package var grace = Duration.seconds(25)

        package init() {}
    }

    /// The level of the log.
    package struct Log: Sendable, Equatable {
        /// The lowest level that is written.
        package enum Level: String, Sendable, Equatable, CaseIterable {
            case debug, info, notice, warning, error
        }

        package var level = Level.info

        package init() {}
    }

    /// A valid name of a thread or a selector: 1…64 letters, digits, `_`, `.` or `-`.
    ///
    /// No slash: `mail/1` is the first member of the pool `mail`.
    static func isName(_ name: String, at place: Place) -> Bool {
        if NameRule.accepts(name) { return true }
        place.report(NameRule.text)
        return false
    }
}

extension Configuration: ConfigurationSection {
    mutating func read(from section: inout SectionReader) {
        section.read("users", into: &users, .fileOrCredential(such: "/etc/workerd/users"))
        section.hasUsers = section.has("users")
        section.section("listen", into: &listen)
        section.read("store", into: &store, .store)
        section.read("stateDirectory", into: &stateDirectory, .directory)
        section.section("node", into: &node)
        section.read("backups", into: &backups, .directory)
        section.sections("threads", into: &threads, make: Thread.make)
        section.sections("selectors", into: &selectors, make: Selector.make)
        let served = section.builtInSelectors?.union(selectors.map(\.name))
        section.sections("schedules", into: &schedules) { [threads, selectors] name, place in
            Schedule.make(
                name, at: place, threads: threads, selectors: served, programs: selectors)
        }
        section.read("cgroup", into: &controlGroups, .controlGroups)
        section.section("limits", into: &limits)
        section.section("shutdown", into: &shutdown)
        section.section("log", into: &log)
        for (path, key) in [(listen.unix, "listen.unix"), (listen.http.unix, "listen.http.unix")] {
            if case .file(let store) = store, store == path {
                section.report("store", "is the path of \(key) too: give each its own")
            }
        }
        checkNode(in: section)
        if !section.has("listen") { section.report("listen", "is missing: \(Listen.doorNeeded)") }
        Thread.checkAll(threads, areShared: node.sharesThreads, in: section)
    }
}

extension ValueRule<Configuration.ControlGroups> {
    /// "auto", "none", or the absolute path of a directory.
    fileprivate static var controlGroups: ValueRule {
        .string(such: "auto") { text, place in
            if text == "auto" { return .automatic }
            if text == "none" { return Configuration.ControlGroups.none }
            if text.hasPrefix("/"), !text.utf8.contains(0), text.utf8.count <= 4_000 {
                return .at(text)
            }
            place.report(
                "must be \"auto\", \"none\" or an absolute path such as "
                    + "\"/sys/fs/cgroup/workerd\", is \(text.quoted)")
            return nil
        }
    }
}

extension Configuration.Shutdown: ConfigurationSection {
    mutating func read(from section: inout SectionReader) {
        section.read("grace", into: &grace, .duration(.zero ... .seconds(24 * 3600)))
    }
}

extension Configuration.Log: ConfigurationSection {
    mutating func read(from section: inout SectionReader) {
        section.read("level", into: &level, .choice)
    }
}
