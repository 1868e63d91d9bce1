// The commands by name.

internal import Wording

/// A command as it is offered.
struct Subcommand {
    let name: String
    /// The arguments behind the name: `THREAD SELECTOR [PAYLOAD | -]`.
    let arguments: String
    let summary: String
    var details: String = ""
    /// How many words may stand behind the name.
    let wordCount: ClosedRange<Int>
    var options: [Option] = []
    let run: (Invocation) throws(Failure) -> Void

    /// The line that shows how it is used.
    var usage: String {
        ([name] + (arguments.isEmpty ? [] : [arguments]) + options.map { "[\($0.usage)]" })
            .joined(separator: " ")
    }
}

enum SubcommandTable {
    /// Older names of commands, which help leaves out.
    private static let aliases = ["watch": "observe"]

    static var all: [Subcommand] {
        JobSubcommands.all + FailureSubcommands.all + BulkSubcommands.all
            + ScheduleSubcommands.all
            + ThreadSubcommands.all + WorkerSubcommands.all
            + ServerSubcommands.all + UserSubcommands.all
    }

    static func command(named name: String) throws(Failure) -> Subcommand {
        let current = aliases[name] ?? name
        if let found = all.first(where: { $0.name == current }) { return found }
        let near = Spelling.nearest(to: name, among: all.map(\.name))
        throw .usage(
            "there is no command '\(name)'", try: near.map { "workerctl \($0)" } ?? "workerctl help"
        )
    }
}
