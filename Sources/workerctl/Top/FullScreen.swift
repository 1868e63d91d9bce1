// A terminal taken over as a whole, and given back as it was.

internal import Kernel

/// The terminal of a full-screen program.
///
/// - Source: xterm's control sequences: ?1049 is the screen beside the one of the shell, ?25 the
///   cursor.
final class FullScreen {
    private let before: TerminalModes
    private var isTaken = false

    /// - Throws: a failure if standard input or output is no terminal.
    init() throws(Failure) {
        guard StandardStream.input.isTerminal, StandardStream.output.isTerminal else {
            throw .usage("top needs a terminal", try: "workerctl threads")
        }
        do throws(SystemError) {
            before = try TerminalModes(of: .input)
        } catch {
            throw Failure(what: "can't use the terminal", reason: error.reason, status: .noInput)
        }
    }

    deinit { giveBack() }

    /// The size of the terminal; 24 rows of 80 columns if it does not tell.
    var size: TerminalSize {
        TerminalSize.current(of: .output) ?? TerminalSize(rows: 24, columns: 80)
    }

    /// Shows an empty screen, and has keys arrive one by one.
    func take() {
        guard !isTaken else { return }
        isTaken = true
        try? before.keyByKey.apply(to: .input)
        write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J")
    }

    /// Shows the screen of the shell again, and has keys arrive as before.
    func giveBack() {
        guard isTaken else { return }
        isTaken = false
        write("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l")
        try? before.apply(to: .input)
    }

    /// Draws all lines over the ones that are there.
    func draw(_ lines: [String]) {
        guard isTaken else { return }
        write("\u{1B}[H" + lines.map { "\u{1B}[K" + $0 }.joined(separator: "\r\n") + "\u{1B}[J")
    }

    private func write(_ text: String) {
        try? StandardStream.output.write(everything: Array(text.utf8))
    }
}
