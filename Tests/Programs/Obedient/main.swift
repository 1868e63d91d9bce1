// A daemon whose handlers do what a test tells them, line by line, through a fifo; the payload
// names it. A handler that reads the next line ignores all else: no cancel, no time limit.

import Glibc
import WorkerDaemon

/// The lines of a fifo; its end is the end of the test.
func forEachLine(of path: String, _ body: (String) throws -> Bool) throws {
    guard let fifo = fopen(path, "r") else { throw JobFailure("no fifo \(path)") }
    defer { fclose(fifo) }
    while let line = readLine(from: fifo) {
        if try !body(line) { return }
    }
}

func readLine(from file: UnsafeMutablePointer<FILE>) -> String? {
    var bytes: [UInt8] = []
    while true {
        let byte = getc(file)
        if byte == EOF { return nil }
        if byte == 10 { return String(decoding: bytes, as: UTF8.self) }
        bytes.append(UInt8(byte))
    }
}

/// Does what the lines say.
func obey(_ job: JobContext) throws -> String {
    var result = "end"
    try forEachLine(of: job.text) { line in
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        switch words.first {
        case "progress": job.report(progress: Double(words[1]))
        case "text": job.report(text: words[1])
        case "burst":
            let count = Int(words[1]) ?? 0
            for step in 1...count { job.report(progress: Double(step) / Double(count)) }
        case "check": try job.checkCancellation()
        case "fail": throw JobFailure(words[1])
        case "return":
            result = words[1]
            return false
        default: throw JobFailure("what is \(line)?")
        }
        return true
    }
    return result
}

/// Starts a thread as any program may that knows nothing of the daemon's signals, and waits until
/// it runs: before, it holds back all signals.
func startIdleThread() {
    var ends: [CInt] = [0, 0]
    pipe(&ends)
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { end in
            write(CInt(Int(bitPattern: end)), "!", 1)
            while true { pause() }
        }, UnsafeMutableRawPointer(bitPattern: Int(ends[1])))
    var byte: UInt8 = 0
    read(ends[0], &byte, 1)
    for end in ends { close(end) }
}

guard CommandLine.arguments.count == 3 else { exit(64) }
if getenv("OBEDIENT_EARLY_THREAD") != nil { startIdleThread() }
do {
    let daemon = try Daemon(configurationFile: CommandLine.arguments[2])
    daemon.register("obey") { job in try obey(job) }
    // The same as a task, which blocks its thread as no task should.
    daemon.register("obey-as-task") { job async throws in try obey(job) }
    // This registration compiles only if a handler need not return anything.
    daemon.register("log") { job in print(job.text) }
    daemon.register("log-as-task") { job in
        await Task.yield()
        print(job.text)
    }
    daemon.register("listen") { job throws -> String in
        while true {
            try job.checkCancellation()
            sched_yield()
        }
    }
    daemon.register("listen-as-task") { job async throws -> String in
        try await Task.sleep(for: .seconds(3_600))
        return "slept"
    }
    exit(daemon.run())
} catch {
    print(error)
    exit(78)
}
