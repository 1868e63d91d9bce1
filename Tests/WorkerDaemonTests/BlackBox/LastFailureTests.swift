// The reason shown of a job that has failed and is tried again: while it waits and while it runs.

import Kernel
import RESP
import Support
import Testing

@Suite struct `The reason of a failed attempt` {
    /// With a selector that fails for a reason which says the attempt, and one that waits in its
    /// second.
    private static func setup(_ store: Setup) -> Setup {
        var setup = store
        setup.selectors = """
            tries: { program: ["sh", "-c", "echo no $WORKERD_ATTEMPT >&2; exit 1"], retries: 100 },
            holds: {
                program: ["sh", "-c", "[ $WORKERD_ATTEMPT = 1 ] && exit 7; sleep 1000"], retries: 1,
            },
            """
        return setup
    }

    @Test(.timeLimit(.minutes(2)), arguments: [Setup(), Setup.durable])
    func `is shown while it is tried again`(store: Setup) throws {
        try withDaemon(Self.setup(store)) { daemon in
            let client = try daemon.connect()
            #expect(try client.perform("images", "tries", "x") == 1)
            try client.waitUntil(1, is: "delayed")
            // Between two attempts, however late this is, and until it is over.
            try client.pauseAndWait("images")
            let job = try client.call("JOB", 1)
            let attempt = try #require(job["attempt"]?.integer)
            #expect(job["failure"] == .null)
            #expect(job["last-failure"]?.text?.contains("no \(attempt)") == true, "\(job)")
            let listed = try client.call("JOBS", "images").elements?.first
            #expect(listed?["last-failure"]?.text?.contains("no ") == true)
            let waited = try client.call("RESULT", 1, "WAIT", 1)
            #expect(waited.errorWord == "TIMEOUT")
            #expect(waited.errorMessage?.contains("its latest attempt failed: ") == true)
            // One that has not failed has nothing of the kind.
            let other = try client.perform("images", "echo", "DELAY", 3_600_000, "x")
            #expect(try client.call("JOB", .integer(other))["last-failure"] == nil)
            #expect(
                try client.call("RESULT", .integer(other), "WAIT", 1).errorMessage
                    == "job 2 has not ended within 1 ms; RESULT 2 WAIT goes on waiting")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is shown while the next attempt runs, and pushed while it waits`() throws {
        try withDaemon(Self.setup(Setup())) { daemon in
            let client = try daemon.connect()
            let watcher = try daemon.connect()
            _ = try watcher.call("HELLO", 3)
            // It begins when it is watched.
            _ = try client.call("PAUSE", "images")
            #expect(try client.perform("images", "holds", "x") == 1)
            #expect(try watcher.call("OBSERVE", 1) == .integer(1))
            _ = try client.call("RESUME", "images")
            var pushed: RESPValue?
            while pushed == nil {
                guard case .push(let parts) = try watcher.reply() else { continue }
                if parts[2].text == "delayed" { pushed = parts[3] }
            }
            #expect(pushed?["last-failure"]?.text?.contains("7") == true)
            #expect(pushed?["failure"] == nil)
            try client.waitUntil(1, is: "running")
            #expect(try client.job(1, "attempt") == .integer(2))
            #expect(try client.job(1, "last-failure").text?.contains("7") == true)
            _ = try client.call("CANCEL", 1)
            try client.waitUntil(1, is: "cancelled")
            #expect(try client.call("JOB", 1)["last-failure"] == nil)
        }
    }
}
