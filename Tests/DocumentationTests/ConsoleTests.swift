// Commands that a reader types print the lines below them: the console blocks of each document are
// played from top to bottom, with a workerd of the sample configuration and a store in a file.

import Kernel
import Support
import Testing

@Suite struct `A console block` {
    @Test(.timeLimit(.minutes(2)), .enabled(if: hasRedisTools), arguments: try playedDocuments())
    func `prints what stands below each command`(document: String) throws {
        let blocks = ConsoleBlock.all(in: try text(document)).filter { $0.excuse == nil }
        let entries = blocks.flatMap(\.entries)
        let printed = try Console(for: document).play(entries.map(\.command))
        try #require(printed.count == entries.count, "\(document): the play broke off")
        for (entry, printed) in zip(entries, printed) {
            let isAlike = Console.isAlike(entry.output, printed)
            let seen = printed.joined(separator: "\n")
            #expect(isAlike, "\(document):\(entry.line): \(entry.command)\nprints\n\(seen)")
        }
    }

    @Test(arguments: try documents())
    func `is played, or says why not`(document: String) throws {
        for block in ConsoleBlock.all(in: try text(document)) where block.excuse == nil {
            #expect(!block.entries.isEmpty, "\(document): a block without a command")
        }
    }
}

/// Whether redis-cli is installed; `Scripts/test` installs it.
private let hasRedisTools = (try? File.kind(of: "/usr/bin/redis-cli")) != nil

/// Whether curl is installed; `Scripts/test` installs it.
private let hasCurl = (try? File.kind(of: "/usr/bin/curl")) != nil

/// The documents with blocks that are played.
private func playedDocuments() throws -> [String] {
    try userDocuments().filter { document in
        if !hasCurl, try text(document).contains("\n$ alias ask='curl") { return false }
        return ConsoleBlock.all(in: try text(document)).contains { $0.excuse == nil }
    }
}

/// A shell with a daemon of its own.
private struct Console {
    private static let mark = "\u{1}"
    private let directory: TestDirectory
    private let stand: [(document: String, here: String)]

    init(for document: String) throws {
        directory = try TestDirectory()
        stand = [
            ("/run/workerd/workerd.sock", directory.file("socket")),
            ("/run/workerd/http.sock", directory.file("http")),
            ("/var/lib/workerd", directory.file("lib")),
        ]
        let commented = "// store: \"/var/lib/workerd/jobs.sqlite\""
        var settings = try text("Config/workerd.json5")
        try #require(settings.contains(commented))
        settings = settings.replacing(commented, with: commented.dropFirst(3))
            .replacing("// http: {", with: "http: {")
        try File.write(Array(here(settings).utf8), to: directory.file("workerd.json5"))
    }

    /// - Returns: for each command the lines that it printed.
    func play(_ commands: [String]) throws -> [[String]] {
        var script = try preamble()
        for command in commands {
            script += "printf '\\n\(Self.mark)\\n'\n{\n\(here(command))\n} </dev/null 2>&1\n"
        }
        try File.write(Array(script.utf8), to: directory.file("script"))
        let run = try ProgramRun("/bin/bash", [directory.file("script")])
        var text = run.output
        for place in stand { text = text.replacing(place.here, with: place.document) }
        return text.split(separator: "\n\(Self.mark)\n", omittingEmptySubsequences: false)
            .dropFirst().map { part in
                part.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            }
    }

    private func here(_ text: String) -> String {
        stand.reduce(text) { $0.replacing($1.document, with: $1.here) }
    }

    private func preamble() throws -> String {
        let products = try productsDirectory()
        return """
            unset JOURNAL_STREAM NOTIFY_SOCKET STATE_DIRECTORY WATCHDOG_PID WATCHDOG_USEC
            shopt -s expand_aliases
            cd "\(directory.path)" && mkdir lib
            workerctl() { "\(products)/workerctl" --socket "\(directory.file("socket"))" "$@"; }
            workerd() { "\(products)/workerd" "$@"; }
            "\(products)/workerd" --config workerd.json5 >log 2>&1 &
            daemon=$!
            trap 'kill -TERM $daemon; wait $daemon' EXIT
            for try in {1..200}; do [ -S socket ] && break; sleep 0.05; done

            """
    }

    /// Whether a command prints what the document says.
    ///
    /// `…` stands for any text, alone on a line for any lines. Moments, spans of time and the
    /// widths of columns are not compared.
    static func isAlike(_ expected: [String], _ printed: [String]) -> Bool {
        var rest = lines(printed)[...]
        let parts = lines(expected).split(separator: "…", omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, begins(rest, first) else {
            return false
        }
        rest = rest.dropFirst(first.count)
        guard parts.count > 1 else { return rest.isEmpty }
        for part in parts.dropFirst().dropLast() {
            while !begins(rest, part) {
                if rest.popFirst() == nil { return false }
            }
            rest = rest.dropFirst(part.count)
        }
        return rest.count >= last.count && begins(rest.suffix(last.count), last)
    }

    private static func begins(
        _ printed: ArraySlice<String>, _ expected: ArraySlice<String>
    ) -> Bool {
        printed.count >= expected.count && zip(expected, printed).allSatisfy(isAlike)
    }

    private static func isAlike(_ expected: String, _ printed: String) -> Bool {
        let parts = expected.split(separator: "…", omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, parts.count > 1 else {
            return expected == printed
        }
        guard printed.hasPrefix(first) else { return false }
        var rest = printed.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }

    private static func lines(_ lines: [String]) -> [String] {
        let plain = lines.map { line in
            line.replacing(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/, with: "DATE")
                .replacing(/1[0-9]{12}/, with: "MOMENT")
                .replacing(/([0-9.]+ (ms|s|min|h|d)\b ?)+/, with: "SPAN ")
                .replacing(/[ ]+/, with: " ")
                .replacing(/[ ]$/, with: "")
        }
        // A document does not show the empty lines at the end.
        return Array(plain[..<((plain.lastIndex { !$0.isEmpty }).map { $0 + 1 } ?? 0)])
    }
}
