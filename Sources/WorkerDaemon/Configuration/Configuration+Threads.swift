// The threads that users send their jobs to, as configured.

extension Configuration {
    /// A thread, or a pool of several under one name.
    package struct Thread: Sendable, Equatable {
        /// What happens to a job that comes when the queue is full.
        package enum WhenFull: String, Sendable, Equatable, CaseIterable {
            /// It gets an error.
            case refuse
        }

        /// What happens to a thread whose job is to end and does not listen.
        package enum WhenStuck: String, Sendable, Equatable, CaseIterable {
            /// It is said in the log and shown.
            case report
            /// A fresh thread takes its place, too.
            case replace
        }

        /// All threads of a configuration together.
        package static let totalCountMax = 4096
        /// The daemon's own threads, which a listing shows beside the configured ones.
        package static let reservedNames = ["main", "io", "journal"]
        static let reservedNameFault = "is a thread of the daemon itself: choose another name"

        package let name: String
        /// How many threads have this name: more than one are a pool, `mail/1` its first member.
        package var count = 1
        /// How many jobs may wait.
        package var maxQueued = 1_000_000
        /// How much the payloads of its durable jobs may take together.
        package var maxQueuedBytes = 1 << 30
        package var whenFull = WhenFull.refuse
        package var whenStuck = WhenStuck.report
        /// How long a job that is to end may go on before it is taken for stuck.
        package var stuckAfter = Duration.seconds(5)

        package init(name: String) {
            self.name = name
        }
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
        section.read("maxQueued", into: &maxQueued, .whole(1...10_000_000))
        section.read("maxQueuedBytes", into: &maxQueuedBytes, .size(1...(1 << 40)))
        section.read("whenFull", into: &whenFull, .choice)
        section.read("whenStuck", into: &whenStuck, .choice)
        section.read(
            "stuckAfter", into: &stuckAfter, .duration(.milliseconds(1) ... .seconds(24 * 3600)))
    }

    /// Checks what no thread can know alone.
    static func checkAll(_ threads: [Configuration.Thread], in section: SectionReader) {
        let example = "threads: { images: {} }"
        if !section.has("threads") {
            section.report("threads", "is missing, such as \(example)")
        } else if section.isEmptySection("threads") {
            section.report("threads", "at least one thread is needed, such as \(example)")
        }
        let totalCount = threads.reduce(0) { $0 + $1.count }
        if totalCount > totalCountMax {
            section.report(
                "threads",
                "must be at most \(totalCountMax) threads together, are \(totalCount.grouped)")
        }
    }
}
