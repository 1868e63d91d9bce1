// Which words may stand at the end of a command line, by the table of commands.

internal import WorkerClient

/// The candidates for the last word of a line.
struct LineCompletion {
    /// Names that only the daemon knows.
    enum Subject {
        case threads, selectors, schedules, jobs
    }

    /// The beginning of the word, as it is typed so far.
    let beginning: String
    private(set) var words: [(word: String, meaning: String)] = []
    private(set) var wantsFiles = false
    private(set) var subject: Subject?
    /// The daemon that the line names; nil for the usual one.
    let address: WorkerAddress?

    /// - Parameter line: the words behind the program's name; the last one is to be completed.
    init(_ line: [String]) {
        let line = Self.joined(line)
        var last = line.last ?? ""
        var socket: String?
        var given: [String] = []
        var expected: Option?
        for word in line.dropLast() {
            if let option = expected {
                if option == .socket { socket = word }
                expected = nil
            } else if let option = Option(rawValue: word) {
                let command = given.first.flatMap(SubcommandTable.find)
                if Self.takesValue(option, command) { expected = option }
            } else if word.hasPrefix("--socket=") {
                socket = String(word.dropFirst("--socket=".count))
            } else if !word.hasPrefix("-") {
                given.append(word)
            }
        }
        let command = given.first.flatMap(SubcommandTable.find)
        if let sign = last.firstIndex(of: "="), let option = Option(rawValue: String(last[..<sign]))
        {
            expected = option
            last = String(last[last.index(after: sign)...])
        }
        beginning = last
        address = socket.map(WorkerAddress.unix)
        if let expected {
            offer(value: expected)
        } else if last.hasPrefix("-") {
            offerOptions(of: command)
        } else if let command {
            offer(place: given.count - 1, of: command)
        } else if given.isEmpty {
            words = SubcommandTable.shown.map { ($0.name, $0.summary) }
        }
        words = words.filter { $0.word.hasPrefix(last) }
    }

    /// The line with `--option = value`, as bash cuts it, made one word again.
    private static func joined(_ line: [String]) -> [String] {
        var words: [String] = []
        var isValue = false
        for word in line {
            if word == "=", let last = words.last, last.hasPrefix("--") {
                words[words.count - 1] = last + "="
                isValue = true
            } else if isValue {
                words[words.count - 1] += word
                isValue = false
            } else {
                words.append(word)
            }
        }
        return words
    }

    private static func takesValue(_ option: Option, _ command: Subcommand?) -> Bool {
        if command?.flags.contains(option) == true { return false }
        switch option.arity {
        case .value, .values: return true
        case .flag, .optionalDuration: return false
        }
    }

    private mutating func offerOptions(of command: Subcommand?) {
        for option in (command?.options ?? []) + Option.common {
            words.append((option.rawValue, command?.summaries[option] ?? option.summary))
        }
    }

    private mutating func offer(value option: Option) {
        switch option.arity {
        case .value(let kind), .values(let kind): offer(kind)
        case .flag, .optionalDuration: break
        }
    }

    /// Offers what a place of the command's arguments takes: `ID | THREAD SELECTOR [PAYLOAD | -]`.
    private mutating func offer(place: Int, of command: Subcommand) {
        // Arguments in brackets come last, and stand for all further places.
        let parts = command.arguments.split(separator: "[", maxSplits: 1)
        for alternative in (parts.first ?? "").split(separator: " | ") {
            let kinds = alternative.split(separator: " ").map { $0.filter { $0 != "…" } }
            if place < kinds.count {
                offer(kinds[place])
            } else if alternative.hasSuffix("…"), let last = kinds.last {
                offer(last)
            } else if parts.count > 1, !parts[1].contains("PAYLOAD | -]") {
                parts[1].split { " …]|".contains($0) }.forEach { offer(String($0)) }
            }
        }
        if command.arguments.hasPrefix("["), place == 0 {
            parts[0].split { " ]".contains($0) }.forEach { offer(String($0)) }
        }
    }

    private mutating func offer(_ kind: String) {
        switch kind {
        case "THREAD": subject = .threads
        case "SELECTOR": subject = .selectors
        case "SCHEDULE": subject = .schedules
        case "ID": subject = subject ?? .jobs
        case "FILE", "PATH": wantsFiles = true
        case "COMMAND": words = SubcommandTable.shown.map { ($0.name, $0.summary) }
        case "STATE": words = JobSummary.State.all.map { ($0.rawValue, "state of a job") }
        default:
            guard kind.contains("|"), kind == kind.lowercased() else { return }
            words = kind.split(separator: "|").map { (String($0), "") }
        }
    }
}
