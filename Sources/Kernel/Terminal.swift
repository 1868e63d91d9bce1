// A terminal: its size, and its modes, line by line with an echo or key by key.

internal import CLinux
internal import Glibc

/// The modes of a terminal, to be changed and put back.
package struct TerminalModes: Sendable {
    private var attributes: termios

    /// The present modes of the terminal at a stream.
    ///
    /// - Throws: ENOTTY if there is no terminal.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: tcgetattr(3).
    package init(of stream: StandardStream) throws(SystemError) {
        var attributes = termios()
        try retrying("tcgetattr") { unsafe tcgetattr(stream.rawValue, &attributes) }
        self.attributes = attributes
    }

    /// The same, but keys arrive at once and unseen; Ctrl-C and Ctrl-Z are signals as ever.
    package var keyByKey: TerminalModes {
        var modes = self
        modes.attributes.c_lflag &= ~tcflag_t(ICANON | ECHO)
        return modes
    }

    /// Gives a terminal these modes, once everything that was written is out.
    ///
    /// - Throws: EIO if the terminal is gone, or if the process is in the background.
    /// - Thread: any.
    /// - Blocks: until the terminal has taken what was written.
    /// - Source: tcsetattr(3).
    package func apply(to stream: StandardStream) throws(SystemError) {
        var attributes = attributes
        try retrying("tcsetattr") { unsafe tcsetattr(stream.rawValue, TCSADRAIN, &attributes) }
    }
}

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
