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

/// A row of the live view.
struct LiveRow: Equatable {
    var entries: [RESPValue.Entry]
    var job: LiveJob?

    /// - Parameter buckets: those of its time line that the reader does not have.
    fileprivate func value(showsPayloads: Bool, _ buckets: [RESPValue]) -> RESPValue {
        var all = entries
        if let job { all.append(entry("job", job.value(showsPayloads: showsPayloads))) }
        if !buckets.isEmpty { all.append(entry("buckets", .array(buckets))) }
        return .map(all)
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

    /// The rows that have changed behind a round; all behind round 0.
    func rows(behind round: UInt32, at now: Int64, showsPayloads: Bool) -> [RESPValue] {
        items.filter { $0.round > round }.map { item in
            item.row.value(
                showsPayloads: showsPayloads,
                item.line?.buckets(changedBehind: round, at: now) ?? [])
        }
    }
}
