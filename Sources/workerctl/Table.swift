// Rows of text under headings, aligned.

/// A table for people.
struct Table {
    enum Alignment {
        case left, right
    }

    private struct Column {
        let heading: String
        let alignment: Alignment
    }

    private let columns: [Column]
    private var rows: [[String]] = []

    init(_ columns: [(heading: String, alignment: Alignment)]) {
        self.columns = columns.map { Column(heading: $0.heading, alignment: $0.alignment) }
    }

    mutating func add(_ row: [String]) {
        precondition(row.count == columns.count, "a row of \(columns.count) cells")
        rows.append(row.map(Terminal.printable))
    }

    /// The whole table; what stands in the column STATE is coloured.
    func text(_ style: Style) -> String {
        let widths = columns.indices.map { index in
            rows.reduce(columns[index].heading.count) { max($0, $1[index].count) }
        }
        var text = style.heading(line(columns.map(\.heading), widths) { _, cell in cell }) + "\n"
        for row in rows {
            text += line(row, widths) { column, cell in
                columns[column].heading == "STATE" ? style.state(cell) : cell
            }
            text += "\n"
        }
        return text
    }

    private func line(
        _ cells: [String], _ widths: [Int], _ decorate: (Int, String) -> String
    ) -> String {
        var line = ""
        for (index, cell) in cells.enumerated() {
            let padding = String(repeating: " ", count: widths[index] - cell.count)
            let isLast = index == cells.count - 1
            switch columns[index].alignment {
            case .left: line += decorate(index, cell) + (isLast ? "" : padding)
            case .right: line += padding + decorate(index, cell)
            }
            if !isLast { line += "  " }
        }
        return line
    }
}

/// Names and values, aligned, one to a line.
func nameList(_ entries: [(String, String?)], _ style: Style) -> String {
    let shown = entries.filter { $0.1 != nil }
    let width = shown.reduce(0) { max($0, $1.0.count) }
    return shown.map { name, value in
        let padding = String(repeating: " ", count: width - name.count)
        let value = Terminal.printable(value ?? "")
        let decorated = name == "state" ? style.state(value) : value
        return "\(style.heading(name))\(padding)  \(decorated)\n"
    }.joined()
}
