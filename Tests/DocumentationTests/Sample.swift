// The samples: pieces of this package's own files, built as a user's code is, which the
// documentation shows. A piece stands between the marks `// sample: NAME` and `// end`; a program
// of its own is one as a whole.

/// A piece of code that is built.
struct Sample {
    /// Its name: the mark's, or the folder's of a program.
    let name: String
    /// The file that it is in.
    let path: String
    /// Its lines without what all are indented by.
    let text: String
    /// Whether it is a whole program.
    let isProgram: Bool

    /// The samples of a file.
    static func all(in path: String, _ text: String) throws -> [Sample] {
        var samples: [Sample] = []
        var name: String?
        var indentation = 0
        var lines: [Substring] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let words = line.drop { $0 == " " }
            if words.hasPrefix(mark) {
                guard name == nil else { throw Fault("\(path): \(words) inside of another sample") }
                name = String(words.dropFirst(mark.count))
                indentation = line.count - words.count
                lines = []
            } else if let mine = name, words == "// end" {
                let text = lines.map { $0.dropFirst(indentation) + "\n" }.joined()
                samples.append(Sample(name: mine, path: path, text: text, isProgram: false))
                name = nil
            } else if name != nil {
                lines.append(line)
            }
        }
        if let name { throw Fault("\(path): sample \(name) has no end") }
        let parts = path.split(separator: "/")
        if samples.isEmpty, parts.last == "main.swift", let folder = parts.dropLast().last {
            samples = [Sample(name: String(folder), path: path, text: text, isProgram: true)]
        }
        return samples
    }

    private static let mark = "// sample: "
}

/// A fault of the documentation or its samples.
struct Fault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
