// The console blocks of a document: commands behind `$ `, and what each prints.

import Testing

/// One block between fences marked `console`.
struct ConsoleBlock {
    /// A command and the lines below it.
    struct Entry {
        /// The line of the document.
        let line: Int
        var command: String
        var output: [String] = []
    }

    /// Why the block is not played: the comment `<!-- not played: … -->` right before it.
    let excuse: String?
    private(set) var entries: [Entry] = []

    private init(excuse: String?) { self.excuse = excuse }

    /// The blocks of a Markdown text.
    static func all(in text: String) -> [ConsoleBlock] {
        var blocks: [ConsoleBlock] = []
        var (isOpen, isConsole) = (false, false)
        var excuse: String?
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (number, line) in zip(1..., lines) {
            if line.hasPrefix("```") {
                isConsole = !isOpen && line == "```console"
                isOpen.toggle()
                if isConsole { blocks.append(ConsoleBlock(excuse: excuse)) }
                excuse = nil
            } else if isOpen {
                if isConsole { blocks[blocks.count - 1].append(line, number) }
            } else if !line.isEmpty {
                excuse = reason(in: line)
            }
        }
        return blocks
    }

    private mutating func append(_ line: Substring, _ number: Int) {
        if line.hasPrefix("$ ") {
            entries.append(Entry(line: number, command: String(line.dropFirst(2))))
        } else if let last = entries.indices.last {
            if entries[last].output.isEmpty, entries[last].command.hasSuffix("\\") {
                entries[last].command += "\n" + line
            } else {
                entries[last].output.append(String(line))
            }
        }
    }

    private static func reason(in comment: Substring) -> String? {
        let (start, end) = ("<!-- not played: ", " -->")
        guard comment.hasPrefix(start), comment.hasSuffix(end) else { return nil }
        return String(comment.dropFirst(start.count).dropLast(end.count))
    }
}
