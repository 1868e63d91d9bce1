// Pools with jobs for workers in other processes: without a worker they occupy no member.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Pools with jobs for workers` {
    private static let setup = Setup(
        threads: "mail: { count: 2 }",
        selectors: """
            resize: { worker: true, retries: 1, retry: "block" }, crop: { worker: true }
            """)
    private static var durable: Setup {
        var setup = setup
        setup.store = Setup.durable.store
        return setup
    }

    private func waits(_ client: TestClient, _ id: Int) throws -> String? {
        let job = try client.call("JOB", .integer(id))
        return job["waits-for"]?.text ?? job["held-by"]?.integer.map { "job \($0)" }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [setup, durable])
    func `stay free for others while no worker is there`(setup: Setup) throws {
        try withDaemon(setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let jobs = try (1...5).map { try client.perform("mail", "resize", .integer($0)) }
            #expect(try client.call("PERFORM", "mail", "echo", "WAIT", "x").text == "x")
            #expect(try waits(client, jobs[4]) == "worker resize")
            let pool = try client.call("THREAD", "mail")
            #expect(pool["awaiting-workers"] == .integer(5))
            #expect(pool["waiting"] == .integer(5))
            #expect(try client.call("THREAD", "mail/1")["state"]?.text == "idle")
            let selectors = try client.call("SELECTORS").elements ?? []
            let resize = selectors.first { $0["name"]?.text == "resize" }
            #expect(resize?["workers"] == .integer(0))
            for (place, id) in jobs.enumerated() {
                let job = try Taken.take(worker, "crop", "resize")
                #expect(job.id == id)
                #expect(job.payload == "\(place + 1)")
                #expect(try job.ended(worker, "").text == "OK")
            }
            #expect(try client.figure("waiting_jobs") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [setup, durable])
    func `keep the order of a key, whatever serves its jobs`(setup: Setup) throws {
        try withDaemon(setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let first = try client.perform("mail", "resize", "KEY", "k", "1")
            let second = try client.perform("mail", "echo", "KEY", "k", "2")
            let third = try client.perform("mail", "crop", "KEY", "k", "3")
            let fourth = try client.perform("mail", "echo", "KEY", "k", "4")
            #expect(try client.call("PERFORM", "mail", "echo", "KEY", "l", "WAIT", "x").text == "x")
            #expect(try waits(client, second) == "job \(first)")
            #expect(try waits(client, third) == "job \(first)")
            #expect(try worker.call("TAKE", "FROM", "crop") == .null)
            let job = try Taken.take(worker, "resize")
            #expect(try client.job(second, "state").text == "waiting")
            // Given back, it is still in front of them, and occupies no member.
            #expect(
                try worker.call("GIVEBACK", .integer(first), .text(job.token), "AFTER", 0).text
                    == "OK")
            #expect(try worker.call("TAKE", "WAIT", 50, "FROM", "crop") == .null)
            let again = try Taken.take(worker, "resize")
            #expect(again.id == first)
            #expect(again.attempt == 1)
            #expect(try again.ended(worker, "").text == "OK")
            #expect(try client.call("RESULT", .integer(second), "WAIT").text == "2")
            #expect(try client.job(fourth, "state").text == "waiting")
            #expect(try client.call("CANCEL", .integer(third)).text == "cancelled")
            #expect(try client.call("RESULT", .integer(fourth), "WAIT").text == "4")
            #expect(try client.call("THREAD", "mail")["awaiting-workers"] == nil)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [setup, durable])
    func `wait behind a job of their key that fails and is tried again`(setup: Setup) throws {
        try withDaemon(setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let first = try client.perform("mail", "resize", "KEY", "k", "1")
            let second = try client.perform("mail", "resize", "KEY", "k", "2")
            let third = try client.perform("mail", "echo", "KEY", "k", "3")
            let job = try Taken.take(worker, "resize")
            #expect(
                try worker.call("FAIL", .integer(first), .text(job.token), "AGAIN", 30, "x").text
                    == "OK")
            #expect(try client.job(third, "state").text == "waiting")
            let again = try Taken.take(worker, "resize")
            #expect(again.id == first)
            #expect(again.attempt == 2)
            #expect(try again.ended(worker, "").text == "OK")
            let next = try Taken.take(worker, "resize")
            #expect(next.id == second)
            #expect(try client.job(third, "state").text == "waiting")
            #expect(try next.ended(worker, "").text == "OK")
            #expect(try client.call("RESULT", .integer(third), "WAIT").text == "3")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `end jobs that expire or are cancelled before a worker comes`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let expiring = try client.perform("mail", "resize", "KEY", "k", "EXPIRE", 30, "1")
            let behind = try client.perform("mail", "echo", "KEY", "k", "2")
            #expect(try client.call("RESULT", .integer(expiring), "WAIT").errorWord == "EXPIRED")
            #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "2")
            for number in 1...300 { _ = try client.perform("mail", "crop", .integer(number)) }
            #expect(try client.call("CANCEL", "mail", "crop").integer == 300)
            #expect(try client.call("THREAD", "mail")["awaiting-workers"] == nil)
            let last = try client.perform("mail", "crop", "last")
            #expect(try Taken.take(try daemon.connect(), "crop").id == last)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `hand jobs out as members become free, and none twice`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let workers = try (0..<4).map { _ in try daemon.connect() }
            for worker in workers { try worker.send("TAKE", "WAIT", 60_000, "FROM", "crop") }
            try eventually("all wait") { try client.figure("waiting_takes") == 4 }
            let jobs = try (1...4).map { try client.perform("mail", "crop", .integer($0)) }
            // Two members: two jobs at a time.
            try eventually("two are held") { try client.figure("jobs_held_by_workers") == 2 }
            let first = try Taken(try workers[0].reply())
            let second = try Taken(try workers[1].reply())
            #expect(Set([first.id, second.id]) == Set(jobs[..<2]))
            #expect(try workers[2].isSilent())
            #expect(try first.ended(workers[0], "").text == "OK")
            let third = try Taken(try workers[2].reply())
            #expect(third.id == jobs[2])
            #expect(try second.ended(workers[1], "").text == "OK")
            #expect(try Taken(try workers[3].reply()).id == jobs[3])
            // A worker that leaves while its job is on the way to a member loses nothing.
            _ = try client.perform("mail", "crop", "5")
            do { try daemon.connect().send("TAKE", "WAIT", 60_000, "FROM", "crop") }
            #expect(try third.ended(workers[2], "").text == "OK")
            #expect(try Taken.take(workers[0], "crop").payload == "5")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `hand jobs of a higher priority out first`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let jobs = try ["low", "normal", "normal", "high"].map {
                try client.perform("mail", "crop", "PRIORITY", .text($0), "x")
            }
            for id in [jobs[3], jobs[1], jobs[2]] {
                let job = try Taken.take(worker, "crop")
                #expect(job.id == id)
                #expect(try job.ended(worker, "").text == "OK")
            }
            let last = try Taken.take(worker, "crop")
            #expect(last.id == jobs[0])
            // One that was given back goes behind it, too.
            let urgent = try client.perform("mail", "crop", "PRIORITY", "high", "x")
            let back = try worker.call(
                "GIVEBACK", .integer(last.id), .text(last.token), "AFTER", 0)
            #expect(back.text == "OK")
            #expect(try Taken.take(worker, "crop").id == urgent)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `give no job out while they are paused`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            #expect(try client.call("PAUSE", "mail").text == "OK")
            let id = try client.perform("mail", "crop", "1")
            try worker.send("TAKE", "WAIT", 60_000, "FROM", "crop")
            #expect(try worker.isSilent())
            #expect(try client.call("RESUME", "mail").text == "OK")
            #expect(try Taken(try worker.reply()).id == id)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["STOP", "SHUTDOWN", "DRAIN"])
    func `leave jobs without a worker when they stop`(how: String) throws {
        let scratch = try Scratch()
        let daemon = try TestDaemon(Self.durable, in: scratch)
        defer { daemon.kill() }
        let (client, other) = (try daemon.connect(), try daemon.connect())
        let durable = try client.perform("mail", "crop", "KEY", "k", "x")
        _ = try client.perform("mail", "echo", "KEY", "k", "y")
        let volatile = try client.perform("mail", "crop", "VOLATILE", "z")
        try client.send("RESULT", .integer(volatile), "WAIT")
        #expect(try client.isSilent())
        if how == "STOP" {
            #expect(try other.call("STOP", "mail").text == "OK")
            #expect(["NOTHREAD", "CANCELLED"].contains(try client.reply().errorWord))
            #expect(try daemon.connect().call("PING").text == "PONG")
            try daemon.send(.terminate)
        } else {
            try other.send(
                TestClient.bytes(how == "DRAIN" ? ["SHUTDOWN", "DRAIN"] : ["SHUTDOWN"]))
            #expect(try client.reply().errorWord == "SHUTTINGDOWN")
        }
        #expect(try daemon.end() == "exit status 0")
        let second = try TestDaemon(Self.durable, in: scratch, logName: "log2")
        defer { second.kill() }
        let worker = try second.connect()
        let job = try Taken.take(worker, "crop")
        #expect(job.id == durable)
        #expect(try job.ended(worker, "").text == "OK")
        #expect(try worker.call("RESULT", .integer(durable + 1), "WAIT").text == "y")
    }

    @Test(.timeLimit(.minutes(2)), arguments: [[], ["WAIT", 600_000]] as [[CommandArgument]])
    func `go to a thread on which the worker may have them`(patience: [CommandArgument]) throws {
        try withDaemon(Self.setup) { daemon in
            let (client, owner) = (try daemon.connect(), try daemon.connect())
            let worker = try daemon.connect()
            // It serves no resize, and for a while nothing at all.
            try owner.send(
                TestClient.bytes(["TAKE", "OWN", "mail/1"] + patience + ["FROM", "crop"]))
            if patience.isEmpty { #expect(try owner.reply() == .null) }
            try eventually("the thread has an owner") {
                try client.call("THREAD", "mail/1")["owner"] != nil
            }
            var jobs: [Int] = []
            for key in ["a", "b", "c", "d"] {
                jobs.append(try client.perform("mail", "resize", "KEY", .text(key), "x"))
                jobs.append(try client.perform("mail", "resize", "y"))
            }
            for _ in jobs {
                let job = try Taken.take(worker, "resize")
                #expect(job.thread == "mail/2")
                #expect(try job.ended(worker, "").text == "OK")
            }
            #expect(try client.figure("waiting_jobs") == 0)
            // Its owner alone asks for this one.
            let last = try client.perform("mail", "crop", "KEY", "e", "z")
            if patience.isEmpty {
                try owner.send("TAKE", "OWN", "mail/1", "WAIT", 600_000, "FROM", "crop")
            }
            let job = try Taken(try owner.reply())
            #expect(job.id == last)
            #expect(job.thread == "mail/1")
        }
    }
}
