// A daemon whose jobs write down that they began: a line each, `thread id attempt`, in the file
// that the environment names. A line is one write(2), which a kill of the process does not undo.

import Glibc
import WorkerDaemon
import WorkerThreads

guard CommandLine.arguments.count == 3, let path = getenv("LEDGER") else { exit(64) }
let ledger = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
guard ledger >= 0 else { exit(73) }

do {
    let daemon = try Daemon(configurationFile: CommandLine.arguments[2])
    daemon.register("note") { job in
        let line = Array("\(WorkerThread.currentName ?? "?") \(job.id) \(job.attempt)\n".utf8)
        guard write(ledger, line, line.count) == line.count else { throw JobFailure("no write") }
        // A few take a while, so that some run whenever the process is killed.
        if job.id % 16 == 0 { usleep(2_000) }
        return ""
    }
    daemon.register("stumble") { job in
        let line = Array("\(WorkerThread.currentName ?? "?") \(job.id) \(job.attempt)\n".utf8)
        guard write(ledger, line, line.count) == line.count else { throw JobFailure("no write") }
        if job.attempt == 1 { throw JobFailure("stumbled") }
        return ""
    }
    exit(daemon.run())
} catch {
    print(error)
    exit(78)
}
