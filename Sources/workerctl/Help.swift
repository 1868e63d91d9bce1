// The texts of `help`.

enum Help {
    static var overview: String {
        var text = """
            usage: workerctl [--socket PATH | --tcp HOST:PORT [--password-file FILE]] [--json]
                             COMMAND ...

            Shows and steers workerd. 'workerctl help COMMAND' tells more about one.


            """
        let width = SubcommandTable.all.reduce(0) { max($0, $1.name.count) }
        for command in SubcommandTable.all {
            text += "  " + padded(command.name, to: width + 2) + command.summary + "\n"
        }
        text += "\noptions of every command, in front of it or behind it:\n"
        text += options(Option.common)
        text += """

            exit status: 0 done; 1 the daemon said no, or the job failed; 64 the command line is
            wrong; 66 a file can't be read; 69 no connection; 74 the output can't be written;
            75 try again later (BUSY, SHUTTINGDOWN); 124 TIMEOUT

            """
        return text
    }

    static func text(of command: Subcommand) -> String {
        var text = "usage: workerctl \(command.usage)\n\n\(command.summary)\n"
        if !command.details.isEmpty { text += "\n\(command.details)\n" }
        if !command.options.isEmpty { text += "\noptions:\n\(options(command.options))" }
        return text
    }

    private static func options(_ options: [Option]) -> String {
        let width = options.reduce(0) { max($0, $1.usage.count) }
        return options.map { "  " + padded($0.usage, to: width + 2) + $0.summary + "\n" }.joined()
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
