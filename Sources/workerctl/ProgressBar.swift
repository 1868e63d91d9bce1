// How far jobs are, for people: one as a word, many as a line on a terminal that is drawn over and
// over.

internal import Kernel

/// A progress bar on standard error.
struct ProgressBar {
    /// The longest bar, without its figures.
    private static let widthMax = 40
    private let count: Int?
    private var isDrawn = false

    /// - Parameter count: the number of inputs; nil if it is not known.
    /// - Returns: nil unless standard error is a terminal that moves its cursor.
    init?(of count: Int?) {
        let kind = Program.inheritedEnvironment()["TERM", default: "dumb"]
        guard StandardStream.error.isTerminal, kind != "dumb" else { return nil }
        self.count = count
    }

    /// Draws the present figures.
    mutating func show(good: Int, failed: Int, inFlight: Int) {
        isDrawn = true
        let columns = TerminalSize.current(of: .error)?.columns ?? 80
        write("\r\u{1B}[K" + Self.line(good, failed, inFlight, of: count, columns: columns))
    }

    /// Takes the bar away, so that other lines can be written.
    mutating func clear() {
        guard isDrawn else { return }
        isDrawn = false
        write("\r\u{1B}[K")
    }

    /// The line: `[########............]  8/20  1 failed  4 in flight`.
    static func line(
        _ good: Int, _ failed: Int, _ inFlight: Int, of count: Int?, columns: Int
    ) -> String {
        let ended = good + failed
        var figures = count.map { "\(ended)/\($0)" } ?? "\(ended) done"
        if failed > 0 { figures += "  \(failed) failed" }
        figures += "  \(inFlight) in flight"
        let width = min(widthMax, columns - figures.count - 5)
        guard let count, count > 0, width >= 4 else { return String(figures.prefix(columns - 1)) }
        let filled = min(width, width * ended / count)
        let bar = String(repeating: "#", count: filled)
        return "[\(bar)\(String(repeating: ".", count: width - filled))]  \(figures)"
    }

    private func write(_ text: String) {
        try? StandardStream.error.write(everything: Array(text.utf8))
    }
}

enum Progress {
    /// `40 % converting`; nil if neither is known.
    static func text(_ fraction: Double?, _ text: String?) -> String? {
        let percentage = fraction.map { "\(Int(($0 * 100).rounded(.down))) %" }
        let parts = [percentage, text].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
}
