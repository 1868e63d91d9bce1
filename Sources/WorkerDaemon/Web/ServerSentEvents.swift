// The format of server-sent events (HTML, "Server-sent events"): lines of text in a response that
// goes on.

internal import RESP

/// Appends messages to an array that the caller owns.
enum ServerSentEvents {
    static let contentType = "text/event-stream"
    /// The first line of a stream: how long a browser waits before it connects again.
    static let opening = Array("retry: 1000\n\n".utf8)
    /// A comment, which readers pass over.
    static let heartbeat = Array(": still here\n\n".utf8)

    /// Appends a message.
    ///
    /// JSON has its line ends escaped, so it is one line.
    static func append(
        _ kind: String, id: String?, _ data: RESPValue, to output: inout [UInt8]
    ) {
        if let id { output += "id: \(id)\n".utf8 }
        output += "event: \(kind)\ndata: ".utf8
        JSONText.append(data, to: &output)
        output += "\n\n".utf8
    }
}
