// The texts of `help`.

enum Help {
    static var overview: String {
        var text = """
            usage: workerctl [--socket PATH | --tcp HOST:PORT [--password-file FILE]] [--json]
                             COMMAND ...

            Shows and steers workerd. 'workerctl help COMMAND' tells more about one.


            """
        let width = SubcommandTable.shown.reduce(0) { max($0, $1.name.count) }
        for command in SubcommandTable.shown {
            text += "  " + padded(command.name, to: width + 2) + command.summary + "\n"
        }
        text += "\noptions of every command, in front of it or behind it:\n"
        text += options(Option.common)
        text += "\nexit status:\n"
        for status in Failure.Status.allCases {
            text += "  " + padded("\(status.rawValue)", to: 5) + status.meaning + "\n"
        }
        return text
    }

    static func text(of command: Subcommand) -> String {
        var text = "usage: workerctl \(command.usage)\n\n\(command.summary)\n"
        if !command.details.isEmpty { text += "\n\(command.details)\n" }
        if !command.options.isEmpty {
            text += "\noptions:\n\(options(command.options, of: command))"
        }
        return text
    }

    private static func options(_ options: [Option], of command: Subcommand? = nil) -> String {
        let usages = options.map { command?.usage(of: $0) ?? $0.usage }
        let width = usages.reduce(0) { max($0, $1.count) }
        return zip(options, usages).map { option, usage in
            let summary = command?.summaries[option] ?? option.summary
            return "  " + padded(usage, to: width + 2) + summary + "\n"
        }.joined()
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
