// How `workerctl top` looks: its state as lines of a screen.

internal import Kernel
internal import WorkerClient
internal import Wording

/// A line of a screen, in parts that look different.
struct ScreenLine {
    private(set) var parts: [(text: String, look: Style.Look?)] = []

    init(_ text: String = "", _ look: Style.Look? = nil) { add(text, look) }

    mutating func add(_ text: String, _ look: Style.Look? = nil) {
        parts.append((Terminal.printable(text), look))
    }

    /// The line, cut or filled to a width.
    func text(_ columns: Int, _ style: Style, isSelected: Bool = false) -> String {
        var text = ""
        var left = columns
        for part in parts where left > 0 {
            let shown = String(part.text.prefix(left))
            left -= shown.count
            text += isSelected ? shown : style.shown(shown, part.look)
        }
        guard isSelected else { return text }
        return style.shown(text + String(repeating: " ", count: left), .selected)
    }
}

/// The screen of `workerctl top`.
struct TopView {
    /// The narrowest lane that is worth its room.
    private static let laneWidthMin = 8

    let model: TopModel
    let address: String
    let size: TerminalSize
    let style: Style

    /// All lines, as many as the terminal has rows.
    func lines(at now: Instant) -> [String] {
        var lines = [
            summary(now).text(size.columns, style), freshness(now).text(size.columns, style),
        ]
        let threads = model.shownThreads
        let rowCount = max(0, size.rows - lines.count - 2)
        let first = firstRow(of: threads.count, shown: rowCount)
        let shown = threads.dropFirst(first).prefix(rowCount)
        let table = rows(Array(shown), now)
        lines.append(table.heading.text(size.columns, style))
        for (index, row) in table.rows.enumerated() {
            let isSelected = first + index == model.cursor
            lines.append(row.text(size.columns, style, isSelected: isSelected))
        }
        while lines.count < size.rows - 1 { lines.append("") }
        lines = Array(lines.prefix(max(0, size.rows - 1)))
        lines.append(footer.text(size.columns, style))
        return lines
    }

    /// The first thread that is shown, so that the cursor is on the screen.
    private func firstRow(of count: Int, shown rowCount: Int) -> Int {
        max(0, min(model.cursor - rowCount / 2, count - rowCount))
    }

    private func summary(_ now: Instant) -> ScreenLine {
        var line = ScreenLine("workerd ", .heading)
        line.add(address)
        guard let view = model.latest?.view else { return line }
        let time = model.serverTime(at: now)
        line.add("  up \(Durations.span(max(0, time - view.startedAt)))")
        for count in ["running", "waiting", "delayed"] {
            line.add("  \(view.counts[count] ?? 0) \(count)")
        }
        if let count = view.counts["orphaned"], count > 0 {
            line.add("  \(count) orphaned", .warning)
        }
        line.add("  done \(Self.rate(model.rate(of: "done")))/s")
        let failures = model.rate(of: "failed")
        line.add("  failed \(Self.rate(failures))/s", (failures ?? 0) > 0 ? .bad : nil)
        if let oldest = view.queues.values.compactMap(\.oldest).min() {
            line.add("  oldest waits \(Durations.span(max(0, time - oldest)))")
        }
        return line
    }

    private func freshness(_ now: Instant) -> ScreenLine {
        if let loss = model.loss {
            let seconds = loss.since.duration(to: now).nanosecondsClamped / 1_000_000_000
            return ScreenLine("not connected for \(seconds) s: \(loss.reason)", .bad)
        }
        guard let view = model.latest?.view else { return ScreenLine("asking …") }
        if view.isGoingDown { return ScreenLine("going down", .warning) }
        let filter = model.filter.isEmpty ? "" : "  only '\(model.filter)'"
        return ScreenLine(
            "live  \(counted(model.shownThreads.count, "thread"))\(filter)", .faint)
    }

    private var footer: ScreenLine {
        if model.isFiltering { return ScreenLine("/\(model.filter)_") }
        if !model.message.isEmpty { return ScreenLine(model.message) }
        return ScreenLine(
            "q quit  j k move  p pause  r resume  / filter   "
                + "# running  x failed  = held  ! stuck  . idle", .faint)
    }

    private static func rate(_ rate: Double?) -> String {
        guard let rate else { return "-" }
        if rate >= 100 || rate == 0 { return "\(Int(rate))" }
        return "\(Int(rate)).\(Int(rate * 10) % 10)"
    }

    /// The heading and a line for each thread, in aligned columns.
    private func rows(
        _ threads: [LiveThread], _ now: Instant
    ) -> (heading: ScreenLine, rows: [ScreenLine]) {
        let headings = [
            "THREAD", "STATE", "JOB", "SELECTOR", "FOR", "WAITING", "OLDEST", "DONE/S", "FAILED/S",
        ]
        let time = model.serverTime(at: now)
        let cells = threads.map { self.cells($0, at: time) }
        let widths = headings.indices.map { column in
            cells.reduce(headings[column].count) { max($0, $1[column].count) }
        }
        let isLeft = [true, true, false, true, false, false, false, false, false]
        let laneWidth = size.columns - widths.reduce(0) { $0 + $1 + 2 }
        let hasLanes = laneWidth >= Self.laneWidthMin
        var heading = ScreenLine()
        for (column, text) in headings.enumerated() {
            heading.add(Self.padded(text, widths[column], isLeft[column]) + "  ", .heading)
        }
        if hasLanes { heading.add("LAST \(laneWidth) S", .heading) }
        let rows = zip(threads, cells).map { thread, cells in
            var line = ScreenLine()
            for (column, text) in cells.enumerated() {
                let look = column == 1 ? Style.look(ofState: thread.state) : nil
                let shown = model.loss == nil ? look : Style.Look.faint
                line.add(Self.padded(text, widths[column], isLeft[column]) + "  ", shown)
            }
            if hasLanes { line.add(lane(of: thread.name, laneWidth)) }
            return line
        }
        return (heading, rows)
    }

    private func cells(_ thread: LiveThread, at time: Int64) -> [String] {
        let rates = model.rates(ofThread: thread.name)
        let queue = model.latest?.view.queues[thread.pool]
        let job = thread.jobID.map { "\($0)" } ?? "-"
        let waiting = queue.map { "\($0.waitingCount)" } ?? "-"
        return [
            thread.name, thread.state, job, thread.selector ?? "-",
            Self.span(since: thread.since, at: time), waiting,
            Self.span(since: queue?.oldest, at: time), Self.rate(rates.done),
            Self.rate(rates.failed),
        ].map(Terminal.printable)
    }

    private static func span(since moment: Int64?, at time: Int64) -> String {
        moment.map { Durations.span(max(0, time - $0)) } ?? "-"
    }

    private func lane(of thread: String, _ width: Int) -> String {
        let marks = (model.lanes[thread] ?? []).suffix(width)
        return String(repeating: " ", count: width - marks.count) + String(marks.map(\.rawValue))
    }

    private static func padded(_ text: String, _ width: Int, _ isLeft: Bool) -> String {
        let padding = String(repeating: " ", count: max(0, width - text.count))
        return isLeft ? text + padding : padding + text
    }
}
