// The page of the manual of `workerd`.

internal import Wording

extension DaemonCommandLine {
    /// The options, each with its value and its meaning.
    static let options: [(name: String, value: String, meaning: String)] = [
        ("--config", "FILE", "the configuration, a JSON5 file"),
        ("--check", "", "only check it; exit status 0 when it is fine"),
        ("--manual", "", "print the page of the manual, for man -l -"),
        ("--version", "", "print the version"),
        ("--help", "", "print this"),
    ]

    static var manual: ManualPage {
        var page = ManualPage("workerd", section: 8, summary: "named threads that do jobs")
        page.heading("Synopsis")
        page.usage(".Fl \\-config Ar file Op Fl \\-check")
        page.heading("Description")
        page.paragraphs(
            """
            workerd serves named jobs on named, long-lived threads, over the Redis protocol and \
            HTTP. Each client of Redis can talk to it, and so can workerctl(1).

            It runs in the foreground and writes its log to standard error.
            """)
        page.heading("Options")
        page.beginList()
        for option in options {
            page.item(option.name, option.value, sentence(option.meaning))
        }
        page.endList()
        page.heading("Signals")
        page.beginList()
        for (name, meaning) in signals { page.item(name, "", meaning) }
        page.endList()
        page.heading("Environment")
        page.paragraphs("systemd(1) and programs like it set these:")
        page.beginList()
        for (name, meaning) in environment { page.item(name, "", meaning) }
        page.endList()
        page.heading("Files")
        page.beginList()
        for (name, meaning) in files { page.item(name, "", meaning) }
        page.endList()
        page.heading("Exit status")
        page.beginList(isCompact: true)
        for (status, meaning) in statuses { page.item("\(status)", "", meaning) }
        page.endList()
        page.seeAlso([("workerctl", 1), ("workerd.json5", 5)])
        return page
    }

    private static func sentence(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst() + "."
    }

    private static let signals = [
        (
            "SIGTERM, SIGINT",
            "Go down: running jobs may end within the grace period, and no more begin. A second "
                + "one ends workerd at once."
        ),
        ("SIGUSR1", "Write the run loop of each thread to the log."),
    ]

    private static let environment = [
        ("NOTIFY_SOCKET", "Where workerd tells that it serves, or goes down."),
        (
            "WATCHDOG_USEC",
            "In half of this time, workerd tells that it is alive, as long as its threads main and "
                + "io and that of its store answer."
        ),
        (
            "LISTEN_FDS, LISTEN_FDNAMES, LISTEN_PID",
            "Listening sockets that were opened for it. Each is a door: that of its name (unix, "
                + "tcp, http.unix, http.tcp), else that of its address."
        ),
        ("STATE_DIRECTORY", "Where the file of jobs lies unless the configuration says it."),
        ("JOURNAL_STREAM", "If standard error is this stream, lines have journald's levels."),
    ]

    private static let files = [
        ("/etc/workerd/workerd.json5", "The configuration of the service."),
        ("/run/workerd/workerd.sock", "The socket of the service."),
        ("/var/lib/workerd/jobs.sqlite", "The jobs of the service."),
    ]

    private static let statuses = [
        (0, "Orderly end."),
        (64, "Wrong arguments."),
        (69, "A door or the store is in use, or the disk is full."),
        (71, "The system refuses threads, memory or descriptors."),
        (75, "A standby of the database was promoted: the next start loads all jobs anew."),
        (78, "The configuration, the password file or the store's file is wrong."),
        (130, "A second SIGINT."),
        (143, "A second SIGTERM."),
    ]
}
