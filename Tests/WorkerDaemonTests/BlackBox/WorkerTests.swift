// Workers in other processes: they take jobs, say how these ended, and may vanish at any moment.

import RESP
import Support
import Testing

@Suite struct `Workers of other processes` {
    private static let selectors = """
        resize: { worker: true, lease: "50ms" },
        crop: { worker: true, retries: 2, lease: "100s" },
        slow: { worker: true, timeout: "50ms" }
        """
    private static let setup = Setup(
        threads: "images: {}, mail: { count: 2 }", selectors: selectors)
    private static var durable: Setup {
        var setup = setup
        setup.store = Setup.durable.store
        return setup
    }

    @Test(.timeLimit(.minutes(2)), arguments: [setup, durable])
    func `take a job, and end it with a result`(setup: Setup) throws {
        try withDaemon(setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let id = try client.perform("images", "resize", "LABEL", "cat.png", "A")
            let job = try Taken.take(worker, "crop", "resize")
            #expect(job.id == id)
            #expect(job.token.count == 32)
            #expect(job.thread == "images")
            #expect(job.reply[3].text == "resize")
            #expect(job.reply[4] == .integer(1))
            #expect(job.reply[5] == .null)
            #expect(job.reply[6].text == "cat.png")
            #expect(job.payload == "A")
            #expect(try client.job(id, "state").text == "running")
            #expect(try worker.call("REPORT", .integer(id), .text(job.token), 40, "x").text == "go")
            #expect(try client.job(id, "progress").text == "0.4")
            #expect(try job.ended(worker, "a").text == "OK")
            #expect(try client.call("RESULT", .integer(id)).text == "a")
            // Said again, it is the same; something else comes too late.
            #expect(try job.ended(worker, "a").text == "OK")
            #expect(try job.ended(worker, "b").errorWord == "STALE")
            #expect(try worker.call("DONE", .integer(id), "made up", "a").errorWord == "STALE")
            #expect(try client.call("RESULT", .integer(id)).text == "a")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `keep the order of a thread, with jobs of other kinds between theirs`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let first = try client.perform("images", "resize", "1")
            let second = try client.perform("images", "echo", "2")
            let third = try client.perform("images", "resize", "3")
            // Without a worker the first has not begun, and holds up what is behind it.
            #expect(try client.job(first, "state").text == "waiting")
            #expect(try client.job(second, "state").text == "waiting")
            try eventually("its thread has it") {
                try client.call("JOB", .integer(first))["waits-for"]?.text == "worker resize"
            }
            #expect(try client.call("THREAD", "images")["state"]?.text == "held")
            let job = try Taken.take(worker, "resize")
            #expect(job.id == first)
            #expect(try client.job(second, "state").text == "waiting")
            #expect(try job.ended(worker, "").text == "OK")
            #expect(try client.call("RESULT", .integer(second), "WAIT").text == "2")
            #expect(try Taken.take(worker, "resize").id == third)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `take the next job in one round trip`() throws {
        try withDaemon(Self.durable) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            for number in 1...20 { _ = try client.perform("images", "resize", .integer(number)) }
            var job = try Taken.take(worker, "resize")
            for number in 1..<20 {
                #expect(job.payload == "\(number)")
                job = try Taken(
                    try worker.call(
                        "DONE", .integer(job.id), .text(job.token), "THEN", "TAKE", "WAIT", 60_000,
                        "FROM", "resize", "r"))
            }
            #expect(job.payload == "20")
            #expect(
                try worker.call(
                    "DONE", .integer(job.id), .text(job.token), "THEN", "TAKE", "FROM", "resize",
                    "r") == .null)
            #expect(try client.figure("total_jobs_done") == 20)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `fail a job, which is tried again unless the failure is final`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let id = try client.perform("images", "crop", "x")
            let first = try Taken.take(worker, "crop")
            #expect(
                try worker.call(
                    "FAIL", .integer(id), .text(first.token), "AGAIN", 1, "no paper"
                ).text == "OK")
            let second = try Taken.take(worker, "crop")
            #expect(second.reply[4] == .integer(2))
            #expect(second.token != first.token)
            #expect(try first.ended(worker, "late").errorWord == "STALE")
            #expect(
                try worker.call("FAIL", .integer(id), .text(second.token), "FINAL", "no printer")
                    .text == "OK")
            let result = try client.call("RESULT", .integer(id))
            #expect(result.errorMessage == "job \(id): no printer")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `give a job back, which keeps its place and its attempt`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let id = try client.perform("images", "resize", "1")
            _ = try client.perform("images", "resize", "2")
            let first = try Taken.take(worker, "resize")
            #expect(
                try worker.call("GIVEBACK", .integer(id), .text(first.token), "AFTER", 1).text
                    == "OK")
            let again = try Taken.take(worker, "resize")
            #expect(again.id == id)
            #expect(again.reply[4] == .integer(1))
            #expect(try first.ended(worker, "late").errorWord == "STALE")
            #expect(try again.ended(worker, "").text == "OK")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [setup, durable])
    func `give a job back that was asked about, and it is waiting again`(setup: Setup) throws {
        try withDaemon(setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let id = try client.perform("images", "crop", "EXPIRE", 60_000, "x")
            let job = try Taken.take(worker, "crop")
            #expect(try client.job(id, "state").text == "running")
            #expect(try client.figure("running_jobs") == 1)
            #expect(
                try worker.call("GIVEBACK", .integer(id), .text(job.token), "AFTER", 3_600_000)
                    .text == "OK")
            try eventually("it waits") {
                try client.call("JOB", .integer(id))["waits-for"]?.text == "worker crop"
            }
            #expect(try client.job(id, "state").text == "waiting")
            #expect(try client.job(id, "attempt") == .integer(0))
            #expect(try client.figure("running_jobs") == 0)
            #expect(try worker.call("TAKE", "FROM", "crop") == .null)
            #expect(try client.call("CANCEL", .integer(id)).text == "cancelled")
            #expect(try client.call("RESULT", .integer(id), "WAIT").errorWord == "CANCELLED")
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "y").text == "y")
            #expect(try client.figure("running_jobs") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `are refused a next job before the end of theirs, not after it`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, worker, other) = (
                try daemon.connect(), try daemon.connect(), try daemon.connect()
            )
            let id = try client.perform("images", "crop", "x")
            let job = try Taken.take(worker, "crop")
            #expect(try other.call("TAKE", "AS", "w", "FROM", "crop") == .null)
            #expect(
                try worker.call(
                    "DONE", .integer(id), .text(job.token), "THEN", "TAKE", "AS", "w", "FROM",
                    "crop", "r"
                ).errorWord == "INUSE")
            #expect(try client.job(id, "state").text == "running")
            #expect(try job.ended(worker, "r").text == "OK")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `vanish with a job, which another one gets, and so three times`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let id = try client.perform("images", "resize", "x")
            let behind = try client.perform("images", "echo", "y")
            var tokens: Set<String> = []
            for attempt in 1...3 {
                // It lives in this process, which goes on: its lease of 50 ms passes.
                let worker = try daemon.connect()
                let job = try Taken.take(worker, "resize")
                #expect(job.id == id)
                // It can be seen that it was begun before.
                #expect(job.reply[4] == .integer(attempt))
                tokens.insert(job.token)
            }
            #expect(tokens.count == 3)
            #expect(
                try client.call("RESULT", .integer(id), "WAIT").errorMessage
                    == "job \(id): its worker vanished 3 times")
            #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "y")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `connect again under a name, and get the job that they hold`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let id = try client.perform("images", "crop", "x")
            var job: Taken?
            do {
                let worker = try daemon.connect()
                job = try Taken(try worker.call("TAKE", "AS", "w1", "WAIT", 60_000, "FROM", "crop"))
                let other = try daemon.connect()
                #expect(try other.call("TAKE", "AS", "w1", "FROM", "crop").errorWord == "INUSE")
            }
            let worker = try daemon.connect()
            try eventually("its connection has closed") {
                let reply = try worker.call("TAKE", "AS", "w1", "FROM", "crop")
                if reply.errorWord == "INUSE" { return false }
                #expect(try Taken(reply).token == job?.token)
                return true
            }
            let workers = try client.call("WORKERS").elements
            #expect(workers?.count == 1)
            #expect(workers?.first?["name"]?.text == "w1")
            #expect(workers?.first?["jobs"]?.elements == [.integer(id)])
            #expect(try job?.ended(worker, "").text == "OK")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `are told to stop when a job is cancelled, or over its time`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            _ = try worker.call("HELLO", 3)
            let id = try client.perform("images", "crop", "x")
            let job = try Taken(
                try worker.call("TAKE", "WAIT", 60_000, "STOPS", "FROM", "crop"))
            #expect(try client.call("CANCEL", .integer(id)).text == "requested")
            let push = try worker.reply()
            #expect(
                push
                    == .push(
                        [
                            .bulk(Array("stop".utf8)), .integer(id), .bulk(Array(job.token.utf8)),
                            .bulk(Array("cancelled".utf8)),
                        ]))
            #expect(
                try worker.call("REPORT", .integer(id), .text(job.token), 1, "").text == "stop")
            #expect(try worker.call("FAIL", .integer(id), .text(job.token), "ok").text == "OK")
            #expect(try client.call("RESULT", .integer(id)).errorWord == "CANCELLED")
            let slow = try client.perform("images", "slow", "x")
            let late = try Taken.take(worker, "slow")
            #expect((late.reply[5].integer ?? 100) <= 50)
            try eventually("it is over its time") {
                try worker.call("REPORT", .integer(slow), .text(late.token), 1, "").text == "stop"
            }
            #expect(try worker.call("FAIL", .integer(slow), .text(late.token), "ok").text == "OK")
            #expect(try client.call("RESULT", .integer(slow)).errorWord == "TIMEOUT")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `lose their token when their thread is replaced, which goes on`() throws {
        var setup = Self.setup
        setup.threads = "images: { whenStuck: \"replace\", stuckAfter: \"20ms\" }"
        try withDaemon(setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let id = try client.perform("images", "crop", "x")
            let behind = try client.perform("images", "echo", "y")
            let job = try Taken.take(worker, "crop")
            #expect(try client.call("CANCEL", .integer(id)).text == "requested")
            #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "y")
            #expect(try client.call("RESULT", .integer(id)).errorWord == "CANCELLED")
            #expect(try job.ended(worker, "late").errorWord == "STALE")
            #expect(try client.figure("jobs_held_by_workers") == 0)
            _ = try client.perform("images", "crop", "z")
            #expect(try Taken.take(worker, "crop").payload == "z")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `get no job that was cancelled, or whose thread is paused`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let first = try client.perform("images", "resize", "1")
            let second = try client.perform("images", "resize", "2")
            #expect(try client.call("CANCEL", .integer(first)).text == "cancelled")
            #expect(try client.call("PAUSE", "images").text == "OK")
            #expect(try worker.call("TAKE", "FROM", "resize") == .null)
            try worker.send("TAKE", "WAIT", 60_000, "FROM", "resize")
            #expect(try worker.isSilent())
            #expect(try client.call("RESUME", "images").text == "OK")
            #expect(try Taken(try worker.reply()).id == second)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `get only one job that waits in front of many`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let workers = try (0..<4).map { _ in try daemon.connect() }
            for worker in workers { try worker.send("TAKE", "WAIT", 60_000, "FROM", "resize") }
            // The one that has waited longest, thread by thread.
            try eventually("all wait") { try client.call("WORKERS").elements?.count == 4 }
            let id = try client.perform("images", "resize", "1")
            let job = try Taken(try workers[0].reply())
            #expect(job.id == id)
            for worker in workers.dropFirst() { #expect(try worker.isSilent()) }
            try workers[0].send(
                TestClient.bytes(["TAKE", "WAIT", 60_000, "FROM", "crop"])
                    + TestClient.bytes(["TAKE", "FROM", "crop"]))
            #expect(try client.perform("mail", "crop", "2") == id + 1)
            #expect(try Taken(try workers[0].reply()).id == id + 1)
            #expect(try workers[0].reply().errorWord == "ERR")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `are refused what is wrong`() throws {
        try withDaemon(Self.setup) { daemon in
            let worker = try daemon.connect()
            let wrong: [([CommandArgument], String)] = [
                (["TAKE", "FROM", "echo"], "ERR"), (["TAKE", "FROM", "none"], "NOSELECTOR"),
                (["TAKE", "WAIT", "FROM"], "ERR"), (["TAKE", "WAIT", -1, "FROM", "resize"], "ERR"),
                (["TAKE", "AS", "a b", "FROM", "resize"], "ERR"),
                (["DONE", 99, "token", "x"], "STALE"), (["FAIL", 99, "token", "x"], "STALE"),
                (["GIVEBACK", 99, "token"], "STALE"), (["REPORT", 99, "token", 1, ""], "STALE"),
                (["REPORT", 99, "token", 101, ""], "ERR"), (["DONE", "x", "token", ""], "ERR"),
                (["DONE", 99, "token", "NOW", "x"], "ERR"),
                (["FAIL", 99, "token", "NOW", "x"], "ERR"),
                (["GIVEBACK", 99, "token", "AFTER", -1], "ERR"),
            ]
            for (command, word) in wrong {
                try worker.send(TestClient.bytes(command))
                #expect(try worker.reply().errorWord == word, "\(command)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `let a daemon go down that has jobs for them, and durable ones stay`() throws {
        let scratch = try Scratch()
        let first = try TestDaemon(Self.durable, in: scratch)
        defer { first.kill() }
        let (client, worker) = (try first.connect(), try first.connect())
        let id = try client.perform("images", "resize", "x")
        let volatile = try client.perform("mail", "resize", "VOLATILE", "y")
        try worker.send("TAKE", "WAIT", 60_000, "FROM", "crop")
        try client.send("RESULT", .integer(volatile), "WAIT")
        #expect(try client.isSilent())
        try first.connect().send("SHUTDOWN", "DRAIN")
        #expect(try worker.reply().errorWord == "SHUTTINGDOWN")
        #expect(try client.reply().errorWord == "SHUTTINGDOWN")
        #expect(try first.end() == "exit status 0")
        let second = try TestDaemon(Self.durable, in: scratch, logName: "log2")
        defer { second.kill() }
        #expect(try Taken.take(try second.connect(), "resize").id == id)
    }

    @Test(.timeLimit(.minutes(2)))
    func `let a daemon drain with jobs of one key, one of which an earlier run has given out`()
        throws
    {
        let setup = Setup(
            threads: "mail: { count: 2 }",
            selectors: "resize: { worker: true, lease: \"1ms\", leaseAfterRestart: \"1ms\" }",
            store: Setup.durable.store)
        let scratch = try Scratch()
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        let id = try client.perform("mail", "resize", "KEY", "k", "x")
        #expect(try Taken.take(try first.connect(), "resize").id == id)
        _ = try client.perform("mail", "resize", "KEY", "k", "y")
        try first.crash()
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        try second.connect().send("SHUTDOWN", "DRAIN")
        #expect(try second.end() == "exit status 0")
    }

    @Test(.timeLimit(.minutes(2)))
    func `leave a stopped thread, whose jobs stay for the restart`() throws {
        try withDaemon(Self.durable) { daemon in
            let client = try daemon.connect()
            let id = try client.perform("images", "resize", "x")
            try client.send("RESULT", .integer(id), "WAIT")
            let other = try daemon.connect()
            #expect(try other.call("STOP", "images").text == "OK")
            #expect(try client.reply().errorWord == "NOTHREAD")
            try eventually("the thread has ended") {
                try other.call("THREAD", "images")["state"]?.text == "stopped"
            }
        }
    }
}

@Suite struct `Threads that workers own` {
    private static let setup = Setup(
        threads: "images: {}, mail: { count: 2 }", selectors: "resize: { worker: true }")

    private func take(_ worker: TestClient, own thread: CommandArgument) throws {
        try worker.send(
            TestClient.bytes(["TAKE", "OWN", thread, "WAIT", 60_000, "FROM", "resize"]))
    }

    private func owns(_ client: TestClient, _ thread: String) throws -> Int {
        let workers = try client.call("WORKERS").elements ?? []
        return workers.count { $0["owns"]?.elements == [.bulk(Array(thread.utf8))] }
    }

    @Test(.timeLimit(.minutes(2)))
    func `are served by their owner only, and pass on to its standby`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, other) = (try daemon.connect(), try daemon.connect())
            let standby = try daemon.connect()
            try other.send("TAKE", "WAIT", 60_000, "FROM", "resize")
            #expect(try other.isSilent())
            do {
                let owner = try daemon.connect()
                try take(owner, own: "images")
                try eventually("it owns the thread") { try owns(client, "images") == 1 }
                try take(standby, own: "images")
                let first = try client.perform("images", "resize", "1")
                let job = try Taken(try owner.reply())
                #expect(job.id == first)
                #expect(try standby.isSilent() && other.isSilent())
                #expect(
                    try client.call("THREAD", "images")["owner"]?.text?.hasPrefix("client") == true)
                #expect(try job.ended(owner, "").text == "OK")
                // Between two TAKEs it is still the owner.
                _ = try client.perform("images", "resize", "2")
                #expect(try standby.isSilent() && other.isSilent())
            }
            #expect(try Taken(try standby.reply()).payload == "2")
            #expect(try other.isSilent())
            let third = try client.perform("mail", "resize", "3")
            #expect(try Taken(try other.reply()).id == third)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `are given up by a TAKE that asks for none, or for another one`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, owner, other) = (
                try daemon.connect(), try daemon.connect(), try daemon.connect()
            )
            #expect(try owner.call("TAKE", "OWN", "images", "FROM", "resize") == .null)
            _ = try client.perform("images", "resize", "1")
            #expect(try other.call("TAKE", "WAIT", 50, "FROM", "resize") == .null)
            #expect(try owner.call("TAKE", "OWN", "mail/2", "FROM", "resize") == .null)
            #expect(try owns(client, "mail/2") == 1)
            #expect(try Taken.take(other, "resize").payload == "1")
            #expect(try owner.call("TAKE", "FROM", "resize") == .null)
            #expect(try owns(client, "mail/2") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `are threads, not pools`() throws {
        try withDaemon(Self.setup) { daemon in
            let worker = try daemon.connect()
            #expect(
                try worker.call("TAKE", "OWN", "mail", "FROM", "resize").errorMessage
                    == "mail is a pool, and a worker can own a thread only: OWN mail/1, say")
            #expect(
                try worker.call("TAKE", "OWN", "none", "FROM", "resize").errorWord == "NOTHREAD")
        }
    }
}
