// Jobs that have failed for good, and submits that are repeated.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Failed jobs` {
    private static let selectors = """
        flaky: { program: ["sh", "-c", "cat; [ -e ok ]"], directory: "$DIR" },
        held: { program: ["sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; cat"],
                directory: "$DIR" },
        """

    private static func setup(isDurable: Bool) -> Setup {
        var setup = isDurable ? Setup.durable : Setup()
        setup.selectors = selectors
        return setup
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `can be run again with their payloads, or dropped`(isDurable: Bool) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            for number in 1...4 {
                let text = CommandArgument.text("said \(number)")
                let reply = try client.call("PERFORM", "images", "flaky", "WAIT", text)
                #expect("\(reply)".contains("exit status 1: said \(number)"))
            }
            #expect(try client.call("DROP", 4) == .integer(1))
            #expect(try client.call("DROP", 4).errorWord == "NOJOB")
            #expect(try client.call("RESULT", 4).errorWord == "NOJOB")
            #expect(try client.call("RETRY", 2) == .integer(1))
            #expect(try client.call("RESULT", 2, "WAIT").errorWord == "FAILED")
            #expect(try client.job(2, "attempt") == .integer(2))
            try daemon.scratch.write("", to: "ok")
            #expect(try client.call("RETRY", "ALL", "flaky") == .integer(3))
            for number in 1...3 {
                let result = try client.call("RESULT", .integer(number), "WAIT")
                #expect(result.text == "said \(number)")
            }
            #expect(try client.job(2, "attempt") == .integer(3))
            #expect(try client.call("RETRY", "ALL", "flaky") == .integer(0))
            for command in ["RETRY", "DROP"] {
                let name = CommandArgument.text(command)
                #expect(try client.call(name, 1).errorWord == "ERR")
                #expect(try client.call(name, 99).errorWord == "NOJOB")
                #expect(try client.call(name, "SOME", "flaky").errorWord == "ERR")
                #expect(try client.call(name, "x").errorWord == "ERR")
            }
            #expect(try client.call("RETRY", "ALL", "none").errorWord == "NOSELECTOR")
            _ = try client.call("PAUSE", "images")
            let waiting = try client.perform("images", "flaky", "x")
            #expect(try client.call("RETRY", .integer(waiting)).errorWord == "ERR")
            #expect(try client.call("DROP", .integer(waiting)).errorWord == "ERR")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `have their payloads told, as jobs have that have not ended`(isDurable: Bool) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            func payload(_ id: Int) throws -> RESPValue {
                try client.call("PAYLOAD", .integer(id))
            }
            let bytes: [UInt8] = [0, 255, 13, 10, 0]
            let failed = try client.call("PERFORM", "images", "flaky", "WAIT", .bytes(bytes))
            #expect(failed.errorWord == "FAILED")
            #expect(try payload(1) == .bulk(bytes))
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            let done = try payload(2)
            #expect(done.errorMessage == "job 2 is done: its payload is kept no more")
            #expect(done.errorWord == "ERR")
            #expect(try payload(99).errorWord == "NOJOB")
            #expect(try client.call("PAYLOAD", "x").errorWord == "ERR")
            let buffered = try #require(
                try client.call("BUFFER", "images", "echo", .bytes(bytes)).integer)
            #expect(try payload(buffered) == .bulk(bytes))
            let running = try client.perform("images", "sleep", "3600000")
            try client.waitUntil(running, is: "running")
            #expect(try payload(running).text == "3600000")
            let waiting = try client.perform("images", "echo", "")
            #expect(try payload(waiting) == .bulk([]))
            #expect(try client.call("CANCEL", .integer(waiting)).text == "cancelled")
            #expect(try payload(waiting).errorWord == "ERR")
            #expect(try client.call("DROP", 1) == .integer(1))
            #expect(try payload(1).errorWord == "NOJOB")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `have their payloads told after a crash`() throws {
        let scratch = try Scratch()
        let first = try TestDaemon(Self.setup(isDurable: true), in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        let failed = try client.call("PERFORM", "images", "flaky", "WAIT", "why")
        #expect(failed.errorWord == "FAILED")
        _ = try client.call("PAUSE", "images")
        _ = try client.perform("images", "echo", "waits")
        try first.crash()
        let second = try TestDaemon(Self.setup(isDurable: true), in: scratch, logName: "log2")
        defer { second.kill() }
        let again = try second.connect()
        #expect(try again.call("PAYLOAD", 1).text == "why")
        #expect(try again.call("PAYLOAD", 2).text == "waits")
    }

    @Test(.timeLimit(.minutes(2)))
    func `outlive a crash, and so does that they run again`() throws {
        let scratch = try Scratch()
        let setup = Self.setup(isDurable: true)
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        for number in 1...3 {
            let text = CommandArgument.text("said \(number)")
            _ = try client.call("PERFORM", "images", "flaky", "WAIT", text)
        }
        // An end is recorded by the time that a later command is on the disk.
        #expect(try client.call("DROP", 3) == .integer(1))
        _ = try client.call("PAUSE", "images")
        #expect(try client.call("RETRY", 1) == .integer(1))
        try first.crash()
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        try scratch.write("", to: "ok")
        let again = try second.connect()
        _ = try again.call("RESUME", "images")
        _ = try again.call("RESULT", 1, "WAIT")
        #expect(try again.call("RETRY", "ALL", "flaky").integer ?? 0 >= 1)
        #expect(try again.call("RESULT", 2, "WAIT").text == "said 2")
        #expect(try again.call("RESULT", 1, "WAIT").text == "said 1")
        #expect(try again.call("RESULT", 3).errorWord == "NOJOB")
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `are dropped for the size of their payloads, and then gone`(isDurable: Bool) throws {
        var setup = Self.setup(isDurable: isDurable)
        setup.limits = "retainedBytes: \"1MB\""
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let payload = [UInt8](repeating: 1, count: 400_000)
            for _ in 1...6 {
                _ = try client.call("PERFORM", "images", "flaky", "WAIT", .bytes(payload))
            }
            _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            #expect(try client.call("JOBS", "failed").elements?.count == 2)
            try daemon.scratch.write("", to: "ok")
            for id in 1...4 {
                #expect(try client.call("RETRY", .integer(id)).errorWord == "NOJOB")
            }
            #expect(try client.call("RETRY", "ALL", "flaky") == .integer(2))
            for id in 5...6 {
                #expect(try client.call("RESULT", .integer(id), "WAIT").bytes == payload)
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `are kept within limits of their own`() throws {
        var setup = Self.setup(isDurable: true)
        setup.limits = "retainedResults: 1, retainedFailures: 2"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            for _ in 1...3 { _ = try client.call("PERFORM", "images", "flaky", "WAIT", "x") }
            for _ in 4...6 { _ = try client.call("PERFORM", "images", "echo", "WAIT", "x") }
            _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            #expect(try client.call("RETRY", "ALL", "flaky") == .integer(2))
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `a submit that is repeated under its name gets the first job`(isDurable: Bool) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            var bytes: [UInt8] = []
            for number in 1...5 {
                bytes += TestClient.bytes([
                    "PERFORM", "images", "echo", "PRIORITY", number == 1 ? "high" : "low", "UNIQUE",
                    "n", "1",
                ])
            }
            try client.send(bytes)
            let ids = try (1...5).map { _ in try client.reply().integer ?? 0 }
            #expect(ids == [1, 1, 1, 1, 1])
            let reply = try client.call("PERFORM", "images", "echo", "UNIQUE", "n", "WAIT", "1")
            #expect(reply.text == "1")
            let other = try client.perform("images", "echo", "UNIQUE", "m", "2")
            #expect(other > 1)
            #expect(try client.figure("total_jobs_done") <= 2)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `what a cancel takes back of them is one job`(isDurable: Bool) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            let submit = TestClient.bytes([
                "PERFORM", "images", "echo", "UNIQUE", "n", "DELAY", "3600000", "x",
            ])
            // In one piece: the cancel comes before the journal has said which of them are repeats.
            let submits = (1...5).flatMap { _ in submit }
            try client.send(submits + TestClient.bytes(["CANCEL", "images", "echo"]))
            let ids = try (1...5).map { _ in try client.reply().integer ?? 0 }
            #expect(ids == [1, 1, 1, 1, 1])
            #expect(try client.reply() == .integer(1))
            let jobs = try client.call("JOBS", "images")
            #expect(jobs.elements?.count == 1)
            #expect(try client.figure("total_jobs_accepted") == 1)
            #expect(try client.figure("total_jobs_cancelled") == 1)
            #expect(try client.call("JOB", 2).errorWord == "NOJOB")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `so it does while there is no room for another one`(isDurable: Bool) throws {
        var setup = Self.setup(isDurable: isDurable)
        setup.threads = "images: { maxQueued: 1 }"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            let id = try client.perform("images", "echo", "UNIQUE", "n", "1")
            #expect(try client.call("PERFORM", "images", "echo", "2").errorWord == "BUSY")
            let other = try client.call("PERFORM", "images", "echo", "UNIQUE", "m", "3")
            #expect(other.errorWord == "BUSY")
            #expect(try client.perform("images", "echo", "UNIQUE", "n", "1") == id)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `its name is known after a crash, and for as long as is configured`() throws {
        let scratch = try Scratch()
        var setup = Self.setup(isDurable: true)
        setup.limits = "uniqueFor: \"0s\""
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        _ = try client.call("PAUSE", "images")
        let id = try client.perform("images", "held", "UNIQUE", "n", "held")
        #expect(try client.perform("images", "held", "UNIQUE", "n", "held") == id)
        try first.crash()
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        let again = try second.connect()
        // It has not ended: that is long enough.
        #expect(try again.perform("images", "held", "UNIQUE", "n", "held") == id)
        try scratch.write("", to: "go")
        _ = try again.call("RESUME", "images")
        #expect(try again.call("RESULT", .integer(id), "WAIT").text == "held")
        // An end is recorded within a moment.
        try eventually("the name is free") {
            try again.perform("images", "held", "UNIQUE", "n", "held") != id
        }
    }
}
