// `workerctl completion`: a script for a shell, which asks `workerctl complete` for the words that
// may come next; so the table of commands is the one source, and the daemon knows its threads.

internal import WorkerClient

enum CompletionSubcommand {
    static var all: [Subcommand] {
        [
            Subcommand(
                name: "completion", arguments: "bash|zsh|fish",
                summary: "Prints a script with which a shell completes commands.",
                details: """
                    bash: source <(workerctl completion bash)
                    zsh: source <(workerctl completion zsh)
                    fish: workerctl completion fish | source
                    """, wordCount: 1...1
            ) { (invocation) throws(Failure) in
                guard let shell = CompletionScript(rawValue: invocation.word(0)) else {
                    throw .usage(
                        "a shell is bash, zsh or fish, not '\(invocation.word(0))'",
                        try: "workerctl completion bash")
                }
                try Output.write(shell.text)
            },
            Subcommand(
                name: "complete", arguments: "-- WORD…",
                summary: "The words that may stand in place of the last one, for shells.",
                isHidden: true, wordCount: 0...Int.max, run: complete),
        ]
    }

    /// How long a daemon may take to tell its names: a person waits.
    private static let patience = Duration.seconds(1)

    private static func complete(_ invocation: Invocation) throws(Failure) {
        let completion = LineCompletion(invocation.words.map(\.text))
        var lines = completion.words.map { "\($0.word)\t\($0.meaning)" }
        if completion.wantsFiles { lines.append(":files") }
        if let subject = completion.subject {
            lines += names(subject, completion.address).filter {
                $0.hasPrefix(completion.beginning)
            }
        }
        try Output.write(lines.map { $0 + "\n" }.joined())
    }

    /// The names that the daemon knows; none if it does not answer.
    private static func names(
        _ subject: LineCompletion.Subject, _ address: WorkerAddress?
    ) -> [String] {
        do throws(WorkerClientError) {
            let client = try WorkerClient(
                address ?? .standard(),
                options: ClientOptions(connectTimeout: patience, replyTimeout: patience))
            switch subject {
            case .threads:
                let threads = try client.threads()
                let pools = threads.compactMap { thread in
                    thread.name.split(separator: "/", maxSplits: 1).first.map(String.init)
                }
                let known = Set(threads.map(\.name))
                return Set(pools).subtracting(known).sorted().map { "\($0)\tpool" }
                    + threads.map { "\($0.name)\t\($0.state)" }
            case .selectors: return try client.selectors().map { "\($0.name)\t\($0.handler)" }
            case .schedules: return try client.schedules().map { "\($0.name)\tschedule" }
            case .jobs:
                return try client.jobs(limit: 50).map {
                    "\($0.id)\t\($0.state) \($0.selector) on \($0.thread)"
                }
            }
        } catch {
            return []
        }
    }
}
