// `workerctl wait`: which jobs it waits for, what it prints, and its exit status.

import Support
import Testing
import WorkerClient

@Suite(.timeLimit(.minutes(2)))
struct `workerctl wait` {
    /// A daemon with job 1 done, 2 failed, 3 cancelled, and 4 that runs for an hour.
    private func daemon() throws -> TestDaemon {
        let daemon = try TestDaemon()
        _ = try daemon.workerctl("perform", "images", "echo", "--wait")
        _ = try daemon.workerctl("perform", "images", "fail", "no paper", "--wait")
        _ = try daemon.workerctl("perform", "images", "echo", "--delay", "2h")
        _ = try daemon.workerctl("cancel", "3")
        _ = try daemon.workerctl("perform", "images", "sleep", "3600000")
        return daemon
    }

    @Test func `for all ends with the first bad status in the order of the line`() throws {
        let daemon = try daemon()
        let good = try daemon.workerctl("wait", "1")
        #expect(good.status == 0)
        #expect(good.text == "1  done\n")
        let failed = try daemon.workerctl("wait", "1", "2", "3", "2")
        #expect(failed.status == 1)
        #expect(
            Set(failed.text.split(separator: "\n"))
                == ["1  done", "2  failed  no paper", "3  cancelled"])
        #expect(failed.errors == "")
        #expect(try daemon.workerctl("wait", "3", "2", "--all").status == 3)
        let unknown = try daemon.workerctl("wait", "999", "1")
        #expect(unknown.status == 65)
        #expect(unknown.text.contains("999  unknown  there is no job 999"))
        #expect(unknown.text.contains("1  done\n"))
    }

    @Test func `for any ends with the first job, and --fail-fast with the first bad one`() throws {
        let daemon = try daemon()
        let any = try daemon.workerctl("wait", "4", "1", "--any")
        #expect(any.status == 0)
        #expect(any.text == "1  done\n")
        let fast = try daemon.workerctl("wait", "4", "2", "--fail-fast", "--json")
        #expect(fast.status == 1)
        #expect(try fast.json()["failure"]?.text == "no paper")
        let both = try daemon.workerctl("wait", "4", "--any", "--fail-fast")
        #expect(both.status == 64)
    }

    @Test func `for a state takes jobs that are past it, but no other end`() throws {
        let daemon = try daemon()
        #expect(try daemon.workerctl("wait", "4", "1", "--state", "running").status == 0)
        #expect(try daemon.workerctl("wait", "2", "--state", "failed").status == 0)
        #expect(try daemon.workerctl("wait", "1", "--state", "failed").status == 1)
        #expect(try daemon.workerctl("wait", "3", "--state", "done").status == 3)
    }

    @Test func `for a time says which jobs are left`() throws {
        let daemon = try daemon()
        let run = try daemon.workerctl("wait", "4", "--timeout", "1ms")
        #expect(run.status == 124)
        #expect(run.errors.hasPrefix("workerctl: 1 job left after 1 ms: 4\n"), "\(run.errors)")
        #expect(run.errors.hasSuffix("wait 4\n"), "\(run.errors)")
    }

    @Test func `for more jobs than one connection may watch asks for them in turn`() throws {
        let daemon = try TestDaemon()
        let count = 2_500
        let lines = Array(String(repeating: "x\n", count: count).utf8)
        let given = try daemon.workerctl("perform", "images", "echo", "--lines", input: lines)
        #expect(given.text == (1...count).map { "\($0)\n" }.joined())
        let run = try CommandLineRun(
            ["--socket", daemon.socket, "wait"] + (1...count).map(String.init))
        #expect(run.status == 0, "\(run.errors)")
        #expect(
            Set(run.text.split(separator: "\n").map(String.init))
                == Set((1...count).map { "\($0)  done" }))
    }

    @Test func `ends when the daemon goes down first`() throws {
        let server = try FakeServer.breakingOffWatch(of: 5)
        let run = try CommandLineRun(["--socket", server.address.description, "wait", "5"])
        #expect(run.status == 69)
        #expect(run.text == "")
        #expect(run.errors.contains("can't wait for jobs: the connection ended"))
        try server.finish()
    }
}
