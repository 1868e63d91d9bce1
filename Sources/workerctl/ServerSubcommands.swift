// Commands about the daemon as a whole, and help.

internal import Kernel
internal import WorkerClient

enum ServerSubcommands {
    static var all: [Subcommand] {
        [
            Subcommand(
                name: "info", arguments: "[SECTION]", summary: "The daemon in figures.",
                details:
                    "Sections: server, clients, memory, stats, jobs, schedules, backups, threads, "
                    + "loop.",
                wordCount: 0...1, run: info),
            Subcommand(
                name: "backup", arguments: "NAME",
                summary: "Copies the file of jobs while it is served, and prints the copy's path.",
                details: """
                    The copy lies in the daemon's directory of backups: backups beside its store, or
                    what its configuration says. It is on the disk when the path is printed.
                    """, wordCount: 1...1, options: [.replace], run: backup),
            Subcommand(
                name: "reload", arguments: "",
                summary: "Has the daemon read its configuration again, and prints what changes.",
                details: """
                    All changes are applied when it returns. A file with a fault changes nothing,
                    nor does a setting that needs a restart.
                    """, wordCount: 0...0, options: [.dryRun], run: reload),
            Subcommand(
                name: "ping", arguments: "", summary: "Asks whether the daemon answers.",
                wordCount: 0...0, run: ping),
            DoctorSubcommand.subcommand,
            Subcommand(
                name: "shutdown", arguments: "",
                summary: "Ends the daemon, and waits until it is down.",
                details: """
                    Without an option the jobs that run may finish, within the configured grace
                    period, and what waits is abandoned.
                    """, wordCount: 0...0, options: [.drain, .now], run: shutdown),
            ManualSubcommand.subcommand,
            Subcommand(
                name: "help", arguments: "[COMMAND]", summary: "Tells what a command does.",
                wordCount: 0...1, run: help),
        ] + CompletionSubcommand.all
    }

    private static func info(_ invocation: Invocation) throws(Failure) {
        let section = invocation.words.first?.text
        let text = try invocation.withDaemon("can't get the daemon's figures") {
            (client) throws(WorkerClientError) in try client.info(section)
        }
        let lines = text.split(whereSeparator: \.isNewline).map(String.init)
        guard !lines.isEmpty else {
            throw Failure(
                what: "can't get the daemon's figures",
                reason: "there is no section '\(section ?? "")'",
                advice: "\(invocation.program) info", status: .refused)
        }
        if invocation.isJSON { return try Output.write(JSON(informationLines: lines)) }
        let style = invocation.style
        for (index, line) in lines.enumerated() {
            let isHeading = line.hasPrefix("# ")
            let shown = Terminal.printable(line)
            try Output.write(
                isHeading ? (index > 0 ? "\n" : "") + style.heading(shown) + "\n" : shown + "\n")
        }
    }

    private static func backup(_ invocation: Invocation) throws(Failure) {
        let name = invocation.word(0)
        let path: String
        do throws(Failure) {
            path = try invocation.withDaemon("can't make the backup '\(name)'") {
                (client) throws(WorkerClientError) in
                try client.backup(name, replaces: invocation.has(.replace))
            }
        } catch {
            // The daemon names the option of its own command.
            throw error.saying("REPLACE", as: Option.replace.rawValue)
        }
        try invocation.isJSON
            ? Output.write(.object([("backup", .string(path))]))
            : Output.write(Terminal.printable(path) + "\n")
    }

    private static func reload(_ invocation: Invocation) throws(Failure) {
        let changes = try invocation.withDaemon("can't reload the configuration") {
            (client) throws(WorkerClientError) in
            try client.reload(isDry: invocation.has(.dryRun))
        }
        if invocation.isJSON {
            return try Output.write(.object([("changes", .array(changes.map { .string($0) }))]))
        }
        let lines = changes.isEmpty ? ["nothing has changed"] : changes
        for line in lines { try Output.write(Terminal.printable(line) + "\n") }
    }

    private static func ping(_ invocation: Invocation) throws(Failure) {
        let clock = SystemClock()
        let time = try invocation.withDaemon("no answer to ping") {
            (client) throws(WorkerClientError) -> Duration in
            let start = clock.now()
            try client.ping()
            return start.duration(to: clock.now())
        }
        let microseconds = Int(time.nanosecondsClamped / 1_000)
        try invocation.isJSON
            ? Output.write(
                .object([("ping", .string("PONG")), ("microseconds", .integer(microseconds))]))
            : Output.write("PONG (\(microseconds) µs)\n")
    }

    private static func shutdown(_ invocation: Invocation) throws(Failure) {
        if invocation.has(.drain) && invocation.has(.now) {
            throw .usage("--drain and --now: one of them", try: "workerctl help shutdown")
        }
        let manner: ShutdownManner =
            invocation.has(.drain) ? .drain : invocation.has(.now) ? .now : .finishRunning
        let address = try invocation.withDaemon("can't shut the daemon down") {
            (client) throws(WorkerClientError) -> WorkerAddress in
            try client.shutdown(manner)
            return client.address
        }
        try invocation.isJSON
            ? Output.write(.object([("down", .string(address.description))]))
            : Output.write("workerd at \(address) is down\n")
    }

    private static func help(_ invocation: Invocation) throws(Failure) {
        guard let name = invocation.words.first?.text else {
            return try Output.write(Help.overview)
        }
        try Output.write(Help.text(of: try SubcommandTable.command(named: name)))
    }
}
