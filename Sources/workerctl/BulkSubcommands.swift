// Commands about many jobs at once.

internal import Kernel
internal import Wording
internal import WorkerClient

enum BulkSubcommands {
    private static let filters: [Option] = [
        .thread, .selector, .key, .older, .newer, .reason,
    ]

    /// The meaning of `--key` where it chooses jobs.
    static let keyFilter = "only jobs of this key"

    static var all: [Subcommand] {
        [
            Subcommand(
                name: "bulk", arguments: "cancel|retry|drop",
                summary: "Cancels, retries or drops all jobs that meet the conditions.",
                details: """
                    Counts the jobs first, and on a terminal asks; elsewhere it wants --yes, or
                    --dry-run, which only counts. Later jobs are not meant. Without --state,
                    cancel is for jobs that have not begun; retry and drop are for failed ones.
                    """,
                wordCount: 1...1, options: filters + [.state, .limit, .dryRun, .yes],
                summaries: [.key: keyFilter, .limit: "at most so many, all if not given"],
                run: bulk),
            Subcommand(
                name: "failures", arguments: "",
                summary: "The failed jobs, grouped by selector and reason.",
                wordCount: 0...0, options: filters, summaries: [.key: keyFilter], run: failures),
        ]
    }

    /// How long one look at a run takes at most, so that its progress is shown.
    private static let lookPatience = Duration.milliseconds(500)

    private static func bulk(_ invocation: Invocation) throws(Failure) {
        let word = invocation.word(0)
        guard let operation = BulkOperation(rawValue: word) else {
            throw .usage(
                "bulk is for cancel, retry and drop, not '\(word)'",
                try: "workerctl bulk retry --selector NAME --dry-run")
        }
        let (thread, state) = (invocation.text(.thread), try invocation.jobState())
        let conditions = try invocation.conditions()
        let limit = try invocation.count(.limit, 0...Int.max)
        let what = "can't \(word) the jobs"
        let counted = try invocation.withDaemon(what) { (client) throws(WorkerClientError) in
            try client.count(of: operation, thread: thread, state: state, where: conditions)
        }
        let count = min(counted.count, limit ?? .max)
        if invocation.has(.dryRun) {
            return try invocation.isJSON
                ? Output.write(.object([("count", .integer(count))]))
                : Output.write("would \(word) \(Wording.counted(count, "job"))\n")
        }
        guard try confirm("\(word) \(Wording.counted(count, "job"))?", invocation) else { return }
        let bar = ProgressLine()
        let run = try invocation.withDaemon(what) { (client) throws(WorkerClientError) in
            var run = try client.begin(
                operation, thread: thread, state: state, where: conditions, upTo: counted.upTo,
                limit: limit)
            while run.isRunning {
                bar.show("\(run.done + run.changed) of \(count)")
                run = try client.bulkRun(run.id, waiting: lookPatience)
            }
            return run
        }
        bar.end()
        try write(run, counted: count, what, invocation)
    }

    /// Asks a person; a program has to say `--yes`.
    private static func confirm(
        _ question: String, _ invocation: Invocation
    ) throws(Failure) -> Bool {
        if invocation.has(.yes) { return true }
        guard StandardStream.input.isTerminal, StandardStream.error.isTerminal else {
            throw .usage("\(question) Say so", try: "--yes, or --dry-run to see how many")
        }
        Terminal.say("\(question) [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        return answer == "y" || answer == "yes"
    }

    private static func write(
        _ run: BulkDescription, counted count: Int, _ what: String, _ invocation: Invocation
    ) throws(Failure) {
        // Jobs that were counted and that the run has not come to had changed before.
        let changed = max(run.changed, run.isStopped || run.error != nil ? 0 : count - run.done)
        if invocation.isJSON {
            try Output.write(
                .object([
                    ("id", .integer(run.id)), ("done", .integer(run.done)),
                    ("changed", .integer(changed)), ("stopped", .boolean(run.isStopped)),
                    ("error", run.error.map(JSON.string) ?? .null),
                ]))
        } else {
            let done = ["cancel": "cancelled", "retry": "retried", "drop": "dropped"]
            try Output.write(
                "\(done[run.action] ?? run.action) \(Wording.counted(run.done, "job"))"
                    + (changed > 0 ? "; \(changed) had changed meanwhile" : "")
                    + (run.isStopped ? "; stopped by another client" : "") + "\n")
        }
        if let error = run.error {
            throw Failure(what: what, reason: error, status: Failure.Status.tryLater)
        }
    }

    private static func failures(_ invocation: Invocation) throws(Failure) {
        let thread = invocation.text(.thread)
        let conditions = try invocation.conditions()
        let groups = try invocation.withDaemon("can't list the failures") {
            (client) throws(WorkerClientError) in
            try client.failures(thread: thread, where: conditions)
        }
        if invocation.isJSON { return try Output.write(.array(groups.map(\.json))) }
        var table = Table([
            ("COUNT", .right), ("SELECTOR", .left), ("LAST", .left), ("NEWEST", .right),
            ("REASON", .left),
        ])
        for group in groups {
            table.add([
                "\(group.count)", group.selector ?? "(others)", Durations.time(group.last),
                "\(group.newest)", group.reason ?? "-",
            ])
        }
        try Output.write(table.text(invocation.style))
    }
}

/// A line on a terminal that shows how far something is; nothing elsewhere.
private final class ProgressLine {
    private let isShown = StandardStream.error.isTerminal
    private var wasShown = false

    func show(_ text: String) {
        guard isShown else { return }
        wasShown = true
        Terminal.say("\r\u{1B}[K\(text)")
    }

    func end() { if wasShown { Terminal.say("\r\u{1B}[K") } }
}
