// Commands about jobs that have failed.

internal import Wording
internal import WorkerClient

enum FailureSubcommands {
    static var all: [Subcommand] {
        [
            Subcommand(
                name: "retry", arguments: "[ID]",
                summary: "Lets a job that has failed run again, or with --all those of a selector.",
                wordCount: 0...1, options: [.all], run: retry),
            Subcommand(
                name: "drop", arguments: "[ID]",
                summary: "Forgets a job that has failed, or with --all those of a selector.",
                wordCount: 0...1, options: [.all], run: drop),
        ]
    }

    private static func retry(_ invocation: Invocation) throws(Failure) {
        let count: Int
        if let selector = try selector(invocation) {
            count = try invocation.withDaemon("can't retry the jobs of '\(selector)'") {
                (client) throws(WorkerClientError) in try client.retryAll(ofSelector: selector)
            }
        } else {
            let id = try invocation.id(0)
            try invocation.withDaemon("can't retry job \(id)") {
                (client) throws(WorkerClientError) in try client.retry(id)
            }
            count = 1
        }
        try write(count, "retried", invocation)
    }

    private static func drop(_ invocation: Invocation) throws(Failure) {
        let count: Int
        if let selector = try selector(invocation) {
            count = try invocation.withDaemon("can't drop the jobs of '\(selector)'") {
                (client) throws(WorkerClientError) in try client.dropAll(ofSelector: selector)
            }
        } else {
            let id = try invocation.id(0)
            try invocation.withDaemon("can't drop job \(id)") {
                (client) throws(WorkerClientError) in try client.drop(id)
            }
            count = 1
        }
        try write(count, "dropped", invocation)
    }

    /// The selector of --all; nil if a job is named instead.
    private static func selector(_ invocation: Invocation) throws(Failure) -> String? {
        let selector = invocation.text(.all)
        guard (selector == nil) == (invocation.words.count == 1) else {
            throw .usage(
                "a job's number, or --all and a selector", try: "workerctl jobs --state failed")
        }
        return selector
    }

    private static func write(
        _ count: Int, _ what: String, _ invocation: Invocation
    ) throws(Failure) {
        try invocation.isJSON
            ? Output.write(.object([(what, .integer(count))]))
            : Output.write("\(what) \(counted(count, "job"))\n")
    }
}
