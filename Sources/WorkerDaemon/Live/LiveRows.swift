// The rows of the live view, and which of them have changed.

internal import Jobs
internal import RESP

/// The job that a thread runs, as the live view shows it.
struct LiveJob: Equatable {
    let id: UInt64
    let selector: String
    let since: Int64
    let attempt: Int
    var stuckSince: Int64?
    let options: SharedJobOptions
    let progress: JobProgress?

    /// - Parameter showsPayloads: whether the reader may see what clients have put into jobs.
    fileprivate func value(showsPayloads: Bool) -> RESPValue {
        var entries = [
            entry("id", .integer(Int(id))), entry("selector", text(selector)),
            entry("since", .integer(Int(since))), entry("attempt", .integer(attempt)),
        ]
        if let stuckSince { entries.append(entry("stuck-since", .integer(Int(stuckSince)))) }
        return .map(entries + (showsPayloads ? sensitiveEntries : []))
    }

    private var sensitiveEntries: [RESPValue.Entry] {
        var entries: [RESPValue.Entry] = []
        if let key = options.key { entries.append(entry("key", .bulk(key))) }
        if let label = options.value.label { entries.append(entry("label", .bulk(label))) }
        if let fraction = progress?.fraction {
            entries.append(entry("progress", .double(fraction)))
        }
        if let shown = progress?.shownText {
            entries.append(entry("progress-text", text(shown)))
        }
        return entries
    }
}

/// The subject of a row, by which users see it or not.
enum LiveSubject: Equatable {
    case server
    /// A thread or pool.
    case thread(String)
    case selector(String)
    /// Jobs for a thread or a selector that is not served.
    case orphans(thread: String, selector: String?)

    func isSeen(by user: User) -> Bool {
        switch self {
        case .server: true
        case .thread(let name): user.scope.has(thread: name)
        case .selector(let name): user.scope.has(selector: name)
        case .orphans(let thread, let selector):
            user.scope.has(thread: thread) && selector.map(user.scope.has(selector:)) != false
        }
    }
}

/// A row of the live view.
struct LiveRow: Equatable {
    /// An entry about a job.
    struct JobEntry: Equatable {
        /// The job's selector; nil if it is not known.
        let selector: String?
        let entry: RESPValue.Entry
    }

    var subject = LiveSubject.server
    var entries: [RESPValue.Entry]
    /// Entries about all threads, for users that may touch them.
    var entriesOfAllThreads: [RESPValue.Entry] = []
    /// Entries for users that may touch the selector of a job.
    var jobEntries: [JobEntry] = []
    var job: LiveJob?

    /// - Parameter buckets: those of its time line that the reader does not have.
    fileprivate func value(for user: User, _ buckets: [RESPValue]) -> RESPValue {
        var all = entries
        if user.scope.hasAllThreads { all += entriesOfAllThreads }
        all += jobEntries.filter { isSeen(jobOf: $0.selector, by: user) }.map(\.entry)
        if let job, isSeen(jobOf: job.selector, by: user) {
            all.append(entry("job", job.value(showsPayloads: user.seesPayloads)))
        }
        if !buckets.isEmpty { all.append(entry("buckets", .array(buckets))) }
        return .map(all)
    }

    private func isSeen(jobOf selector: String?, by user: User) -> Bool {
        user.scope.hasAllSelectors || selector.map(user.scope.has(selector:)) == true
    }
}

/// The numbers of jobs of a thread or pool, or of several.
struct LiveCounts: Equatable {
    var waiting = 0
    var held = 0
    var awaiting = 0
    var delayed = 0
    var running = 0
    var stuck = 0
    var orphaned = 0
    /// Attempts since the start that ended well, and others.
    var done = 0
    var failed = 0

    static func += (sum: inout LiveCounts, other: LiveCounts) {
        sum.waiting += other.waiting
        sum.held += other.held
        sum.awaiting += other.awaiting
        sum.delayed += other.delayed
        sum.running += other.running
        sum.stuck += other.stuck
        sum.orphaned += other.orphaned
        sum.done += other.done
        sum.failed += other.failed
    }

    /// The present numbers.
    var entries: [RESPValue.Entry] {
        [
            ("waiting", waiting), ("held", held), ("awaiting", awaiting), ("delayed", delayed),
            ("running", running), ("stuck", stuck), ("orphaned", orphaned),
        ].map { entry($0.0, .integer($0.1)) }
    }

    /// The present numbers, and the attempts.
    var entriesWithAttempts: [RESPValue.Entry] {
        entries + [entry("done", .integer(done)), entry("failed", .integer(failed))]
    }
}

/// The rows of one kind, in a fixed order, and the round in which each has changed last.
struct LiveTable {
    private struct Item {
        var row: LiveRow
        var line: Timeline?
        var round: UInt32
    }

    private var items: [Item] = []

    /// Takes the present rows, each with its time line.
    ///
    /// - Returns: whether any has changed in this round.
    mutating func update(_ rows: [(row: LiveRow, line: Timeline?)], round: UInt32) -> Bool {
        var hasChanged = false
        for (index, (row, line)) in rows.enumerated() {
            guard index < items.count else {
                items.append(Item(row: row, line: line, round: round))
                hasChanged = true
                continue
            }
            items[index].line = line
            guard items[index].row != row || line?.round == round else { continue }
            items[index].row = row
            items[index].round = round
            hasChanged = true
        }
        return hasChanged
    }

    /// The rows of a user that have changed behind a round; all of its rows behind round 0.
    func rows(behind round: UInt32, at now: Int64, for user: User) -> [RESPValue] {
        items.filter { $0.round > round && $0.row.subject.isSeen(by: user) }.map { item in
            item.row.value(
                for: user,
                item.line?.buckets(
                    changedBehind: round, at: now, showsJobs: user.scope.hasAllSelectors) ?? [])
        }
    }
}
