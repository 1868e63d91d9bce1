// How large a terminal is.

internal import CLinux

/// The number of rows and columns that a terminal shows.
package struct TerminalSize: Equatable, Sendable {
    package let rows: Int
    package let columns: Int

    package init(rows: Int, columns: Int) {
        self.rows = rows
        self.columns = columns
    }

    /// The present size of the terminal at a stream.
    ///
    /// - Returns: nil if there is no terminal, or if it does not tell its size.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: ioctl_tty(2), TIOCGWINSZ.
    package static func current(of stream: StandardStream) -> TerminalSize? {
        var (rows, columns) = (UInt16(0), UInt16(0))
        let result = unsafe clinux_terminal_size(stream.rawValue, &rows, &columns)
        guard result == 0, rows > 0, columns > 0 else { return nil }
        return TerminalSize(rows: Int(rows), columns: Int(columns))
    }
}
