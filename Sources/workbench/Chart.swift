// The main figures as a picture: one panel for each, a bar for each contender. The SVG is
// self-contained, and brings its own background, so that it can be read on a dark page and a light
// one.

/// An SVG picture of the table's main rows.
struct Chart {
    private let rows: [Scoreboard.Row]
    private let caption: String

    private enum Size {
        static let columns = 3
        static let panelWidth = 300
        static let labelWidth = 78
        static let barHeight = 15
        static let titleHeight = 30
        static let margin = 16
        /// The ratio to our bar above which a bar is cut.
        static let mostTimesOurs = 12.0
    }

    init(_ scoreboard: Scoreboard, _ machine: Machine) {
        rows = scoreboard.rows.filter { $0.goal.isInChart && $0.ours.median > 0 }
        caption =
            "Medians; shorter is better. \(machine.cpu), \(machine.cpuCount) cpus, "
            + "Linux \(machine.kernel), \(machine.toolchain), \(machine.allocator)"
    }

    var text: String {
        var body = ""
        var top = Size.margin
        var rest = rows[...]
        while !rest.isEmpty {
            let line = rest.prefix(Size.columns)
            rest = rest.dropFirst(Size.columns)
            for (column, row) in line.enumerated() {
                let left = Size.margin + column * (Size.panelWidth + Size.margin)
                body += panel(row, x: left, y: top)
            }
            top += (line.map { panelHeight($0) }.max() ?? 0) + Size.margin
        }
        let width = Size.margin + Size.columns * (Size.panelWidth + Size.margin)
        let height = top + 2 * Size.margin
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" \
            width="\(width)" height="\(height)" role="img" aria-label="workerd and its rivals">
            <style>
            text { font: 12px system-ui, sans-serif; fill: #1f2328 }
            .title { font-weight: 600; font-size: 13px }
            .small { font-size: 11px; fill: #59636e }
            .back { fill: #ffffff } .ours { fill: #0969da } .floor { fill: #8c959f }
            .rival { fill: #d4a72c }
            @media (prefers-color-scheme: dark) {
            text { fill: #f0f6fc } .small { fill: #9198a1 } .back { fill: #0d1117 }
            .ours { fill: #4493f8 } .floor { fill: #656c76 } .rival { fill: #bb8009 }
            }
            </style>
            <rect class="back" width="\(width)" height="\(height)" rx="8"/>
            \(body)\
            <text class="small" x="\(Size.margin)" y="\(height - Size.margin)">\
            \(Self.escaped(caption))</text>
            </svg>
            """
    }

    private func bars(_ row: Scoreboard.Row) -> [(name: String, value: Double)] {
        Contender.columns.compactMap { name in
            if name == Contender.ours { return (name, row.ours.median) }
            return row.others[name].map { (name, $0.median) }
        }
    }

    private func panelHeight(_ row: Scoreboard.Row) -> Int {
        Size.titleHeight + bars(row).count * Size.barHeight
    }

    private func panel(_ row: Scoreboard.Row, x: Int, y: Int) -> String {
        let bars = bars(row)
        let floors = [Contender.floor, Contender.counted]
        let longest = min(
            bars.map(\.value).max() ?? 1, Size.mostTimesOurs * row.ours.median)
        // Room for the figure behind the longest bar.
        let room = Double(Size.panelWidth - Size.labelWidth - 90)
        var text =
            "<text class=\"title\" x=\"\(x)\" y=\"\(y + 14)\">"
            + "\(Self.escaped(title(row))), \(Self.escaped(row.metric.unit))</text>\n"
        for (index, bar) in bars.enumerated() {
            let top = y + Size.titleHeight - 6 + index * Size.barHeight
            let length = max(1, Int(room * min(bar.value, longest) / longest))
            let kind =
                bar.name == Contender.ours
                ? "ours" : floors.contains(bar.name) ? "floor" : "rival"
            let left = x + Size.labelWidth
            let isCut = bar.value > longest
            let times =
                bar.name == Contender.ours
                ? "" : " (\(readableRatio(bar.value / row.ours.median)))"
            text += """
                <text class="small" x="\(x)" y="\(top + 10)">\(bar.name)</text>\
                <rect class="\(kind)" x="\(left)" y="\(top + 1)" width="\(length)" \
                height="\(Size.barHeight - 4)" rx="2"/>\
                <text class="small" x="\(left + length + 4)" y="\(top + 10)">\
                \(isCut ? "→ " : "")\(readable(bar.value))\(times)</text>

                """
        }
        return text
    }

    /// Rows that continue others are indented in the table.
    private func title(_ row: Scoreboard.Row) -> String {
        row.title.hasPrefix("  ") ? String(row.title.dropFirst(2)) : row.title
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    }
}
