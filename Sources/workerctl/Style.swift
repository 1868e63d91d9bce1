// The text on standard output, and its look.

internal import Kernel
internal import Wording

/// Colours, where a person sees them.
struct Style {
    /// When texts are coloured.
    enum Colour: String, CaseIterable {
        /// On a terminal, and not with NO_COLOR (https://no-color.org).
        case auto
        case always, never

        init(_ line: ArgumentLine) throws(Failure) {
            guard let text = line.value(of: .colour) else {
                self = .auto
                return
            }
            guard let colour = Colour(rawValue: text) else {
                throw .usage(
                    "--color is auto, always or never, not '\(text)'", try: "--color never")
            }
            self = colour
        }
    }

    private let isColoured: Bool

    init(for stream: StandardStream, _ colour: Colour) {
        switch colour {
        case .always: isColoured = true
        case .never: isColoured = false
        case .auto:
            let environment = Program.inheritedEnvironment()
            isColoured =
                stream.isTerminal && environment["NO_COLOR", default: ""].isEmpty
                && environment["TERM"] != "dumb"
        }
    }

    /// The role of a text, which decides its look.
    enum Look: String {
        case heading = "1"
        case bad = "1;31"
        case trouble = "31"
        case good = "32"
        case warning = "33"
        case faint = "2"
        case selected = "7"
    }

    func heading(_ text: String) -> String { shown(text, .heading) }
    func bad(_ text: String) -> String { shown(text, .bad) }

    /// The state of a job or a thread, padded already or not.
    func state(_ text: String) -> String {
        shown(text, Self.look(ofState: text.split(separator: " ").first.map(String.init) ?? ""))
    }

    /// How the state of a job or a thread looks; nil for plain text.
    static func look(ofState state: String) -> Look? {
        switch state {
        case "running": .good
        case "failed", "stopped", "stopping", "stuck": .trouble
        case "waiting", "delayed", "buffered", "paused", "pausing": .warning
        case "cancelled", "idle": .faint
        default: nil
        }
    }

    /// A text in its look.
    func shown(_ text: String, _ look: Look?) -> String {
        guard isColoured, let look else { return text }
        return "\u{1B}[\(look.rawValue)m\(text)\u{1B}[0m"
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
                status: .outputFault)
        }
    }
}
