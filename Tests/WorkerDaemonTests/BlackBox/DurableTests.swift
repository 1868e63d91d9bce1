// State that outlives the daemon: accepted jobs, their order, their attempts, and how they ended.

import Glibc
import Kernel
import RESP
import Support
import Testing

@Suite struct `A daemon with a journal` {
    /// Runs a test over two lives of a daemon in one directory; `kill -9` lies between them.
    private func acrossCrash(
        _ setup: Setup = .durable, _ before: (TestDaemon) throws -> Void,
        after: (TestDaemon) throws -> Void
    ) throws {
        let scratch = try Scratch()
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        try before(first)
        try first.crash()
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        do {
            try after(second)
        } catch {
            Issue.record("\(error)\n--- the log:\n\(second.log.suffix(4_000))")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `takes back what it has left because its thread was stopped, and runs the rest`() throws {
        try acrossCrash { daemon in
            let client = try daemon.connect()
            let replies = try client.callTogether(
                ["PERFORM", "images", "echo", "DELAY", 60, "x"],
                ["PERFORM", "images", "echo", "DELAY", 60, "WAIT", "kept"], ["STOP", "images"])
            #expect(replies[0] == .integer(1))
            // It was due behind the other one.
            #expect(replies[1].errorWord == "NOTHREAD")
            #expect(try client.call("CANCEL", 1).text == "cancelled")
            #expect(try client.call("CANCEL", 1).text == "toolate")
            #expect(try client.call("RESULT", 1).errorWord == "CANCELLED")
        } after: { daemon in
            let client = try daemon.connect()
            #expect(try client.call("RESULT", 1).errorWord == "CANCELLED")
            #expect(try client.call("RESULT", 2, "WAIT").text == "kept")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `runs after a crash what it has accepted, in the order of ids`() throws {
        var setup = Setup.durable
        setup.selectors = """
            note: { program: ["sh", "-c", "cat >> order; echo >> order"], directory: "$DIR" },
            """
        try acrossCrash(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            for number in 1...5 {
                #expect(try client.perform("images", "note", .integer(number)) == number)
            }
            _ = try client.perform("images", "note", "PRIORITY", "high", "first")
        } after: { daemon in
            let client = try daemon.connect()
            _ = try client.call("RESUME", "images")
            #expect(try client.call("RESULT", 5, "WAIT").text == "")
            #expect(daemon.scratch.read("order") == "first\n1\n2\n3\n4\n5\n")
            let next = try client.perform("images", "echo", "x")
            #expect(next > 6, "a number is given once")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `knows after a crash how jobs ended, and runs none of them again`() throws {
        try acrossCrash { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "kept").text == "kept")
            #expect(
                try client.call("PERFORM", "images", "fail", "WAIT", "no").errorWord == "FAILED")
            _ = try client.call("PAUSE", "images")
            let cancelled = try client.perform("images", "echo", "never")
            #expect(try client.call("CANCEL", .integer(cancelled)).text == "cancelled")
            // An end is recorded by the time that a later job is accepted.
            _ = try client.perform("images", "echo", "DELAY", 3_600_000, "later")
        } after: { daemon in
            let client = try daemon.connect()
            #expect(try client.call("RESULT", 1).text == "kept")
            #expect(try client.call("RESULT", 2).errorMessage == "job 2: no")
            #expect(try client.call("RESULT", 3, "WAIT").errorWord == "CANCELLED")
            #expect(try client.job(1, "state").text == "done")
            #expect(try client.job(1, "attempt") == .integer(1))
            #expect(try client.job(4, "state").text == "delayed")
            #expect(try client.call("RESULT", 4) == .null)
            #expect(try client.call("RESULT", 99).errorWord == "NOJOB")
            #expect(try client.figure("total_jobs_done") == 0)
            let listed = try client.call("JOBS").elements ?? []
            #expect(listed.compactMap { $0["id"]?.integer } == [4, 3, 2, 1])
            let failed = try client.call("JOBS", "images", "failed").elements ?? []
            #expect(failed.compactMap { $0["id"]?.integer } == [2])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `runs again what ran when it died, and the handler sees the attempt`() throws {
        var setup = Setup.durable
        setup.selectors = """
            tells: {
                program: ["sh", "-c",
                    "echo $WORKERD_ATTEMPT >> tries; echo $$ >> pid; \
                    while [ -e pid ] && [ ! -e go ]; do sleep 0.01; done"],
                directory: "$DIR",
            },
            """
        try acrossCrash(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.perform("images", "tells", "x")
            _ = try client.perform("images", "echo", "y")
            _ = try daemon.scratch.processID(in: "pid")
        } after: { daemon in
            try daemon.scratch.write("", to: "go")
            let client = try daemon.connect()
            #expect(try client.call("RESULT", 2, "WAIT").text == "y")
            #expect(daemon.scratch.read("tries") == "1\n2\n")
            #expect(try client.job(1, "attempt") == .integer(2))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `keeps delayed and buffered jobs, and forgets volatile ones`() throws {
        try acrossCrash { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            #expect(try client.perform("images", "echo", "DELAY", 200, "delayed") == 1)
            #expect(try client.call("BUFFER", "images", "echo", "held") == .integer(2))
            #expect(try client.perform("images", "echo", "VOLATILE", "gone") == 3)
            #expect(try client.call("BUFFER", "images", "echo", "fired") == .integer(4))
            #expect(try client.call("FIRE", "images") == .integer(2))
            #expect(try client.call("BUFFER", "images", "echo", "again") == .integer(5))
        } after: { daemon in
            let client = try daemon.connect()
            _ = try client.call("RESUME", "images")
            #expect(try client.call("RESULT", 2, "WAIT").text == "held")
            #expect(try client.call("RESULT", 4, "WAIT").text == "fired")
            #expect(try client.call("RESULT", 1, "WAIT").text == "delayed")
            #expect(try client.call("RESULT", 3).errorWord == "NOJOB")
            #expect(try client.job(5, "state").text == "buffered")
            #expect(try client.call("FIRE", "images") == .integer(1))
            #expect(try client.call("RESULT", 5, "WAIT").text == "again")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `keeps of a long queue the head in memory, and runs all of it in order`() throws {
        let count = 20_000
        var setup = Setup.durable
        setup.limits = "retainedResults: 100000"
        try acrossCrash(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            for start in stride(from: 0, to: count, by: 5_000) {
                var bytes: [UInt8] = []
                for number in start..<start + 5_000 {
                    bytes += TestClient.bytes(["PERFORM", "images", "echo", .integer(number)])
                }
                try client.send(bytes)
                for number in start..<start + 5_000 {
                    #expect(try client.reply() == .integer(number + 1))
                }
            }
            #expect(try client.figure("waiting_jobs") == count)
            // Parked and in memory, by id and by what they ask for.
            #expect(try client.call("CANCEL", .integer(count)).text == "cancelled")
            #expect(try client.call("CANCEL", "images", "echo", "17000") == .integer(1))
            #expect(try client.call("CANCEL", "images", "echo", "5") == .integer(1))
            #expect(try client.call("RESULT", .integer(count)).errorWord == "CANCELLED")
            #expect(try client.job(15_000, "state").text == "waiting")
            #expect(try client.figure("waiting_jobs") == count - 3)
            let newest = try client.call("JOBS", "images", "waiting", "LIMIT", 2).elements ?? []
            #expect(newest.compactMap { $0["id"]?.integer } == [19_999, 19_998])
        } after: { daemon in
            let client = try daemon.connect()
            let waits = try daemon.connect()
            _ = try client.call("RESUME", "images")
            try waits.send("RESULT", .integer(count - 1), "WAIT")
            #expect(try waits.reply().text == "\(count - 2)")
            try eventually("all have run") { try client.figure("total_jobs_done") == count - 3 }
            #expect(try client.figure("waiting_jobs") == 0)
            #expect(try client.call("RESULT", .integer(count)).errorWord == "CANCELLED")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `at SIGTERM leaves what waits, and puts back what it interrupts without a cost`() throws {
        var setup = Setup.durable
        setup.selectors = """
            held: {
                program: ["sh", "-c", "echo $WORKERD_ATTEMPT >> tries; echo $$ > pid; sleep 3600"],
                directory: "$DIR", graceAfterTerm: "100ms",
            },
            """
        setup.shutdown = "grace: \"50ms\""
        let scratch = try Scratch()
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        let waits = try first.connect()
        try waits.send("PERFORM", "images", "held", "WAIT", "x")
        _ = try scratch.processID(in: "pid")
        for number in 2...4 { #expect(try client.perform("images", "echo", "y") == number) }
        _ = try client.perform("images", "echo", "VOLATILE", "gone")
        try first.send(.terminate)
        #expect(try waits.reply().errorWord == "SHUTTINGDOWN")
        #expect(try first.end() == "exit status 0")
        #expect(
            first.log.contains(
                "1 abandoned before they began, 0 abandoned while they ran, "
                    + "3 kept in the journal, 1 put back"), "\(first.log)")
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        try eventually("it runs again") { scratch.read("tries") == "1\n1\n" }
        let again = try second.connect()
        #expect(try again.figure("waiting_jobs") == 3)
        // An orderly end leaves no gap.
        #expect(try again.perform("images", "echo", "z") == 6)
    }

    @Test(.timeLimit(.minutes(2)))
    func `at SIGTERM lets none begin before an older one of its thread that is left`() throws {
        let scratch = try Scratch()
        let first = try TestDaemon(.durable, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        _ = try client.call("PAUSE", "images")
        let count = 3_000
        for start in stride(from: 0, to: count, by: 100) {
            for number in start..<start + 100 {
                try client.send("PERFORM", "images", "echo", .integer(number))
            }
            for _ in 0..<100 { _ = try client.reply() }
        }
        // It begins one after another while the daemon goes down.
        _ = try client.call("RESUME", "images")
        try first.send(.terminate)
        #expect(try first.end() == "exit status 0")
        let second = try TestDaemon(.durable, in: scratch, logName: "log2")
        defer { second.kill() }
        let again = try second.connect()
        try eventually("all have ended") { try again.figure("waiting_jobs") == 0 }
        _ = try again.call("PERFORM", "images", "echo", "WAIT", "x")
        var starts: [Int] = []
        for id in 1...count {
            let job = try again.call("JOB", .integer(id))
            #expect(job["state"]?.text == "done")
            // A mark that is found after a crash does not tell it; here nothing has crashed.
            starts.append(try #require(job["started-at"]?.integer))
        }
        #expect(starts == starts.sorted())
    }

    @Test(.timeLimit(.minutes(2)))
    func `at a second SIGTERM waits for nothing, so that what ran had its attempt`() throws {
        var setup = Setup.durable
        setup.selectors = """
            held: {
                program: ["sh", "-c", "echo $WORKERD_ATTEMPT >> tries; echo $$ > pid; sleep 3600"],
                directory: "$DIR",
            },
            """
        let scratch = try Scratch()
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        #expect(try first.connect().perform("images", "held", "x") == 1)
        _ = try scratch.processID(in: "pid")
        try first.send(.terminate)
        try eventually("it goes down") { first.log.contains("going down") }
        try first.send(.terminate)
        #expect(try first.end() == "exit status 143")
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        try eventually("it runs again") { scratch.read("tries") == "1\n2\n" }
    }

    @Test(.timeLimit(.minutes(2)))
    func `puts interrupted jobs back when it is told to go down twice`() throws {
        var setup = Setup.durable
        setup.shutdown = "grace: \"10ms\""
        setup.selectors = """
            held: {
                program: [
                    "sh", "-c",
                    "trap 'while [ ! -e go ]; do sleep 0.01; done; exit 0' TERM; echo x >> tries; \
            echo $$ > pid; while :; do sleep 0.01; done",
                ],
                directory: "$DIR",
            },
            """
        let scratch = try Scratch()
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        #expect(try client.perform("images", "held", "x") == 1)
        _ = try scratch.processID(in: "pid")
        try client.send("SHUTDOWN")
        try eventually("it is interrupted") { first.log.contains("stopping 1 job") }
        try client.send("SHUTDOWN", "NOW")
        try eventually("it is interrupted again") { first.log.contains("1 job stopped") }
        try scratch.write("", to: "go")
        #expect(try first.end() == "exit status 0")
        #expect(!first.log.contains("please report"), "\(first.log)")
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        try eventually("it runs again") { scratch.read("tries") == "x\nx\n" }
    }

    @Test(.timeLimit(.minutes(2)))
    func `SHUTDOWN DRAIN runs what is parked too`() throws {
        let scratch = try Scratch()
        let daemon = try TestDaemon(.durable, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        _ = try client.call("PAUSE", "images")
        var bytes: [UInt8] = []
        // The first one leaves time for the test.
        bytes += TestClient.bytes(["PERFORM", "images", "sleep", "1000"])
        for _ in 1..<9_500 { bytes += TestClient.bytes(["PERFORM", "images", "echo", "x"]) }
        try client.send(bytes)
        for number in 1...9_500 { #expect(try client.reply() == .integer(number)) }
        let other = try daemon.connect()
        try client.send("SHUTDOWN", "DRAIN")
        try eventually("it goes down") { daemon.log.contains("going down") }
        // A pause would hold the drain up for ever.
        #expect(try other.call("PAUSE", "images").errorWord == "SHUTTINGDOWN")
        #expect(try daemon.end() == "exit status 0")
        #expect(daemon.log.contains("down: 9500 jobs finished"), "\(daemon.log.suffix(500))")
    }

    @Test(.timeLimit(.minutes(2)))
    func `refuses with BUSY when its file was removed, and leaves another daemon's alone`() throws {
        let scratch = try Scratch()
        let first = try TestDaemon(.durable, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        _ = try client.perform("images", "echo", "x")
        let files = ["jobs.sqlite", "jobs.sqlite-wal", "jobs.sqlite-attempts"]
        for name in files { try File.remove(scratch.file(name)) }
        // It looks once a second, and not for each job.
        try eventually("the journal misses its file") {
            try client.call("PERFORM", "images", "echo", "x").errorWord == "BUSY"
        }
        #expect(first.log.contains("jobs.sqlite: it was moved or removed while it was open"))
        #expect(try client.call("PERFORM", "images", "echo", "VOLATILE", "WAIT", "v").text == "v")
        let second = try TestDaemon(
            Setup(store: "\"\(scratch.file("jobs.sqlite"))\""), in: Scratch())
        defer { second.kill() }
        let another = try second.connect()
        #expect(try another.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
        try first.send(.terminate)
        #expect(try first.end() == "exit status 0")
        #expect(files.allSatisfy(scratch.has))
        #expect(try another.call("PERFORM", "images", "echo", "WAIT", "y").text == "y")
    }

    @Test(.timeLimit(.minutes(2)))
    func `refuses with BUSY while its disk is full, goes on with what runs, and recovers`() throws {
        let scratch = try Scratch()
        try scratch.write(Setup.durable.text(directory: scratch.path), to: "workerd.json5")
        // A file may have four megabytes, which is what the process finds when it wants more.
        let daemon = try TestDaemon(.durable, in: scratch, fileByteCountMax: 4 << 20)
        defer { daemon.kill() }
        let client = try daemon.connect()
        let payload = CommandArgument.bytes([UInt8](repeating: 7, count: 100_000))
        _ = try client.call("PAUSE", "images")
        var accepted: [Int] = []
        var refusal: RESPValue?
        while refusal == nil, accepted.count < 200 {
            let reply = try client.call("PERFORM", "images", "echo", payload)
            if let id = reply.integer { accepted.append(id) } else { refusal = reply }
        }
        #expect(refusal?.errorWord == "BUSY")
        #expect(accepted.count > 5)
        #expect(daemon.log.contains("the journal can't write"))
        // Accepted jobs run, and volatile jobs are taken.
        _ = try client.call("RESUME", "images")
        let last = try #require(accepted.last)
        #expect(try client.call("RESULT", .integer(last), "WAIT").bytes?.count == 100_000)
        #expect(try client.call("PERFORM", "images", "echo", "VOLATILE", "WAIT", "v").text == "v")
        try daemon.allowFilesOfAnySize()
        try eventually("it recovers") {
            try client.call("PERFORM", "images", "echo", payload).integer != nil
        }
        #expect(daemon.log.contains("the journal writes again"))
        try daemon.crash()
        let second = try TestDaemon(.durable, in: scratch, logName: "log2")
        defer { second.kill() }
        let again = try second.connect()
        for id in accepted { #expect(try again.job(id, "state").text == "done") }
    }

    @Test(.timeLimit(.minutes(2)))
    func `says what is wrong with its file and ends`() throws {
        let scratch = try Scratch()
        let setup = Setup.durable.text(directory: scratch.path)
        try scratch.write(setup, to: "workerd.json5")
        func end() throws -> (status: String, log: String) {
            let daemon = try TestDaemon(
                arguments: ["--config", scratch.file("workerd.json5")], in: scratch)
            defer { daemon.kill() }
            return (try daemon.end(), daemon.log)
        }
        try scratch.write(String(repeating: "precious", count: 200), to: "jobs.sqlite")
        let foreign = try end()
        #expect(foreign.status == "exit status 78")
        #expect(foreign.log.contains("jobs.sqlite: it is no SQLite database"))
        #expect(scratch.read("jobs.sqlite").hasPrefix("preciousprecious"))
        try File.remove(scratch.file("jobs.sqlite"))
        let first = try TestDaemon(.durable, in: scratch, logName: "first")
        defer { first.kill() }
        let second = try end()
        #expect(second.status == "exit status 69")
        #expect(second.log.contains("another process has it open"))
        #expect(try first.connect().perform("images", "echo", "x") == 1)
    }

    @Test(.timeLimit(.minutes(2)), arguments: [Setup(), Setup.durable])
    func `tries a job again that failed, others of its thread first`(base: Setup) throws {
        var setup = base
        setup.selectors = """
            later: {
                program: ["sh", "-c", "echo $WORKERD_ATTEMPT; [ -e ok ]"],
                directory: "$DIR", retries: 100,
            },
            """
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let waits = try daemon.connect()
            try waits.send("PERFORM", "images", "later", "WAIT", "x")
            try eventually("its first attempt failed") {
                (try? client.job(1, "state").text) == "delayed"
            }
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "y").text == "y")
            #expect(try client.job(1, "state").text != "done")
            try daemon.scratch.write("", to: "ok")
            let attempt = try #require(try waits.reply().text?.split(separator: "\n").first)
            #expect(Int(attempt) ?? 0 >= 2)
            #expect(try client.job(1, "attempt").integer == Int(attempt))
            let failed = try client.call("PERFORM", "images", "fail", "RETRY", 1, "WAIT", "no")
            #expect(failed.errorMessage == "job 3: no")
            #expect(try client.job(3, "attempt") == .integer(2))
            #expect(try client.figure("total_jobs_failed") == 1)
            // A job that waits for its next attempt can be cancelled.
            _ = try client.perform("images", "fail", "RETRY", 100, "no")
            try client.waitUntil(4, is: "delayed")
            try client.pauseAndWait("images")
            #expect(try client.call("CANCEL", 4).text == "cancelled")
            #expect(try client.call("RESULT", 4).errorWord == "CANCELLED")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `goes on after a crash with the attempts that are left`() throws {
        var setup = Setup.durable
        setup.selectors = """
            never: {
                program: ["sh", "-c",
                    "echo $WORKERD_ATTEMPT >> tries; \
                    while [ ! -e go ]; do sleep 0.01; done; false"],
                directory: "$DIR",
            },
            """
        try acrossCrash(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.perform("images", "never", "RETRY", 2, "x")
            try client.waitUntil(1, is: "running")
            // It ends while its thread is pausing: the next attempt is not before the restart.
            _ = try client.call("PAUSE", "images")
            try daemon.scratch.write("", to: "go")
            try client.pauseAndWait("images")
            #expect(try client.job(1, "attempt") == .integer(1))
            // Later answers say that the journal knows it.
            _ = try client.perform("images", "echo", "y")
        } after: { daemon in
            let client = try daemon.connect()
            _ = try client.call("RESUME", "images")
            #expect(try client.call("RESULT", 1, "WAIT").errorWord == "FAILED")
            #expect(daemon.scratch.read("tries") == "1\n2\n3\n")
            #expect(try client.job(1, "attempt") == .integer(3))
        }
    }
}
