// Helpers of the tests of the configuration: a file system that is a table, a text turned into its
// faults, and a generator of random numbers that can be repeated.

internal import Glibc
internal import Testing
internal import WorkerDaemon

extension FileChecks {
    /// A machine with gzip and tr in /usr/bin, and a few things that are no programs.
    static let table = FileChecks(
        kind: { path in
            switch path {
            case "/usr/bin/gzip", "/usr/bin/tr", "/bin/tr": .program
            case "/tmp", "/run/workerd", "/usr/bin", "/usr/bin/folder", "/var/lib/images":
                .directory
            case "/etc/passwd", "/etc/workerd/password", "/etc/workerd/empty", "/usr/bin/notes",
                "/etc/workerd/cert.pem", "/etc/workerd/key.pem":
                .other
            default: .missing
            }
        },
        contents: { (path, byteCountMax) throws(Unreadable) in
            switch path {
            case "/etc/workerd.json5": Array("{ listen: 1 }".utf8)
            case "/etc/workerd/empty": Array("\r\nsecond line\n".utf8)
            case "/etc/endless": Array(repeating: UInt8(ascii: " "), count: byteCountMax)
            default: throw Unreadable(reason: "No such file or directory")
            }
        },
        searchPath: ["", "relative", "/usr/local/bin", "/usr/bin/", "/bin"])
}

/// The least that a configuration must have; a test adds the section that it is about.
func configured(
    _ more: String, listen: String = "unix: '/tmp/w'", threads: String = "a: {}"
) -> String {
    "{ listen: { \(listen) }, threads: { \(threads) },\n\(more)\n}"
}

/// The configuration that a text says.
func configuration(_ text: String) throws -> Configuration {
    try ConfigurationReader(files: .table).parse(text: text, fileName: "w.json5")
}

/// The faults of a text, each as people see it, without the file's name; empty if there are none.
func faults(_ text: String) -> [String] {
    do throws(ConfigurationError) {
        _ = try ConfigurationReader(files: .table).parse(text: text, fileName: "w.json5")
        return []
    } catch {
        return error.faults.map(\.description)
    }
}

/// The faults without their places, for tests that are about the sentences.
func sentences(_ text: String) -> [String] {
    do throws(ConfigurationError) {
        _ = try ConfigurationReader(files: .table).parse(text: text, fileName: "w.json5")
        return []
    } catch {
        return error.faults.map { "\($0.path): \($0.message)" }
    }
}

/// A faulty text and the sentence it must be answered with.
struct Mistake: Sendable, CustomTestStringConvertible {
    let text: String
    let expected: String

    init(_ text: String, _ expected: String) {
        self.text = text
        self.expected = expected
    }

    /// Reads a table: a line with the text, then its sentence in lines that are indented.
    ///
    /// As a table, because the compiler takes very long over large literals of pairs; what needs
    /// computing, or has line ends of its own, is in `more`.
    static func list(_ table: String, more: [Mistake] = []) -> [Mistake] {
        var mistakes: [Mistake] = []
        for line in table.split(separator: "\n") {
            let words = line.drop { $0 == " " }
            if words.startIndex == line.startIndex {
                mistakes.append(Mistake(String(line), ""))
            } else if let last = mistakes.popLast() {
                let start = last.expected.isEmpty ? "" : last.expected + " "
                mistakes.append(Mistake(last.text, start + words))
            }
        }
        return mistakes + more
    }

    var testDescription: String { String(text.prefix(60)) }
}

extension ConfigurationReader {
    /// Checks the text of a configuration.
    func parse(text: String, fileName: String) throws(ConfigurationError) -> Configuration {
        try parse(bytes: Array(text.utf8), fileName: fileName)
    }
}
