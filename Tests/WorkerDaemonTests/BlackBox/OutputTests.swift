// OUTPUT: what the programs of jobs have written, while they run and afterwards.

import Kernel
import RESP
import Support
import Testing
import WorkerClient

@Suite struct `Output of programs` {
    /// Selectors whose programs say something on both streams.
    private static let selectors = """
        good: { program: ["sh", "-c", "echo a result; echo a warning >&2"] },
        bad: {
            program: ["sh", "-c",
                "echo $WORKERD_ATTEMPT out; echo $WORKERD_ATTEMPT err >&2; exit 3"],
        },
        held: {
            program: ["sh", "-c",
                "echo first; echo early >&2; while [ ! -e go ]; do sleep 0.01; done; echo second"],
            directory: "$DIR", timeout: "none",
        },
        hangs: {
            program: ["sh", "-c", "echo half a result; echo why >&2; exec sleep 3600"],
            timeout: "none",
        },
        flood: {
            program: ["sh", "-c", "yes complaint | head -c 3000000 >&2; echo the end >&2"],
        },
        large: { program: ["sh", "-c", "head -c 60000 /dev/zero >&2; cat >&2"] },
        silent: { program: ["true"] },
        """

    private func setup(_ limits: String = "") -> Setup {
        var setup = Setup(selectors: Self.selectors)
        setup.limits = limits
        return setup
    }

