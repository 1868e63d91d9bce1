import Glibc
import WorkerDaemon

let daemon = Daemon(socket: "greeter.sock", threads: ["front-desk": 1, "kitchen": 4])

daemon.register("greet") { job in "hello, \(job.text)" }
daemon.register("cook") { job in
    try await Task.sleep(for: .milliseconds(200))
    return "\(job.text), by job \(job.id)"
}

exit(daemon.run())
