// How the daemon goes down: by signal or by command, with nothing to do, something, or too much.

import Glibc
import Kernel
import RESP
import Support
import Testing

@Suite struct `Going down` {
    /// Selectors whose programs end when the test makes a file, or not at all.
    static let programs = """
        held: {
            program: ["sh", "-c", "echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; cat"],
            directory: "$DIR",
        },
        hangs: {
            program: ["sh", "-c", "echo $$ > pid; exec sleep 3600"],
            directory: "$DIR", graceAfterTerm: "100ms", timeout: "none",
        },
        ignores: {
            program: ["sh", "-c", "trap '' TERM; echo $$ > pid; exec sleep 3600"],
            directory: "$DIR", graceAfterTerm: "100ms", timeout: "none",
        },
        """

    @Test(.timeLimit(.minutes(2)), arguments: [Signal.terminate, Signal.interrupt])
    func `a signal ends an idle daemon, which removes its socket`(signal: Signal) throws {
        try withDaemon { daemon in
            let idle = try daemon.connect()
            #expect(try idle.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(daemon.scratch.has("s"))
            try daemon.send(signal)
            #expect(try daemon.end() == "exit status 0")
            #expect(!daemon.scratch.has("s"))
            #expect(try idle.repliesUntilClosed().isEmpty)
            #expect(daemon.log.contains("\(signal) from process"))
            #expect(daemon.log.contains("down: 0 jobs finished"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `what runs is finished and answered, what waits is told, nothing new begins`() throws {
        let setup = Setup(
            threads: "images: {}, mail: { count: 2 }", selectors: Self.programs,
            store: Setup.memory)
        try withDaemon(setup) { daemon in
            let runs = try daemon.connect()
            let waits = try daemon.connect()
            let other = try daemon.connect()
            try runs.send("PERFORM", "images", "held", "WAIT", "result")
            let child = try daemon.scratch.processID(in: "pid")
            try waits.send("PERFORM", "images", "echo", "WAIT", "never")
            try waits.send("PERFORM", "mail", "echo", "DELAY", 3_600_000, "WAIT", "never")
            _ = try other.call("BUFFER", "mail", "echo", "never")
            _ = try other.perform("images", "echo", "never")
            try eventually("five jobs") { try other.figure("total_jobs_accepted") == 5 }
            try daemon.send(.terminate)
            for _ in 0..<2 { #expect(try waits.reply().errorWord == "SHUTTINGDOWN") }
            #expect(try other.call("PERFORM", "mail", "echo", "x").errorWord == "SHUTTINGDOWN")
            #expect(try other.call("BUFFER", "mail", "echo", "x").errorWord == "SHUTTINGDOWN")
            #expect(try other.call("RESULT", 2, "WAIT").errorWord == "SHUTTINGDOWN")
            #expect(try other.call("PING") == .simpleString("PONG"))
            // Its door stays open for clients that look on; they can also cancel.
            let late = try daemon.connect()
            #expect(try late.figure("going_down") == 1)
            #expect(try late.call("JOB", 1)["state"]?.text == "running")
            #expect(try late.call("THREAD", "images")["job"]?.integer == 1)
            #expect(try late.call("PERFORM", "mail", "echo", "x").errorWord == "SHUTTINGDOWN")
            #expect(try late.call("RETRY", "ALL", "echo").errorWord == "SHUTTINGDOWN")
            let scheduled = try late.call("SCHEDULE", "s", "EVERY", 10, "mail", "echo", "x")
            #expect(scheduled.errorWord == "SHUTTINGDOWN")
            #expect(isRunning(child))
            try daemon.scratch.write("", to: "go")
            #expect(try runs.reply().text == "result")
            #expect(try daemon.end() == "exit status 0")
            #expect(try late.repliesUntilClosed().isEmpty)
            #expect(throws: SocketError.self) { try daemon.connect() }
            #expect(!daemon.scratch.has("s"))
            #expect(!isRunning(child))
            #expect(
                daemon.log.contains("1 job let finish, 4 abandoned before they began"))
            #expect(
                daemon.log.contains(
                    "down: 1 job finished, 0 stopped, 4 abandoned before they began, "
                        + "0 abandoned while they ran"))
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["hangs", "ignores"])
    func `a program that outlasts the grace period is stopped, kill included`(name: String) throws {
        let setup = Setup(
            selectors: Self.programs, shutdown: "grace: \"50ms\"", store: Setup.memory)
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            try client.send("PERFORM", "images", .text(name), "WAIT", "x")
            let child = try daemon.scratch.processID(in: "pid")
            try daemon.send(.terminate)
            // No client has cancelled it.
            #expect(try client.reply().errorWord == "SHUTTINGDOWN")
            #expect(try daemon.end() == "exit status 0")
            try eventually("the program is gone") { !isRunning(child) }
            let log = daemon.log
            #expect(log.contains("stopping 1 job, not ended within 0.05 seconds"))
            #expect(
                log.contains(
                    "down: 0 jobs finished, 0 stopped, 0 abandoned before they began, "
                        + "1 abandoned while they ran"))
        }
    }

    /// Shuts down, again if need be, until the running jobs were stopped in time.
    ///
    /// `NOW` waits half a second for the end of what it stops, and on a machine that holds up its
    /// threads for as long it may leave it alone.
    ///
    /// - Parameter goDown: returns whether it has not.
    private func untilStoppedInTime(_ goDown: () throws -> Bool) throws {
        for _ in 1...20 { if try goDown() { return } }
        Issue.record("nothing is ever stopped in time")
    }

    @Test(.timeLimit(.minutes(2)))
    func `a second signal ends the daemon at once and its programs with it`() throws {
        try withDaemon(Setup(selectors: Self.programs, store: Setup.memory)) { daemon in
            let client = try daemon.connect()
            try client.send("PERFORM", "images", "ignores", "WAIT", "x")
            let child = try daemon.scratch.processID(in: "pid")
            try daemon.send(.terminate)
            try eventually("it goes down") { daemon.log.contains("going down") }
            try daemon.send(.terminate)
            #expect(try daemon.end() == "exit status 143")
            try eventually("the program is gone") { !isRunning(child) }
            #expect(daemon.log.contains("ending at once"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a second signal ends also programs that are just being started`() throws {
        let program = "sh\", \"-c\", \"echo $$ >> $DIR/pids; exec sleep 600"
        let setup = Setup(
            threads: "images: { count: 4 }", selectors: "waits: { program: [\"\(program)\"] }")
        for round in 0..<25 {
            try withDaemon(setup) { daemon in
                let client = try daemon.connect()
                let one = TestClient.bytes(["PERFORM", "images", "waits", "x"])
                try client.send([[UInt8]](repeating: one, count: 4).flatMap { $0 })
                // Each time another moment of their start.
                usleep(UInt32(round * 100))
                // Two that come before the first one is heard are one.
                while daemon.isRunning {
                    try daemon.send(.terminate)
                    usleep(400)
                }
                // 143, or 0 where it was down before the second signal: its programs are gone
                // either way.
                _ = try daemon.end()
                try eventually("the programs of round \(round) are gone") {
                    let started = daemon.scratch.read("pids").split(separator: "\n")
                    return !started.compactMap { Int($0) }.contains { isRunning($0) }
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a successor has the socket when the daemon has ended, and not before`() throws {
        try withDaemon(Setup(selectors: Self.programs, store: Setup.memory)) { daemon in
            let client = try daemon.connect()
            try client.send("PERFORM", "images", "hangs", "WAIT", "x")
            let child = try daemon.scratch.processID(in: "pid")
            try daemon.send(.interrupt)
            try eventually("it goes down") { daemon.log.contains("going down") }
            let early = try TestDaemon(
                arguments: ["--config", daemon.scratch.file("workerd.json5")], in: daemon.scratch,
                logName: "log2")
            #expect(try early.end() == "exit status 69")
            #expect(early.log.contains("can't listen"), "\(early.log)")
            #expect(try daemon.connect().call("PING") == .simpleString("PONG"))
            // Ended at once, it leaves the socket's file, which a successor replaces.
            try daemon.send(.interrupt)
            #expect(try daemon.end() == "exit status 130")
            let successor = try TestDaemon(Setup(), in: daemon.scratch, logName: "log3")
            defer { successor.kill() }
            #expect(try successor.connect().call("PING") == .simpleString("PONG"))
            try eventually("the program is gone") { !isRunning(child) }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `SHUTDOWN does as SIGTERM and closes without a reply`() throws {
        try withDaemon(Setup(selectors: Self.programs, store: Setup.memory)) { daemon in
            let client = try daemon.connect()
            let runs = try daemon.connect()
            try runs.send("PERFORM", "images", "held", "WAIT", "result")
            _ = try daemon.scratch.processID(in: "pid")
            let waiting = try client.perform("images", "echo", "never")
            try client.send("SHUTDOWN")
            try eventually("it goes down") { daemon.log.contains("going down") }
            try daemon.scratch.write("", to: "go")
            #expect(try runs.reply().text == "result")
            #expect(try client.repliesUntilClosed().isEmpty)
            #expect(try daemon.end() == "exit status 0")
            #expect(waiting == 2)
            #expect(daemon.log.contains("down: 1 job finished, 0 stopped, 1 abandoned before"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `jobs that stay in the store are counted once as waiting`() throws {
        var setup = Setup.durable
        setup.selectors = Self.programs
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            func waitingCount() throws -> Int? {
                try client.call("THREAD", "images")["waiting"]?.integer
            }
            _ = try client.perform("images", "held", "result")
            _ = try daemon.scratch.processID(in: "pid")
            for _ in 0..<5 { _ = try client.perform("images", "echo", "x") }
            _ = try client.perform("images", "echo", "VOLATILE", "x")
            #expect(try waitingCount() == 6)
            try daemon.send(.terminate)
            try eventually("it goes down") { try client.figure("going_down") == 1 }
            #expect(try waitingCount() == 5)
            try daemon.scratch.write("", to: "go")
            #expect(try daemon.end() == "exit status 0")
        }
    }

    @Test(
        .timeLimit(.minutes(2)), arguments: [Setup.memory, Setup.durable.store], [false, true])
    func `a volatile job that would be tried again is abandoned`(
        store: String, drains: Bool
    ) throws {
        let fails = """
            fails: {
                program: ["sh", "-c",
                    "echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; exit 1"],
                directory: "$DIR", retries: 3,
            },
            """
        try withDaemon(Setup(selectors: fails, store: store)) { daemon in
            let (waits, other) = (try daemon.connect(), try daemon.connect())
            try waits.send("PERFORM", "images", "fails", "VOLATILE", "WAIT", "x")
            _ = try daemon.scratch.processID(in: "pid")
            if drains { try other.send("SHUTDOWN", "DRAIN") } else { try daemon.send(.terminate) }
            let late = try daemon.connect()
            try eventually("it goes down") { try late.figure("going_down") == 1 }
            try daemon.scratch.write("", to: "go")
            #expect(try waits.reply().errorWord == "SHUTTINGDOWN")
            #expect(try daemon.end() == "exit status 0")
            #expect(daemon.log.contains("down: 0 jobs finished, 0 stopped, 0 abandoned before"))
            #expect(daemon.log.contains("1 abandoned while they ran"))
        }
    }

    @Test(
        .timeLimit(.minutes(2)), arguments: [Setup.memory, Setup.durable.store], ["images", "mail"])
    func `a volatile job without a worker is abandoned`(store: String, thread: String) throws {
        let setup = Setup(
            threads: "images: {}, mail: { count: 2 }, ledger: {}",
            selectors: Self.programs + "turn: { worker: true }", store: store)
        try withDaemon(setup) { daemon in
            let (client, other) = (try daemon.connect(), try daemon.connect())
            _ = try client.perform("ledger", "held", "x")
            _ = try daemon.scratch.processID(in: "pid")
            let id = try client.perform(.text(thread), "turn", "VOLATILE", "x")
            try other.send("SHUTDOWN", "DRAIN")
            try eventually("it goes down") { try client.figure("going_down") == 1 }
            #expect(try client.call("RESULT", .integer(id), "WAIT").errorWord == "SHUTTINGDOWN")
            #expect(try client.call("JOB", .integer(id))["state"]?.text == "waiting")
            try daemon.scratch.write("", to: "go")
            #expect(try daemon.end() == "exit status 0")
            #expect(daemon.log.contains("down: 1 job finished, 0 stopped, 1 abandoned before"))
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [["SHUTDOWN"], ["SHUTDOWN", "DRAIN"]])
    func `clients that wait for a buffered job are told`(words: [String]) throws {
        try withDaemon(.durable) { daemon in
            let (client, other) = (try daemon.connect(), try daemon.connect())
            let id = try #require(client.call("BUFFER", "images", "echo", "x").integer)
            try client.send("RESULT", .integer(id), "WAIT")
            #expect(try client.isSilent())
            try other.send(TestClient.bytes(words.map { .text($0) }))
            #expect(try client.reply().errorWord == "SHUTTINGDOWN")
            #expect(try daemon.end() == "exit status 0")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `SHUTDOWN DRAIN runs all that waits, paused threads included`() throws {
        let setup = Setup(
            threads: "images: {}, mail: { count: 2 }", selectors: Self.programs,
            store: Setup.memory)
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let waits = try daemon.connect()
            _ = try client.call("PAUSE", "mail")
            for number in 0..<50 {
                try waits.send("PERFORM", "mail", "echo", "WAIT", .integer(number))
            }
            try waits.send("PERFORM", "mail", "echo", "DELAY", 3_600_000, "WAIT", "not in time")
            try eventually("all are accepted") { try client.figure("total_jobs_accepted") == 51 }
            try client.send("SHUTDOWN", "DRAIN")
            for number in 0..<50 { #expect(try waits.reply().integer == number) }
            #expect(try waits.reply().errorWord == "SHUTTINGDOWN")
            #expect(try daemon.end() == "exit status 0")
            #expect(daemon.log.contains("asks for SHUTDOWN DRAIN\n"))
            #expect(daemon.log.contains("down: 50 jobs finished, 0 stopped, 1 abandoned before"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `SHUTDOWN DRAIN says so to a client that steers a thread that has ended`() throws {
        try withDaemon(Setup(threads: "images: {}, mail: {}")) { daemon in
            let client = try daemon.connect()
            let id = try client.perform("images", "sleep", "600000")
            try eventually("it runs") { try client.job(id, "state").text == "running" }
            let other = try daemon.connect()
            try other.send("SHUTDOWN", "DRAIN")
            try eventually("a thread has ended") {
                try client.call("THREAD", "mail")["state"]?.text == "stopped"
            }
            #expect(try client.call("PAUSE", "mail").errorWord == "SHUTTINGDOWN")
            #expect(try client.call("RESUME", "mail").errorWord == "SHUTTINGDOWN")
            #expect(try client.call("FIRE", "mail").errorWord == "SHUTTINGDOWN")
            #expect(try client.call("PAUSE", "nowhere").errorWord == "NOTHREAD")
            #expect(try client.call("CANCEL", .integer(id)).text == "requested")
            #expect(try daemon.end() == "exit status 0")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `SHUTDOWN DRAIN answers the commands before it, also if it ends at once`() throws {
        var setup = Setup.durable
        setup.threads = "images: {}"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            for _ in 1...100 {
                _ = try client.perform("images", "echo", "DELAY", 3_600_000, "x")
            }
            try client.send(
                TestClient.bytes(["CANCEL", 1]) + TestClient.bytes(["CANCEL", "images", "echo"])
                    + TestClient.bytes(["SHUTDOWN", "DRAIN"]))
            #expect(try client.reply().text == "cancelled")
            #expect(try client.reply() == .integer(99))
            #expect(try daemon.end() == "exit status 0")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `SHUTDOWN NOW stops what runs, and what does not stop is killed`() throws {
        let setup = Setup(
            threads: "images: {}, ledger: {}",
            selectors: Self.programs + "slow: { program: [\"sh\", \"-c\", "
                + "\"trap '' TERM; echo $$ > slow; exec sleep 3600\"], directory: \"$DIR\", "
                + "graceAfterTerm: \"100s\" }", store: Setup.memory)
        try untilStoppedInTime {
            var isInTime = false
            try withDaemon(setup) { daemon in
                let client = try daemon.connect()
                try client.send("PERFORM", "images", "hangs", "WAIT", "x")
                try client.send("PERFORM", "ledger", "slow", "WAIT", "x")
                let children = try ["pid", "slow"].map { try daemon.scratch.processID(in: $0) }
                try daemon.connect().send("SHUTDOWN", "NOW")
                #expect(try client.reply().errorWord == "SHUTTINGDOWN")
                // Its grace after SIGTERM is not waited for.
                #expect(try client.reply().errorWord == "SHUTTINGDOWN")
                #expect(try daemon.end() == "exit status 0")
                for child in children {
                    try eventually("\(child) is gone") { !isRunning(child) }
                }
                let log = daemon.log
                #expect(log.contains("going down: 2 jobs stopped, 0 abandoned before"))
                #expect(!log.contains("not ended within"))
                #expect(log.contains("abandoned job 2 (slow) that still runs on ledger"))
                isInTime = !log.contains("abandoned job 1 (hangs) that still runs")
            }
            return isInTime
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a client that does not read its last replies does not keep the daemon up`() throws {
        try withDaemon { daemon in
            let deaf = try daemon.connect()
            // More than a socket holds: the rest of the reply waits in the daemon.
            try deaf.send("ECHO", .bytes([UInt8](repeating: 1, count: 2 << 20)))
            let other = try daemon.connect()
            try eventually("replies wait for it") {
                try other.figure("client_output_backlog") > 0
            }
            try daemon.send(.terminate)
            #expect(try daemon.end() == "exit status 0")
        }
    }
}
