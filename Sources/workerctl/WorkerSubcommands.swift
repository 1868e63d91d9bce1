// The command that shows workers in other processes.

internal import WorkerClient

enum WorkerSubcommands {
    static var all: [Subcommand] {
        [
            Subcommand(
                name: "workers", arguments: "",
                summary: "Every worker in another process, and the jobs that it holds.",
                wordCount: 0...0, run: workers)
        ]
    }

    private static func workers(_ invocation: Invocation) throws(Failure) {
        let workers = try invocation.withDaemon("can't list the workers") {
            (client) throws(WorkerClientError) in try client.workers()
        }
        if invocation.isJSON { return try Output.write(.array(workers.map(\.json))) }
        var table = Table([
            ("WORKER", .left), ("STATE", .left), ("PID", .right), ("SINCE", .left),
            ("SELECTORS", .left), ("OWNS", .left), ("JOBS", .left),
        ])
        for worker in workers {
            table.add([
                worker.name ?? worker.client.map { "client \($0)" } ?? "-",
                worker.isConnected ? "connected" : "gone",
                worker.processID.map { "\($0)" } ?? "-",
                worker.since.map(Durations.time) ?? "-", list(worker.selectors),
                list(worker.ownThreads), list(worker.jobs.map { "\($0)" }),
            ])
        }
        try Output.write(table.text(invocation.style))
    }

    private static func list(_ words: [String]) -> String {
        words.isEmpty ? "-" : words.joined(separator: " ")
    }
}
