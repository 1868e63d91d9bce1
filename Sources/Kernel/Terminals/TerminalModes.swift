// How a terminal treats what is typed: line by line with an echo, or key by key.

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