    @Test(.timeLimit(.minutes(2)))
    func `standard error of a program that succeeds is kept, its result is the job's`() throws {
        try withDaemon(setup()) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "good", "WAIT", "").text == "a result\n")
            let output = try client.call("OUTPUT", 1)
            #expect(output["errors"]?.text == "a warning\n")
            #expect(output["errors-bytes"]?.integer == 10)
            #expect(output["output"]?.text == "")
            #expect(output["output-bytes"]?.integer == 9)
            #expect(output["attempt"]?.integer == 1)
            _ = try client.call("PERFORM", "images", "silent", "WAIT", "")
            #expect(try client.call("OUTPUT", 2) == .null)
            _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            #expect(try client.call("OUTPUT", 3) == .null)
            #expect(try client.call("OUTPUT", 4).errorWord == "NOJOB")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `output is there while the program runs, and after a cancel or its time limit`() throws {
        try withDaemon(setup()) { daemon in
            let client = try daemon.connect()
            let held = try client.perform("images", "held", "")
            try eventually("it has said something") {
                let output = try client.call("OUTPUT", .integer(held))
                return output["output"]?.text == "first\n" && output["errors"]?.text == "early\n"
            }
            try daemon.scratch.write("", to: "go")
            #expect(
                try client.call("RESULT", .integer(held), "WAIT").text == "first\nsecond\n")
            let hangs = try client.perform("images", "hangs", "")
            try eventually("it has said something") {
                try client.call("OUTPUT", .integer(hangs))["errors"]?.text == "why\n"
            }
            _ = try client.call("CANCEL", .integer(hangs))
            #expect(try client.call("RESULT", .integer(hangs), "WAIT").errorWord == "CANCELLED")
            #expect(try client.call("OUTPUT", .integer(hangs))["output"]?.text == "half a result\n")
            let late = try client.perform("images", "hangs", "TIMEOUT", 500, "")
            #expect(try client.call("RESULT", .integer(late), "WAIT").errorWord == "TIMEOUT")
            #expect(try client.call("OUTPUT", .integer(late))["output"]?.text == "half a result\n")
            #expect(try client.call("OUTPUT", .integer(late))["errors"]?.text == "why\n")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `each attempt has its own, the latest is shown unless another is asked for`() throws {
        try withDaemon(setup()) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PERFORM", "images", "bad", "RETRY", 1, "WAIT", "")
            let latest = try client.call("OUTPUT", 1)
            #expect(latest["attempt"]?.integer == 2)
            #expect(latest["attempts"]?.elements == [.integer(1), .integer(2)])
            #expect(latest["output"]?.text == "2 out\n")
            let first = try client.call("OUTPUT", 1, "ATTEMPT", 1)
            #expect(first["attempt"]?.integer == 1)
            #expect(first["errors"]?.text == "1 err\n")
            #expect(try client.call("OUTPUT", 1, "ATTEMPT", 3) == .null)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `the last 64 KB are kept of each stream`() throws {
        try withDaemon(setup()) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PERFORM", "images", "flood", "WAIT", "")
            let output = try client.call("OUTPUT", 1)
            let errors = output["errors"]?.bytes ?? []
            #expect(errors.count == 64 << 10)
            #expect(String(decoding: errors, as: UTF8.self).hasSuffix("complaint\nthe end\n"))
            #expect(output["errors-bytes"]?.integer == 3_000_008)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `all together are bounded, the oldest are dropped first`() throws {
        try withDaemon(setup("retainedOutput: \"128KB\",")) { daemon in
            let client = try daemon.connect()
            for number in 1...5 {
                _ = try client.call("PERFORM", "images", "large", "WAIT", .integer(number))
            }
            for number in 1...3 { #expect(try client.call("OUTPUT", .integer(number)) == .null) }
            for number in 4...5 {
                let errors = try client.call("OUTPUT", .integer(number))["errors"]?.bytes
                #expect(errors?.count == 60_001)
                #expect(errors?.last == UInt8(ascii: "0") + UInt8(number))
            }
            #expect(try client.figure("retained_program_output") == 2 * (60_001 + 256))
        }
        try withDaemon(setup("retainedOutput: 0,")) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PERFORM", "images", "good", "WAIT", "")
            #expect(try client.call("OUTPUT", 1) == .null)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a durable job that was parked since has its output too`() throws {
        var durable = setup("retainedResults: 0, retainedFailures: 10,")
        durable.store = Setup.durable.store
        try withDaemon(durable) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PERFORM", "images", "bad", "WAIT", "")
            #expect(try client.call("OUTPUT", 1)["errors"]?.text == "1 err\n")
            _ = try client.call("DROP", 1)
            #expect(try client.call("OUTPUT", 1).errorWord == "NOJOB")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["\"memory\"", "\"$DIR/jobs.sqlite\""])
    func `that of a failed job is dropped with the job`(store: String) throws {
        var setup = setup("retainedOutput: 1000,")
        setup.store = store
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            func retained() throws -> Int { try client.figure("retained_program_output") }
            _ = try client.call("PERFORM", "images", "good", "WAIT", "")
            let before = try retained()
            #expect(before == 10 + 256)
            for number in [2, 3, 4] {
                _ = try client.call("PERFORM", "images", "bad", "WAIT", "")
                if number == 2 {
                    #expect(try client.call("DROP", 2) == .integer(1))
                    #expect(try retained() == before)
                }
            }
            #expect(try retained() == before + 2 * (12 + 256))
            #expect(try client.call("DROP", "ALL", "bad") == .integer(2))
            #expect(try retained() == before)
            // Outputs that were dropped take no room from others.
            for _ in 1...5 {
                for _ in 1...2 { _ = try client.call("PERFORM", "images", "bad", "WAIT", "") }
                #expect(try client.call("OUTPUT", 1)["errors"]?.text == "a warning\n")
                #expect(try client.call("DROP", "ALL", "bad") == .integer(2))
            }
            #expect(try retained() == before)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `and what is wrong with the command`() throws {
        try withDaemon(setup()) { daemon in
            let client = try daemon.connect()
            for (words, hint) in [
                (["0"], "a job's number is a positive integer"),
                (["1", "LAST"], "OUTPUT id [ATTEMPT n]: 'LAST' is not ATTEMPT"),
                (["1", "ATTEMPT"], "ATTEMPT needs a number behind it"),
                (["1", "ATTEMPT", "0"], "ATTEMPT must be at least 1"),
                (["1", "ATTEMPT", "x"], "ATTEMPT must be a whole number"),
            ] {
                try client.send(TestClient.bytes((["OUTPUT"] + words).map { .text($0) }))
                let reply = try client.reply()
                #expect(reply.errorMessage?.contains(hint) == true, "\(words): \(reply)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `the Swift clients read it`() async throws {
        let daemon = try TestDaemon(setup(), in: Scratch())
        defer { daemon.kill() }
        let client = try WorkerClient(.unix(daemon.socket))
        _ = try? client.performAndWait(onThread: "images", selector: "bad")
        let output = try #require(try client.output(of: 1))
        #expect(String(decoding: output.errors, as: UTF8.self) == "1 err\n")
        #expect(output.outputByteCount == 6)
        #expect(output.attempts == [1])
        #expect(try client.output(of: 1, attempt: 2) == nil)
        #expect(throws: WorkerClientError.self) { try client.output(of: 99) }
        let other = try await AsyncWorkerClient.connect(to: .unix(daemon.socket))
        #expect(try await other.output(of: 1) == output)
        other.close()
    }
}
