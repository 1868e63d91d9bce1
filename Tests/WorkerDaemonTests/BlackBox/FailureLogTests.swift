// Lines of the log about jobs that fail.

import RESP
import Support
import Testing

@Suite struct `The log tells of jobs that fail` {
    private static var setup: Setup {
        var setup = Setup()
        setup.threads = "images: {}, mail: { count: 2 }"
        setup.selectors =
            "bad: { program: [\"sh\", \"-c\", \"printf 'no\\\\033paper' >&2; exit 3\"] }, "
            + "slow: { program: [\"sleep\", \"60\"], timeout: \"20ms\" },"
        setup.log = "level: \"info\""
        return setup
    }

    @Test(.timeLimit(.minutes(2)))
    func `which, where and why`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "bad", "WAIT", "x").errorWord == "FAILED")
            #expect(
                daemon.log.contains(
                    "warning: job 1 (bad) failed on images: exit status 3: no paper\n"))
            #expect(
                try client.call("PERFORM", "mail/2", "slow", "WAIT", "x").errorWord == "TIMEOUT")
            #expect(
                daemon.log.contains(
                    "warning: job 2 (slow) failed on mail/2: took longer than its time limit\n"))
            _ = try client.call("PERFORM", "images", "fail", "RETRY", 1, "WAIT", "later")
            #expect(
                daemon.log.contains(
                    "info: job 3 (fail) failed on images in attempt 1, is tried again: later\n"))
            #expect(
                daemon.log.contains("warning: job 3 (fail) failed on images in attempt 2: later\n"))
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(!daemon.log.contains("job 4"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `and of very many only some`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let count = 2_000
            let one = TestClient.bytes(["PERFORM", "images", "fail", "no"])
            try client.send(Array(repeating: one, count: count).flatMap { $0 })
            for _ in 0..<count { _ = try client.reply() }
            #expect(try client.call("RESULT", .integer(count), "WAIT").errorWord == "FAILED")
            let lines = daemon.log.split(separator: "\n").filter { $0.contains("(fail) failed") }
            #expect(lines.count < count / 2)
            // Ten of a second are written, and the tenth says that more are not; a second in which
            // the machine held up the daemon has fewer.
            let isLast = lines.map { $0.contains("are left out") }
            let parts = isLast.split(separator: true, omittingEmptySubsequences: false)
            #expect(parts.count > 1)
            #expect(parts.dropLast().allSatisfy { $0.count >= 9 })
            #expect(lines.filter { $0.contains("see JOBS failed") }.count == parts.count - 1)
        }
    }
}
