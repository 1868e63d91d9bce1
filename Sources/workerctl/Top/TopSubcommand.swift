// `workerctl top`: the screen, the keys, and a thread that asks the daemon.

internal import Kernel
internal import WorkerClient

enum TopSubcommand {
    static var subcommand: Subcommand {
        Subcommand(
            name: "top", arguments: "",
            summary: "Shows all threads on the whole terminal, each second anew.",
            details: """
                A line for each thread: its state, the job that runs and for how long, waiting jobs
                and how long the oldest has waited, attempts done and failed in a second, and its
                last seconds as a lane. The lane has # while a job runs, x where an attempt failed,
                = while jobs are held (paused), ! while the thread is stuck, and a dot while it is
                idle. If the connection ends, top says for how long, and connects again.

                Keys: q ends it; j and k (or arrows) move; p pauses the thread of the cursor, r
                resumes it; / asks for a word that the name, state or selector contains, Escape
                forgets the word.
                """, wordCount: 0...0, run: run)
    }

    private static func run(_ invocation: Invocation) throws(Failure) {
        if invocation.isJSON {
            throw .usage("top is for people: without --json", try: "workerctl threads --json")
        }
        let screen = try FullScreen()
        // Blocked before the first thread starts: threads inherit that.
        Signal.block(Top.signals)
        let link = try connect(invocation)
        let status: Failure.Status
        do throws(SystemError) {
            status = try Top(link, screen, invocation.style).run()
        } catch {
            throw Failure(what: "can't use the terminal", reason: error.reason, status: .noInput)
        }
        if status != .good { throw .told(status) }
    }

    /// How long the daemon may take for an answer.
    private static let patience = Duration.seconds(5)

    /// A client of a daemon that answers; one that can't be reached is told as by other commands.
    private static func connect(_ invocation: Invocation) throws(Failure) -> WorkerClient {
        let address = try invocation.address()
        do throws(WorkerClientError) {
            let client = try WorkerClient(
                address, options: ClientOptions(connectTimeout: patience, replyTimeout: patience))
            try client.ping()
            return client
        } catch {
            throw Failure(error, what: "can't show the threads", program: invocation.program)
        }
    }
}
