// The commands by name.

internal import Wording

/// A command as it is offered.
struct Subcommand {
    let name: String
    /// The arguments behind the name: `THREAD SELECTOR [PAYLOAD | -]`.
    let arguments: String
    let summary: String
    var details: String = ""
    /// Whether help leaves it out: it is for other programs.
    var isHidden = false
    /// How many words may stand behind the name.
    let wordCount: ClosedRange<Int>
    var options: [Option] = []
    /// Options that take a value with other commands, and none with this one.
    var flags: [Option] = []
    /// The option with which any number of words may stand behind the name.
    var lifted: Option?
    /// The meaning of options with this command, where it differs.
    var summaries: [Option: String] = [:]
    let run: (Invocation) throws(Failure) -> Void

    /// The line that shows how it is used.
    var usage: String {
        ([name] + (arguments.isEmpty ? [] : [arguments]) + options.map { "[\(usage(of: $0))]" })
            .joined(separator: " ")
    }

    /// How an option is written with this command.
    func usage(of option: Option) -> String {
        flags.contains(option) ? option.rawValue : option.usage
    }
}

enum SubcommandTable {
    /// Older names of commands, which help leaves out.
    private static let aliases = ["watch": "observe"]

    static var all: [Subcommand] {
        JobSubcommands.all + FailureSubcommands.all + BulkSubcommands.all
            + ScheduleSubcommands.all
            + ThreadSubcommands.all + WorkerSubcommands.all + NodeSubcommands.all
            + ServerSubcommands.all + UserSubcommands.all
    }

    /// The commands for people.
    static var shown: [Subcommand] { all.filter { !$0.isHidden } }

    /// The command of a name; nil if there is none.
    static func find(_ name: String) -> Subcommand? {
        let current = aliases[name] ?? name
        return all.first { $0.name == current }
    }

    static func command(named name: String) throws(Failure) -> Subcommand {
        if let found = find(name) { return found }
        let near = Spelling.nearest(to: name, among: shown.map(\.name))
        throw .usage(
            "there is no command '\(name)'", try: near.map { "workerctl \($0)" } ?? "workerctl help"
        )
    }
}
