// Programs that hang, flood, fork or will not die: their job ends, and nothing of them is left.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Unruly programs` {
    /// A selector `it` that runs a shell script in the test's directory.
    private static func script(_ script: String, _ more: String = "") -> Setup {
        Setup(
            selectors: """
                it: { program: ["sh", "-c", '\(script)'], directory: "$DIR", \(more) }
                """)
    }

    @Test(.timeLimit(.minutes(2)))
    func `one that hangs is ended at its time limit`() throws {
        let setup = Self.script("exec sleep 3600", "timeout: \"300ms\"")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let reply = try client.call("PERFORM", "images", "it", "WAIT", "")
            #expect(reply == .error("TIMEOUT job 1 took longer than its time limit"))
            #expect(try children(of: daemon.processID) == [])
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(try client.figure("running_children") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `one that ends in time is done, also if the daemon stood still until its limit`() throws {
        let script = "echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; echo ok"
        // A busy machine may stop the daemon too late: then it is tried with a later limit.
        for seconds in [1, 4, 16] {
            let scratch = try Scratch()
            let daemon = try TestDaemon(Self.script(script), in: scratch)
            defer { daemon.kill() }
            let client = try daemon.connect()
            let end = SystemClock().now().advanced(by: .seconds(seconds))
            try client.send(
                "PERFORM", "images", "it", "TIMEOUT", .integer(seconds * 1_000), "WAIT", "")
            let program = try scratch.processID(in: "pid")
            try daemon.send(.stop)
            let isInTime = SystemClock().now() < end
            try scratch.write("", to: "go")
            try eventually("the program has ended") { !isRunning(program) }
            try eventually("its limit is over") {
                SystemClock().now() > end.advanced(by: .milliseconds(100))
            }
            try daemon.send(.continue)
            let reply = try client.reply()
            guard isInTime else { continue }
            #expect(reply.text == "ok\n")
            return
        }
        Issue.record("the machine is too busy")
    }

    @Test(.timeLimit(.minutes(2)))
    func `a job's own time limit goes before the selector's`() throws {
        try withDaemon(Self.script("exec sleep 3600", "timeout: \"none\"")) { daemon in
            let client = try daemon.connect()
            let reply = try client.call("PERFORM", "images", "it", "TIMEOUT", 20, "WAIT", "")
            #expect(reply.errorWord == "TIMEOUT")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `one that ignores SIGTERM is killed after its grace`() throws {
        let setup = Self.script(
            "trap \"\" TERM; echo $$ > pid; exec sleep 3600", "graceAfterTerm: \"50ms\"")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            // Cancelled when it ignores the signal for sure: a time limit may be over before.
            try client.send("PERFORM", "images", "it", "WAIT", "")
            let child = try daemon.scratch.processID(in: "pid")
            #expect(try daemon.connect().call("CANCEL", 1).text == "requested")
            #expect(try client.reply().errorWord == "CANCELLED")
            #expect(!isRunning(child))
            let reply = try client.call("PERFORM", "images", "it", "TIMEOUT", 300, "WAIT", "")
            #expect(reply.errorWord == "TIMEOUT")
            #expect(try children(of: daemon.processID) == [])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `one that cleans up on SIGTERM has the time for it`() throws {
        let setup = Self.script(
            "trap \"echo tidy > tidied; exit 0\" TERM; echo $$ > pid; sleep 3600 & wait",
            "graceAfterTerm: \"100s\"")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            try client.send("PERFORM", "images", "it", "WAIT", "")
            _ = try daemon.scratch.processID(in: "pid")
            #expect(try daemon.connect().call("CANCEL", 1).text == "requested")
            #expect(try client.reply() == .error("CANCELLED job 1 was cancelled"))
            #expect(daemon.scratch.read("tidied") == "tidy\n")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a cancel ends it and what it has started`() throws {
        let setup = Self.script("sleep 3600 & echo $! > grandchild; echo $$ > pid; wait")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            try client.send("PERFORM", "images", "it", "WAIT", "")
            let child = try daemon.scratch.processID(in: "pid")
            let grandchild = try daemon.scratch.processID(in: "grandchild")
            #expect(try daemon.connect().call("CANCEL", 1).text == "requested")
            #expect(try client.reply().errorWord == "CANCELLED")
            #expect(!isRunning(child))
            try eventually("the grandchild is gone") { !isRunning(grandchild) }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["yes", "cat /dev/zero"])
    func `one that floods its output is stopped at the limit`(flood: String) throws {
        let setup = Self.script("echo $$ > pid; exec \(flood)", "maxOutput: \"64KB\"")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let before = try residentBytes(of: daemon.processID)
            let reply = try client.call("PERFORM", "images", "it", "WAIT", "")
            #expect(
                reply == .error("FAILED job 1: output is larger than 65536 bytes, the limit"))
            #expect(!isRunning(try daemon.scratch.processID(in: "pid")))
            #expect(try residentBytes(of: daemon.processID) - before < 16 << 20)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `output of exactly the limit is a result`() throws {
        let setup = Self.script("cat", "maxOutput: \"64KB\"")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            var payload = [UInt8](repeating: 1, count: 64 << 10)
            let whole = try client.call("PERFORM", "images", "it", "WAIT", .bytes(payload))
            #expect(whole.bytes == payload)
            payload.append(2)
            let more = try client.call("PERFORM", "images", "it", "WAIT", .bytes(payload))
            #expect(more.errorWord == "FAILED")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `errors without end cost nothing but their last lines`() throws {
        let setup = Self.script("yes complaint | head -c 30000000 >&2; echo the end >&2; exit 1")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let before = try residentBytes(of: daemon.processID)
            let reply = try client.call("PERFORM", "images", "it", "WAIT", "")
            #expect(reply.errorWord == "FAILED")
            #expect(reply.errorMessage?.hasSuffix("complaint / the end") == true, "\(reply)")
            #expect(reply.errorMessage?.utf8.count ?? .max < 4_096)
            #expect(try residentBytes(of: daemon.processID) - before < 16 << 20)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `one that leaves a grandchild with its pipes is done when it is done`() throws {
        let setup = Self.script("sleep 3600 & echo $! > grandchild; echo result")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "it", "WAIT", "").text == "result\n")
            let grandchild = try daemon.scratch.processID(in: "grandchild")
            try eventually("the grandchild is gone") { !isRunning(grandchild) }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `one that leaves a grandchild outside its group is not waited for either`() throws {
        let setup = Self.script(
            "setsid sh -c \"echo \\\\$\\\\$ > away; exec sleep 3600\" & "
                + "while [ ! -s away ]; do sleep 0.01; done; echo result")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "it", "WAIT", "").text == "result\n")
            let grandchild = try daemon.scratch.processID(in: "away")
            #expect(isRunning(grandchild))
            try Signal.kill.send(toProcess: grandchild)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `one that wants more memory than it may have fails, from its first moment on`() throws {
        let setup = Setup(
            selectors: """
                it: {
                    program: ["dd", "if=/dev/zero", "of=/dev/null", "bs=512M", "count=1"],
                    maxMemory: "64MB", memoryLimit: "addressSpace",
                },
                words: {
                    program: ["printf", "%s|", "a b", "$0", "'"],
                    maxMemory: "64MB", memoryLimit: "addressSpace",
                },
                """)
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            for _ in 0..<5 {
                let reply = try client.call("PERFORM", "images", "it", "WAIT", "")
                #expect(reply.errorWord == "FAILED")
                #expect(reply.errorMessage?.contains("memory exhausted") == true, "\(reply)")
            }
            #expect(try client.call("PERFORM", "images", "words", "WAIT", "").text == "a b|$0|'|")
        }
    }
}
