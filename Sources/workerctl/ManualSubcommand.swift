// `workerctl man`: the page of the manual, made of the table of commands.

internal import Wording

enum ManualSubcommand {
    static var subcommand: Subcommand {
        Subcommand(
            name: "man", arguments: "", summary: "Prints the page of the manual.",
            details: "To read it: workerctl man | man -l -", wordCount: 0...0
        ) { (_) throws(Failure) in try Output.write(page.text) }
    }

    private static var page: ManualPage {
        var page = ManualPage("workerctl", section: 1, summary: "show and steer workerd")
        page.heading("Synopsis")
        page.usage(".Op Ar options\n.Ar command ...")
        page.heading("Description")
        page.paragraphs(
            """
            workerctl hands in jobs for the named threads of workerd(8), waits for them, and shows \
            and steers threads, jobs and schedules.

            Options stand in front of a command or behind it. What follows -- is no option.
            """)
        page.heading("Commands")
        page.beginList()
        for command in SubcommandTable.shown { add(command, to: &page) }
        page.endList()
        page.heading("Options of every command")
        page.beginList()
        for option in Option.common { page.item(option.usage, "", sentence(option.summary)) }
        page.endList()
        page.heading("Environment")
        page.beginList()
        for (name, meaning) in environment { page.item(name, "", meaning) }
        page.endList()
        page.heading("Exit status")
        page.beginList(isCompact: true)
        for status in Failure.Status.allCases {
            page.item("\(status.rawValue)", "", sentence(status.meaning))
        }
        page.endList()
        page.heading("Examples")
        page.literal(examples)
        page.seeAlso([("redis-cli", 1), ("workerd.json5", 5), ("workerd", 8)])
        return page
    }

    private static func add(_ command: Subcommand, to page: inout ManualPage) {
        page.item(command.name, command.arguments, command.summary)
        if !command.details.isEmpty { page.paragraphs(command.details) }
        guard !command.options.isEmpty else { return }
        page.paragraphs("Options:")
        page.beginList(isCompact: true)
        for option in command.options {
            let summary = command.summaries[option] ?? option.summary
            page.item(command.usage(of: option), "", sentence(summary))
        }
        page.endList()
    }

    /// A summary as a sentence.
    private static func sentence(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst() + "."
    }

    private static let environment = [
        ("WORKERD_SOCKET", "The path of the daemon's socket, unless --socket or --tcp is given."),
        (
            "XDG_RUNTIME_DIR, HOME",
            "Where a socket is looked for if there is none in /run/workerd: "
                + "$XDG_RUNTIME_DIR/workerd and $HOME/.workerd/run."
        ),
        ("NO_COLOR", "If it is set and not empty, texts have no colours."),
        ("TZ", "The time zone of --at; else /etc/localtime."),
    ]

    private static let examples = """
        workerctl perform images thumbnail --file cat.jpg --wait >small.jpg
        workerctl perform mail send --each letters/*.txt --wait
        workerctl perform ledger book 42 --at 'tomorrow 8:00' --retry 3
        workerctl wait 17 18 --fail-fast --timeout 5m
        workerctl jobs --state failed --failures
        workerctl top
        """
}
