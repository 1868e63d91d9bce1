// Daemons that share the threads of one database, as on three machines.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

@Suite(
    .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `Daemons that share the threads` {
    private typealias Fleet = TestFleet

    @Test(.timeLimit(.minutes(3)))
    func `spread them, and execute commands at any of them`() throws {
        let fleet = try Fleet("a", "b")
        try fleet.waitUntil(["a": 2, "b": 2])
        for name in ["a", "b"] {
            let client = try fleet.connect(to: name)
            for thread in Fleet.threads {
                #expect(
                    try client.call("PERFORM", .text(thread), "echo", "WAIT", .text("to \(thread)"))
                        .text
                        == "to \(thread)")
            }
            let rows = try client.call("THREADS").elements ?? []
            #expect(rows.compactMap { $0["name"]?.text }.sorted() == Fleet.threads.sorted())
            #expect(Set(rows.compactMap { $0["node"]?.text }) == ["a", "b"])
        }
        let nodes = try fleet.connect(to: "a").call("NODES").elements ?? []
        #expect(nodes.map { $0["threads"]?.elements?.count } == [2, 2])
        #expect(nodes.map { $0["state"]?.text } == ["serves", "serves"])
        // All four threads' jobs, by numbers, at one node.
        let client = try fleet.connect(to: "b")
        let ids = try Fleet.threads.map { try client.perform(.text($0), "echo", "x") }
        for id in ids { try client.waitUntil(id, is: "done") }
        let listed = try client.call("JOBS").elements?.compactMap { $0["id"]?.integer } ?? []
        #expect(listed == listed.sorted().reversed())
        #expect(Set(ids).isSubset(of: listed) && Set(listed).count == listed.count)
    }

    @Test(.timeLimit(.minutes(3)))
    func `take over those of a killed one, with their pauses and schedules`() throws {
        let fleet = try Fleet(
            "a", "b",
            more: "schedules: { tick: { every: \"100ms\", thread: \"alpha\", selector: \"echo\", "
                + "missed: \"all\" } },")
        try fleet.waitUntil(["a": 2, "b": 2])
        let (first, last) =
            try fleet.places()["a"]?.contains("alpha") == true
            ? ("a", "b") : ("b", "a")
        let client = try fleet.connect(to: last)
        let paused = try #require(try fleet.places()[first]?.first { $0 != "alpha" })
        #expect(try client.call("PAUSE", .text(paused)).text == "OK")
        let waiting = try client.perform(.text(paused), "echo", "later")
        try eventually("the schedule makes jobs") {
            try fleet.sql("SELECT count(*) > 3 FROM workerd.ended WHERE thread = 'alpha'") == "t\n"
        }
        // At either node: a schedule of the configuration stays, and so does its progress.
        for name in ["a", "b"] {
            #expect(try fleet.connect(to: name).call("UNSCHEDULE", "tick").errorWord == "ERR")
        }
        #expect(try fleet.sql("SELECT name FROM workerd.schedules") == "tick\n")
        try fleet.kill(first)
        try fleet.waitUntil([last: 4])
        let next = try fleet.connect(to: last)
        #expect(try next.job(waiting, "state").text == "waiting")
        #expect(try next.call("RESUME", .text(paused)).text == "OK")
        try next.waitUntil(waiting, is: "done")
        #expect(try next.job(waiting, "attempt").integer == 2)
        let before = try fleet.sql("SELECT count(*) FROM workerd.ended WHERE thread = 'alpha'")
        try eventually("the schedule goes on") {
            try fleet.sql("SELECT count(*) FROM workerd.ended WHERE thread = 'alpha'") != before
        }
        // Each moment once: none was left out, and none came twice.
        try eventually("each moment has one job") {
            try fleet.sql(
                """
                SELECT count(*) = (max(due_at) - min(due_at)) / 100 + 1
                    AND count(*) = count(DISTINCT due_at)
                FROM workerd.ended WHERE thread = 'alpha'
                """) == "t\n"
        }
    }

    /// Once from two threads, and once from three slots.
    @Test(.timeLimit(.minutes(3)), arguments: ["count: 2", "count: 2, slots: 3"])
    func `keep a pool paused that has other threads after a restart`(_ before: String) throws {
        let fleet = try Fleet("a", threads: "mail: { \(before) }")
        try fleet.waitUntil(["a": before.contains("slots") ? 3 : 1])
        let client = try fleet.connect(to: "a")
        #expect(try client.call("PAUSE", "mail").text == "OK")
        let jobs = try (0..<8).map { try client.perform("mail", "echo", .text("\($0)")) }
        #expect(try fleet.end("a").daemon.end() == "exit status 0")
        fleet.configured = "mail: { count: 4 }"
        try fleet.start("b")
        try fleet.waitUntil(["b": 1])
        let next = try fleet.connect(to: "b")
        for thread in ["mail/1", "mail/2", "mail/3", "mail/4"] as [CommandArgument] {
            #expect(try next.call("THREAD", thread)["state"]?.text == "paused")
        }
        for job in jobs { #expect(try next.job(job, "state").text == "waiting") }
        #expect(try next.call("RESUME", "mail").text == "OK")
        for job in jobs { try next.waitUntil(job, is: "done") }
    }

    @Test(.timeLimit(.minutes(3)))
    func `give one that comes its share, and get it back when it ends`() throws {
        let fleet = try Fleet("a")
        try fleet.waitUntil(["a": 4])
        let client = try fleet.connect(to: "a")
        let alone = try client.call("THREADS").elements ?? []
        #expect(alone.map { $0["node"]?.text } == ["a", "a", "a", "a"])
        let delayed = try Fleet.threads.map {
            try client.perform(.text($0), "echo", "DELAY", 3_600_000, "x")
        }
        let volatile = try Fleet.threads.map {
            try client.perform(.text($0), "echo", "VOLATILE", "mine")
        }
        try fleet.start("b")
        try fleet.waitUntil(["a": 2, "b": 2])
        for id in delayed { #expect(try client.job(id, "state").text == "delayed") }
        // Their node alone knows them, whichever has their threads.
        for id in volatile { #expect(try client.call("RESULT", .integer(id)).text == "mine") }
        try fleet.end("b")
        try fleet.waitUntil(["a": 4])
        for id in delayed {
            #expect(try client.call("CANCEL", .text("\(id)")).text == "cancelled")
        }
        // They were handed over: no attempt is counted.
        #expect(try fleet.sql("SELECT DISTINCT attempt FROM workerd.ended") == "0\n")
    }

    @Test(.timeLimit(.minutes(3)))
    func `keep a thread that was stopped`() throws {
        let fleet = try Fleet("a")
        try fleet.waitUntil(["a": 4])
        try fleet.start("b")
        try fleet.waitUntil(["a": 2, "b": 2])
        let client = try fleet.connect(to: "a")
        let threads = try client.call("THREADS").elements ?? []
        let moving = threads.filter { $0["node"]?.text == "b" }.compactMap { $0["name"]?.text }
        try fleet.end("b")
        try fleet.waitUntil(["a": 4])
        // Of the two it would be given first.
        let stopped = CommandArgument.text(try #require(moving.min()))
        #expect(try client.call("STOP", stopped).text == "OK")
        try fleet.start("b")
        try fleet.waitUntil(["a": 3, "b": 1])
        #expect(try client.call("PERFORM", stopped, "echo", "x").errorWord == "NOTHREAD")
    }

    @Test(.timeLimit(.minutes(3)))
    func `let threads go on that have gone on at another one meanwhile`() throws {
        let names: [CommandArgument] = ["one", "two", "three", "four"]
        let fleet = try Fleet(
            "a", threads: "one: {}, two: {}, three: { count: 2 }, four: { count: 2 }")
        try fleet.waitUntil(["a": 4])
        let client = try fleet.connect(to: "a")
        for name in names { #expect(try client.call("PAUSE", name).text == "OK") }
        try fleet.start("b")
        try fleet.waitUntil(["a": 2, "b": 2])
        for name in names { #expect(try client.call("RESUME", name).text == "OK") }
        try fleet.end("b")
        try fleet.waitUntil(["a": 4])
        for name in names {
            try client.waitUntil(client.perform(name, "echo", "x"), is: "done")
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `keep a thread on which a job runs`() throws {
        let fleet = try Fleet("a")
        try fleet.waitUntil(["a": 4])
        let client = try fleet.connect(to: "a")
        let running = try Fleet.threads.map { try client.perform(.text($0), "long", "") }
        for id in running { try client.waitUntil(id, is: "running") }
        try fleet.start("b")
        try fleet.node("b").daemon.waitUntilListening()
        try eventually("node a has seen node b for a while") {
            (try client.call("NODES").elements?.count ?? 0) == 2
        }
        for id in running.dropLast() { _ = try client.call("CANCEL", .text("\(id)")) }
        try eventually("node b gets a thread") { try fleet.places()["b"]?.isEmpty == false }
        let last = try #require(Fleet.threads.last)
        #expect(try fleet.places()["a"]?.contains(last) == true)
        #expect(try client.job(running[3], "state").text == "running")
    }

    /// Only their node knows how long the jobs are to wait.
    @Test(.timeLimit(.minutes(3)))
    func `keep a thread with a job that was given back for a while`() throws {
        let fleet = try Fleet("a")
        try fleet.waitUntil(["a": 4])
        let (client, worker) = (try fleet.connect(to: "a"), try fleet.connect(to: "a"))
        var jobs: [String: Int] = [:]
        for name in Fleet.threads {
            jobs[name] = try client.perform(.text(name), "resize", "x")
            let job = try Taken.take(worker, "resize")
            let reply = try worker.call(
                "GIVEBACK", .integer(job.id), .text(job.token), "AFTER", 3_600_000)
            #expect(reply.text == "OK")
        }
        try fleet.start("b")
        try fleet.node("b").daemon.waitUntilListening()
        try eventually("node a has seen node b for a while") {
            (try client.call("NODES").elements?.count ?? 0) == 2
        }
        for name in Fleet.threads.dropLast() {
            let id = try #require(jobs[name])
            #expect(try client.call("CANCEL", .integer(id)).text == "cancelled")
        }
        try eventually("node b gets a thread") { try fleet.places()["b"]?.isEmpty == false }
        try fleet.end("b")
        try fleet.waitUntil(["a": 4])
        let last = try #require(Fleet.threads.last)
        #expect(try !fleet.node("a").daemon.log.contains("thread \(last) is given"))
    }

    @Test(.timeLimit(.minutes(3)))
    func `give threads away whose jobs run one after another`() throws {
        let fleet = try Fleet("a")
        try fleet.waitUntil(["a": 4])
        let client = try fleet.connect(to: "a")
        for name in Fleet.threads {
            for _ in 0..<300 { _ = try client.perform(.text(name), "sleep", 250) }
        }
        try fleet.start("b")
        try fleet.waitUntil(["a": 2, "b": 2])
        for name in Fleet.threads {
            // Some have run, and no end of the others made the thread idle.
            let count = try client.call("CANCEL", .text(name), "sleep").integer
            #expect((1..<300).contains(count ?? 0))
        }
    }

    /// Clients of the owner, and of another node.
    @Test(.timeLimit(.minutes(3)))
    func `give threads away with the clients that wait for their jobs`() throws {
        let fleet = try Fleet("a", "b")
        try fleet.waitUntil(["a": 2, "b": 2])
        let before = try fleet.places()
        let client = try fleet.connect(to: "a")
        var waiting: [(client: TestClient, text: String)] = []
        for thread in Fleet.threads {
            #expect(try client.call("PAUSE", .text(thread)).text == "OK")
            for node in ["a", "b"] {
                let waiter = try fleet.connect(to: node)
                let text = "\(thread) from \(node)"
                try waiter.send("PERFORM", .text(thread), "echo", "WAIT", .text(text))
                try waiter.send("PERFORM", .text(thread), "echo", "WAIT", 50, .text(text))
                waiting.append((waiter, text))
            }
        }
        try eventually("all jobs wait") {
            try fleet.sql("SELECT count(*) FROM workerd.jobs") == "16\n"
        }
        try fleet.start("c")
        try eventually("a thread has moved") { try fleet.places()["c"]?.isEmpty == false }
        let moved = try #require(try fleet.places()["c"])
        #expect(before["a"]?.contains(moved[0]) == true || before["b"]?.contains(moved[0]) == true)
        for thread in Fleet.threads {
            // Another one may be on its way: then the command is refused.
            try eventually("it goes on") {
                try client.call("RESUME", .text(thread)).text == "OK"
            }
        }
        for (waiter, text) in waiting {
            #expect(try waiter.reply().text == text)
            #expect(try waiter.reply().errorWord == "TIMEOUT")
            #expect(try waiter.call("PING").text == "PONG")
        }
    }

    /// The question for the job waits until the client has read earlier results.
    @Test(.timeLimit(.minutes(3)))
    func `answer a client that asked before the thread moved, and was heard later`() throws {
        let fleet = try Fleet("a")
        try fleet.waitUntil(["a": 4])
        var client = try fleet.connect(to: "a")
        let text = String(repeating: "x", count: 600 << 10)
        let large = try (0..<4).map { _ in try client.perform("alpha", "echo", .text(text)) }
        for id in large { #expect(try client.call("RESULT", .integer(id), "WAIT").text == text) }
        let buffered = try Fleet.threads.map {
            try client.call("BUFFER", .text($0), "echo", "late").integer ?? 0
        }
        try fleet.kill("a")
        try fleet.start("a")
        try fleet.node("a").daemon.waitUntilListening()
        try fleet.waitUntil(["a": 4])
        client = try fleet.connect(to: "a")
        var bytes: [UInt8] = []
        for id in large { bytes += TestClient.bytes(["RESULT", .integer(id)]) }
        for id in buffered { bytes += TestClient.bytes(["RESULT", .integer(id), "WAIT"]) }
        try client.send(bytes)
        try fleet.start("b")
        try fleet.waitUntil(["a": 2, "b": 2])
        for _ in large { #expect(try client.reply().text == text) }
        let other = try fleet.connect(to: "b")
        for thread in Fleet.threads {
            #expect(try other.call("FIRE", .text(thread)).integer == 1)
        }
        for _ in buffered { #expect(try client.reply().text == "late") }
    }

    @Test(.timeLimit(.minutes(3)))
    func `keep threads that a worker owns, and those of watched jobs`() throws {
        let fleet = try Fleet("a")
        try fleet.waitUntil(["a": 4])
        let client = try fleet.connect(to: "a")
        // Each of two threads stays for its reason; the two others may go.
        _ = try client.call("HELLO", 3)
        let watched = try client.perform("alpha", "echo", "DELAY", 3_600_000, "x")
        #expect(try client.call("OBSERVE", .text("\(watched)")).integer == 1)
        let worker = try fleet.connect(to: "a")
        try worker.send(
            TestClient.bytes(["TAKE", "OWN", "beta", "WAIT", 600_000, "FROM", "resize"]))
        try eventually("the worker waits") {
            let threads = try fleet.connect(to: "a").call("THREADS").elements ?? []
            return threads.first { $0["name"]?.text == "beta" }?["owner"] != nil
        }
        try fleet.start("b")
        try fleet.start("c")
        try eventually("the two others have gone") {
            let places = try fleet.places()
            return places["a"] == ["alpha", "beta"]
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `do not change which threads there are by a reload`() throws {
        let fleet = try Fleet("a")
        try fleet.waitUntil(["a": 4])
        let node = try fleet.node("a")
        let path = node.daemon.scratch.file("workerd.json5")
        let text = try String(decoding: File.read(path, atMost: .max), as: UTF8.self)
        try node.daemon.scratch.write(
            text.replacing("alpha: {}", with: "alpha: {}, epsilon: {}"), to: "workerd.json5")
        let answer = try fleet.connect(to: "a").call("RELOAD")
        #expect("\(answer)".contains("which threads are shared with other nodes"))
    }

    @Test(.timeLimit(.minutes(3)))
    func `tell of threads that not all can run`() throws {
        let fleet = try Fleet("a")
        try fleet.start("b", threads: ["alpha", "beta", "gamma", "gpu"])
        let (a, b) = (try fleet.node("a"), try fleet.node("b"))
        try eventually("node a tells") {
            a.daemon.log.contains(
                "node b has other threads in its configuration than this one: only it has gpu; "
                    + "it lacks delta")
        }
        try eventually("node b has the thread of its own") {
            try fleet.places()["b"]?.contains("gpu") == true
        }
        // The node that does not know the thread passes the job on.
        try eventually("node a knows who has the thread") {
            try fleet.connect(to: "a").call("PERFORM", "gpu", "echo", "WAIT", "x").text == "x"
        }
        let delayed = try fleet.connect(to: "b").perform("gpu", "echo", "DELAY", 3_600_000, "x")
        try fleet.end("b")
        try eventually("node a tells that it has no node any more") {
            a.daemon.log.contains("no node has gpu in its configuration")
        }
        let client = try fleet.connect(to: "a")
        try eventually("node a counts its jobs") { try client.figure("orphaned_jobs") == 1 }
        #expect(try client.call("INFO", "threads").text?.contains("gpu:orphaned=1\r\n") == true)
        #expect(try client.call("PERFORM", "gpu", "echo", "x").errorWord == "NOTHREAD")
        // Its job is shown, and stays.
        #expect(try client.job(delayed, "state").text == "delayed")
        #expect(try client.call("CANCEL", .text("\(delayed)")).errorWord == "NOTHREAD")
        _ = b
    }

    @Test(.timeLimit(.minutes(3)))
    func `let one that wants all threads wait`() throws {
        let fleet = try Fleet("a")
        try fleet.waitUntil(["a": 4])
        let whole = try TestNode("whole", in: fleet.database)
        defer { whole.daemon.kill() }
        try eventually("it waits") { whole.daemon.log.contains("another daemon has the store") }
        try fleet.node("a").daemon.send(.terminate)
        try whole.daemon.waitUntilListening()
    }
}
