// Descriptions by clients and `workerctl` of jobs and threads that wait behind a job that is tried
// again.

import Support
import Testing
import WorkerClient

@Suite(.timeLimit(.minutes(2)))
struct `A hold-up` {
    private static let until = 1_700_000_000_000
    private static let held = "+held-by\r\n:7\r\n+held-until\r\n"
    private static let thread =
        "+name\r\n+one\r\n+state\r\n+held\r\n+waiting\r\n:1\r\n+done\r\n:0\r\n+failed\r\n:1\r\n"
    private static let job =
        "+id\r\n:8\r\n+thread\r\n+one\r\n+selector\r\n+s\r\n+state\r\n+waiting\r\n+priority\r\n"
        + "+low\r\n+attempt\r\n:0\r\n+payload-bytes\r\n:0\r\n+accepted-at\r\n:1\r\n"

    private func server(_ command: [String], _ reply: String) throws -> FakeServer {
        try FakeServer({ session in
            try session.greet()
            #expect(try session.command() == command)
            try session.send(reply)
            try session.expectEnd()
        })
    }

    @Test func `is in the descriptions of a thread, a pool and a job`() throws {
        let until = ":\(Self.until)\r\n"
        let thread = try server(["THREADS"], "*1\r\n%7\r\n\(Self.thread)\(Self.held)\(until)")
        var client = try WorkerClient(thread.address)
        let described = try client.threads().first
        #expect(described?.holdUp?.jobID == 7)
        #expect(described?.holdUp?.until == Int64(Self.until))
        client.close()
        try thread.finish()
        let pool = try server(
            ["THREAD", "mail"],
            "%7\r\n+name\r\n+mail\r\n+members\r\n*1\r\n+mail/1\r\n+waiting\r\n:1\r\n+running\r\n"
                + ":0\r\n+max-queued\r\n:9\r\n\(Self.held)_\r\n")
        client = try WorkerClient(pool.address)
        guard case .pool(let mail) = try client.thread("mail") else {
            Issue.record("no pool")
            return
        }
        #expect(mail.holdUp?.jobID == 7)
        #expect(mail.holdUp?.until == nil)
        client.close()
        try pool.finish()
        let job = try server(["JOB", "8"], "%10\r\n\(Self.job)\(Self.held)\(until)")
        client = try WorkerClient(job.address)
        #expect(try client.job(8).holdUp?.jobID == 7)
        client.close()
        try job.finish()
    }

    @Test func `is a column of workerctl threads, only when there is one`() throws {
        let until = ":\(Self.until)\r\n"
        let held = try server(["THREADS"], "*1\r\n%7\r\n\(Self.thread)\(Self.held)\(until)")
        var run = try CommandLineRun(["--socket", held.address.description, "threads"])
        let lines = run.text.split(separator: "\n")
        #expect(lines.first?.hasSuffix("FOR  HELD BY") == true, "\(run.text)")
        #expect(lines.last?.contains("job 7, tried again 2023-11-14") == true, "\(run.text)")
        try held.finish()
        let free = try server(["THREADS"], "*1\r\n%5\r\n\(Self.thread)")
        run = try CommandLineRun(["--socket", free.address.description, "threads"])
        #expect(!run.text.contains("HELD"))
        try free.finish()
    }

    @Test func `is a line of workerctl job, and an entry of its document`() throws {
        let shown = try server(["JOB", "8"], "%10\r\n\(Self.job)\(Self.held)_\r\n")
        var run = try CommandLineRun(["--socket", shown.address.description, "job", "8"])
        #expect(run.text.contains("held by   job 7, whose turn it is\n"), "\(run.text)")
        try shown.finish()
        let document = try server(["JOB", "8"], "%10\r\n\(Self.job)\(Self.held):5\r\n")
        run = try CommandLineRun(
            ["--socket", document.address.description, "--json", "job", "8"])
        #expect(run.text.contains(#""held_by":7"#), "\(run.text)")
        #expect(run.text.contains(#""held_until":5"#), "\(run.text)")
        try document.finish()
    }
}
