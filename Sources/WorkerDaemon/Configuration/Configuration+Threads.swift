// The configured threads, which users send their jobs to.

internal import Jobs

extension Configuration {
    /// A thread, or a pool of several under one name.
    package struct Thread: Sendable, Equatable {
        /// The fate of a new job when the queue is full.
        package enum WhenFull: String, Sendable, Equatable, CaseIterable {
            /// It is refused with an error.
            case refuse
        }

        /// The rule for a thread whose job does not end when asked to.
        package enum WhenStuck: String, Sendable, Equatable, CaseIterable {
            /// It is logged and shown.
            case report
            /// It is also replaced by a fresh thread.
            case replace
        }

        /// The number of threads of a configuration, all together.
        package static let totalCountMax = 4096
        /// The names of the daemon's own threads, which listings show beside the configured ones.
        package static let reservedNames = ["main", "io", "journal", "backup"]
        static let reservedNameFault = "is a thread of the daemon itself: choose another name"

        package let name: String
        /// The number of threads with this name: more than one are a pool, `mail/1` its first
        /// member.
        package var count = 1
        /// The number of its slots, which daemons that share threads have parts of; 1 if one daemon
        /// has it at a time.
        package var slots = 1
        /// The number of jobs that may wait.
        package var maxQueued = 1_000_000
        /// The bytes of the payloads of its durable jobs together.
        package var maxQueuedBytes = 1 << 30
        package var whenFull = WhenFull.refuse
        package var whenStuck = WhenStuck.report
        /// The time after which a job that was asked to end makes its thread stuck.
        package var stuckAfter = Duration.seconds(5)

        package init(name: String) {
            self.name = name
        }

        /// The names that have an owner each: its own name, or the names of its slots.
        var units: [String] { (0..<slots).map { PoolSlot.name($0, of: name) } }
    }
}

extension Configuration.Thread: ConfigurationSection {
    static func make(_ name: String, at place: Place) -> Configuration.Thread? {
        guard Configuration.isName(name, at: place) else { return nil }
        if reservedNames.contains(name) {
            place.report(reservedNameFault)
            return nil
        }
        return Configuration.Thread(name: name)
    }

    mutating func read(from section: inout SectionReader) {
        section.read("count", into: &count, .whole(1...1024))
        section.read("slots", into: &slots, .whole(1...256))
        section.read("maxQueued", into: &maxQueued, .whole(1...10_000_000))
        section.read("maxQueuedBytes", into: &maxQueuedBytes, .size(1...(1 << 40)))
        section.read("whenFull", into: &whenFull, .choice)
        section.read("whenStuck", into: &whenStuck, .choice)
        section.read(
            "stuckAfter", into: &stuckAfter, .duration(.milliseconds(1) ... .seconds(24 * 3600)))
    }

    /// Checks all threads together: their names, their number and their slots.
    static func checkAll(
        _ threads: [Configuration.Thread], areShared: Bool, in section: SectionReader
    ) {
        let example = "threads: { images: {} }"
        if !section.has("threads") {
            section.report("threads", "is missing, such as \(example)")
        } else if section.isEmptySection("threads") {
            section.report("threads", "at least one thread is needed, such as \(example)")
        }
        for thread in threads where thread.slots > 1 {
            if !areShared {
                section.report(
                    "threads",
                    "\(thread.name).slots is for nodes that share the threads: it needs "
                        + "node.sharesThreads")
            } else if thread.count == 1 {
                section.report(
                    "threads", "\(thread.name).slots is for pools: it needs a count of at least 2")
            }
        }
        let totalCount = threads.reduce(0) { $0 + $1.count }
        if totalCount > totalCountMax {
            section.report(
                "threads",
                "must be at most \(totalCountMax) threads together, are \(totalCount.grouped)")
        }
    }
}
