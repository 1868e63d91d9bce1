// The samples of comments on a daemon's handlers. They are built, and the daemon's own tests run
// such handlers.

import Glibc
import WorkerDaemon

func greet() {
    // sample: greeting-daemon
    let daemon = Daemon(socket: "greeter.sock", threads: ["greetings": 1])
    daemon.register("greet") { job in "hello, \(job.text)" }
    exit(daemon.run())
    // end
}

/// Where a real program would send.
private func send(_ bytes: [UInt8]) throws -> String { "sent \(bytes.count) bytes" }

func handlers(_ daemon: Daemon) {
    // sample: retries
    daemon.register("send", retries: .aside(5)) { job in try send(job.payload) }
    // end

    // sample: progress
    daemon.register("convert") { job in
        for page in 0..<50 {
            try job.checkCancellation()
            job.report(progress: Double(page) / 50, text: "page \(page)")
        }
        return "converted"
    }
    // end
}
