// Commands that show threads and selectors, and steer threads.

internal import WorkerClient
internal import Wording

extension HoldUpDescription {
    /// `job 7, tried again 2026-11-24 12:00:00 UTC`.
    var text: String {
        "job \(jobID), " + (until.map { "tried again \(Durations.time($0))" } ?? "whose turn it is")
    }
}

enum ThreadSubcommands {
    static var all: [Subcommand] {
        [
            Subcommand(
                name: "threads", arguments: "", summary: "Every worker thread, and what it does.",
                wordCount: 0...0, run: threads),
            TopSubcommand.subcommand,
            Subcommand(
                name: "thread", arguments: "THREAD", summary: "One worker thread or pool.",
                details: "The members of a pool are called mail/1, mail/2 and so on.",
                wordCount: 1...1, run: thread),
            Subcommand(
                name: "selectors", arguments: "",
                summary: "Every selector, and what handles it.", wordCount: 0...0, run: selectors),
            steering(
                "pause", "paused",
                "Pauses a thread or pool: jobs wait, running ones are finished."
            ) { (client, name) throws(WorkerClientError) in try client.pause(name) },
            steering("resume", "resumed", "Resumes a thread or pool, with its waiting jobs.") {
                (client, name) throws(WorkerClientError) in try client.resume(name)
            },
            steering(
                "stop", "stopping",
                "Ends a thread or pool once its waiting jobs are done; it takes no new ones."
            ) { (client, name) throws(WorkerClientError) in try client.stop(name) },
        ]
    }

    private static func steering(
        _ name: String, _ done: String, _ summary: String,
        _ act: @escaping (WorkerClient, String) throws(WorkerClientError) -> Void
    ) -> Subcommand {
        Subcommand(
            name: name, arguments: "THREAD", summary: summary, wordCount: 1...1,
            run: { (invocation) throws(Failure) in
                let thread = invocation.word(0)
                try invocation.withDaemon("can't \(name) thread '\(thread)'") {
                    (client) throws(WorkerClientError) in try act(client, thread)
                }
                try invocation.isJSON
                    ? Output.write(.object([(done, .string(thread))]))
                    : Output.write("\(done) \(thread)\n")
            })
    }

    private static func threads(_ invocation: Invocation) throws(Failure) {
        let threads = try invocation.withDaemon("can't list the threads") {
            (client) throws(WorkerClientError) in try client.threads()
        }
        if invocation.isJSON { return try Output.write(.array(threads.map(\.json))) }
        let isHeld = threads.contains { $0.holdUp != nil }
        var table = Table(
            [
                ("THREAD", .left), ("STATE", .left), ("WAITING", .right), ("DONE", .right),
                ("FAILED", .right), ("JOB", .right), ("SELECTOR", .left), ("FOR", .right),
            ] + (isHeld ? [("HELD BY", .left)] : []))
        for thread in threads {
            table.add(
                [
                    thread.name, thread.state, "\(thread.waitingCount)", "\(thread.doneCount)",
                    "\(thread.failedCount)", thread.jobID.map { "\($0)" } ?? "-",
                    thread.selector ?? "-",
                    thread.runningMilliseconds.map { Durations.span(Int64($0)) } ?? "-",
                ] + (isHeld ? [thread.holdUp?.text ?? "-"] : []))
        }
        try Output.write(table.text(invocation.style))
    }

    private static func thread(_ invocation: Invocation) throws(Failure) {
        let name = invocation.word(0)
        let found = try invocation.withDaemon("can't show thread '\(name)'") {
            (client) throws(WorkerClientError) in try client.thread(name)
        }
        if invocation.isJSON { return try Output.write(found.json) }
        let entries: [(String, String?)] =
            switch found {
            case .thread(let thread):
                [
                    ("thread", thread.name), ("pool", thread.pool), ("state", thread.state),
                    ("job", thread.jobID.map { "\($0)" }), ("selector", thread.selector),
                    ("for", thread.runningMilliseconds.map { Durations.span(Int64($0)) }),
                    ("waiting", "\(thread.waitingCount)"), ("done", "\(thread.doneCount)"),
                    ("failed", "\(thread.failedCount)"),
                    ("max queued", thread.maxQueued.map { "\($0)" }),
                    ("held by", thread.holdUp?.text), ("waits for", thread.waitsFor),
                    ("owner", thread.owner),
                ]
            case .pool(let pool):
                [
                    ("pool", pool.name), ("members", pool.members.joined(separator: " ")),
                    ("waiting", "\(pool.waitingCount)"), ("running", "\(pool.runningCount)"),
                    ("max queued", "\(pool.maxQueued)"), ("held by", pool.holdUp?.text),
                ]
            }
        try Output.write(nameList(entries, invocation.style))
    }

    private static func selectors(_ invocation: Invocation) throws(Failure) {
        let selectors = try invocation.withDaemon("can't list the selectors") {
            (client) throws(WorkerClientError) in try client.selectors()
        }
        if invocation.isJSON { return try Output.write(.array(selectors.map(\.json))) }
        var table = Table([("SELECTOR", .left), ("HANDLER", .left)])
        for selector in selectors {
            let count = selector.orphanedCount
            let orphaned = count > 0 ? ", \(counted(count, "job")) orphaned" : ""
            table.add([selector.name, selector.handler + orphaned])
        }
        try Output.write(table.text(invocation.style))
    }
}
