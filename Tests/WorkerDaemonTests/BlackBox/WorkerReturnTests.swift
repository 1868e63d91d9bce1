// Jobs that workers give back, or vanish with: their threads go on as if no worker had had them.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Jobs that come back from workers` {
    private static let selectors = """
        resize: { worker: true, lease: "50ms" },
        crop: { worker: true, leaseAfterRestart: "50ms" },
        slow: { worker: true, timeout: "1s" },
        scale: { worker: true }
        """

    private static func setup(_ threads: String) -> Setup {
        var setup = Setup.durable
        (setup.threads, setup.selectors) = (threads, selectors)
        return setup
    }

    private func giveBack(
        _ job: Taken, by worker: TestClient, afterMilliseconds milliseconds: Int
    ) throws {
        let reply = try worker.call(
            "GIVEBACK", .integer(job.id), .text(job.token), "AFTER", .integer(milliseconds))
        #expect(reply.text == "OK")
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["GIVEBACK", "vanishes"])
    func `occupy no member of their pool after a restart`(word: String) throws {
        let scratch = try Scratch()
        let setup = Self.setup("mail: { count: 2 }")
        let selector: CommandArgument = word == "vanishes" ? "crop" : "scale"
        var held: [Taken] = []
        var behind = 0
        do {
            let daemon = try TestDaemon(setup, in: scratch)
            defer { daemon.kill() }
            let client = try daemon.connect()
            for key in ["a", "b"] {
                _ = try client.perform("mail", selector, "KEY", .text(key), "x")
                held.append(try Taken.take(try daemon.connect(), selector))
            }
            behind = try client.perform("mail", "echo", "KEY", "a", "y")
            try daemon.crash()
        }
        let daemon = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { daemon.kill() }
        let (client, worker) = (try daemon.connect(), try daemon.connect())
        if word == "vanishes" {
            try eventually("their workers have vanished") {
                try client.figure("total_vanished_workers") == 2
            }
        } else {
            try eventually("the members have them") {
                try ["mail/1", "mail/2"].allSatisfy {
                    try client.call("THREAD", .text($0))["state"]?.text != "idle"
                }
            }
            for job in held { try giveBack(job, by: worker, afterMilliseconds: 0) }
        }
        #expect(try client.call("PERFORM", "mail", "echo", "WAIT", "z").text == "z")
        try eventually("the members are idle") {
            try ["mail/1", "mail/2"].allSatisfy {
                try client.call("THREAD", .text($0))["state"]?.text == "idle"
            }
        }
        #expect(try client.job(behind, "state").text == "waiting")
        for job in held {
            let again = try Taken.take(worker, selector)
            #expect(again.id == job.id)
            #expect(try again.ended(worker, "").text == "OK")
        }
        #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "y")
    }

    @Test(.timeLimit(.minutes(2)))
    func `are stuck when their next worker hangs, by its own time limit`() throws {
        let setup = Self.setup("images: { stuckAfter: \"50ms\", whenStuck: \"replace\" }")
        try withDaemon(setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let id = try client.perform("images", "slow", "x")
            // The first alarm would ring 1.05 s after the first TAKE.
            try giveBack(try Taken.take(worker, "slow"), by: worker, afterMilliseconds: 1_200)
            #expect(try Taken.take(worker, "slow").id == id)
            #expect(try client.call("RESULT", .integer(id), "WAIT").errorWord == "TIMEOUT")
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "y").text == "y")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["paused", "missing"])
    func `keep no job from a named worker while their thread is away`(state: String) throws {
        let scratch = try Scratch()
        let threads = "images: {}, mail: {}"
        do {
            let daemon = try TestDaemon(Self.setup(threads), in: scratch)
            defer { daemon.kill() }
            let client = try daemon.connect()
            _ = try client.perform("images", "scale", "x")
            _ = try Taken.take(try daemon.connect(), as: "w1", "scale")
            if state == "paused" { #expect(try client.call("PAUSE", "images").text == "OK") }
            try daemon.crash()
        }
        let next = Self.setup(state == "missing" ? "mail: {}" : threads)
        let daemon = try TestDaemon(next, in: scratch, logName: "log2")
        defer { daemon.kill() }
        let client = try daemon.connect()
        let id = try client.perform("mail", "scale", "y")
        #expect(try Taken.take(try daemon.connect(), as: "w1", "scale").id == id)
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["GIVEBACK", "vanishes"])
    func `end a drain that waits for them alone`(word: String) throws {
        let scratch = try Scratch()
        let daemon = try TestDaemon(Self.setup("images: {}, post: {}"), in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        _ = try client.perform("post", "resize", "x")
        let drain = try daemon.connect()
        do {
            let worker = try daemon.connect()
            let job = try Taken.take(worker, "resize")
            try daemon.rewrite(section: "threads: { images: {} }")
            try client.send("RELOAD")
            try eventually("the reload waits") { daemon.log.contains("the reload waits for") }
            try drain.send("SHUTDOWN", "DRAIN")
            try eventually("the daemon drains") { daemon.log.contains("going down") }
            if word == "GIVEBACK" {
                try worker.send("GIVEBACK", .integer(job.id), .text(job.token))
            } else {
                #expect(try worker.call("PING").text == "PONG")
            }
        }
        #expect(try daemon.end() == "exit status 0")
    }
}
