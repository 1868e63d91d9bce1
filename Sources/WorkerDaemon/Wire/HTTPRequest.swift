// HTTP where commands are expected: a browser that a web page has sent to this port.

internal import RESP

enum HTTPRequest {
    /// Whether a word that is no command begins a request of HTTP, or is a header of one.
    ///
    /// The body of such a request may contain lines that are commands.
    static func isBegun(by command: Command) -> Bool {
        if command.matches(0, "POST") || command.matches(0, "HOST:") { return true }
        return command.count >= 3 && command[command.count - 1].starts(with: "HTTP/".utf8)
    }
}
