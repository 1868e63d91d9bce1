// What goes to standard output and how it looks there.

internal import Kernel
internal import Wording

/// Colours, where a person sees them.
struct Style {
    private let isColoured: Bool

    /// Colours only on a terminal, and not with NO_COLOR (https://no-color.org).
    init(for stream: StandardStream) {
        guard stream.isTerminal else {
            isColoured = false
            return
        }
        let environment = Program.inheritedEnvironment()
        isColoured = environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    func heading(_ text: String) -> String { wrap(text, "1") }
    func bad(_ text: String) -> String { wrap(text, "1;31") }

    /// The state of a job or a thread, padded already or not.
    func state(_ text: String) -> String {
        switch text.split(separator: " ").first.map(String.init) {
        case "running": wrap(text, "32")
        case "failed", "stopped", "stopping", "stuck": wrap(text, "31")
        case "waiting", "delayed", "buffered", "paused", "pausing": wrap(text, "33")
        case "cancelled", "idle": wrap(text, "2")
        default: text
        }
    }

    private func wrap(_ text: String, _ code: String) -> String {
        isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

enum Terminal {
    /// Text in one line without what a terminal obeys.
    static func printable(_ text: String) -> String { Wording.printable(text) }

    /// Says something to the person in front of the terminal, whether it arrives or not.
    static func say(_ text: String) {
        try? StandardStream.error.write(everything: Array(text.utf8))
    }
}

enum Output {
    static func write(_ text: String) throws(Failure) {
        try write(Array(text.utf8))
    }

    static func write(_ document: JSON) throws(Failure) {
        try write(document.text + "\n")
    }

    /// Bytes as they are; on a terminal a text without controls, with a line's end behind it.
    static func writeResult(_ bytes: [UInt8]) throws(Failure) {
        try write(result: bytes, to: .output, "standard output")
    }

    /// The same for standard error.
    static func writeErrors(_ bytes: [UInt8]) throws(Failure) {
        try write(result: bytes, to: .error, "standard error")
    }

    private static func write(
        result bytes: [UInt8], to stream: StandardStream, _ name: String
    ) throws(Failure) {
        guard stream.isTerminal, !bytes.isEmpty else { return try write(bytes, to: stream, name) }
        let text = Wording.printable(String(decoding: bytes, as: UTF8.self), except: ["\n", "\t"])
        try write(Array((text.hasSuffix("\n") ? text : text + "\n").utf8), to: stream, name)
    }

    private static func write(
        _ bytes: [UInt8], to stream: StandardStream = .output, _ name: String = "standard output"
    ) throws(Failure) {
        do throws(SystemError) {
            try stream.write(everything: bytes)
        } catch {
            throw Failure(
                what: "can't write to \(name)", reason: error.reason,
                status: Failure.Status.outputFault)
        }
    }
}
