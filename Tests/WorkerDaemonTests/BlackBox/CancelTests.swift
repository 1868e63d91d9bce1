// Taking jobs back, and collecting them before they are handed over.

import Kernel
import RESP
import Testing

@Suite struct `Cancelling and buffering` {
    @Test(.timeLimit(.minutes(2)))
    func `a waiting job that is cancelled never runs`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let waiting = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            try waiting.send("PERFORM", "images", "echo", "WAIT", "x")
            try eventually("it waits") { try client.figure("waiting_jobs") == 1 }
            #expect(try client.call("CANCEL", 1).text == "cancelled")
            #expect(try waiting.reply() == .error("CANCELLED job 1 was cancelled"))
            _ = try client.call("RESUME", "images")
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "y").text == "y")
            #expect(try client.job(1, "state").text == "cancelled")
            #expect(try client.job(1, "started-at") == .null)
            #expect(try client.call("RESULT", 1).errorWord == "CANCELLED")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `very many collected jobs are taken back in a moment, and others stay collected`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let count = 40_000
            #expect(try client.call("BUFFER", "images", "sha256", "x") == .integer(1))
            let one = TestClient.bytes(["BUFFER", "images", "echo", "x"])
            for _ in 0..<count / 5_000 {
                try client.send([[UInt8]](repeating: one, count: 5_000).flatMap { $0 })
                for _ in 0..<5_000 { _ = try client.reply() }
            }
            let before = try processorTime(of: daemon.processID)
            #expect(try client.call("CANCEL", "images", "echo") == .integer(count))
            #expect(try processorTime(of: daemon.processID) - before < .seconds(4))
            #expect(try client.figure("buffered_jobs") == 1)
            #expect(try client.call("FIRE", "images") == .integer(1))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a running job that is cancelled ends early`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let waiting = try daemon.connect()
            try waiting.send("PERFORM", "images", "sleep", "WAIT", "3600000")
            try eventually("it runs") { try client.figure("running_jobs") == 1 }
            #expect(try client.call("CANCEL", 1).text == "requested")
            #expect(try waiting.reply().errorWord == "CANCELLED")
            #expect(try client.job(1, "state").text == "cancelled")
            #expect(try client.call("CANCEL", 1).text == "toolate")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a job that has ended or never was cannot be cancelled`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(try client.call("CANCEL", 1).text == "toolate")
            #expect(try client.call("RESULT", 1).text == "x")
            #expect(try client.call("CANCEL", 2).errorWord == "NOJOB")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a delayed and a buffered job can be cancelled`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let replies = try client.callTogether(
                ["PERFORM", "images", "echo", "DELAY", 50, "x"], ["CANCEL", 1],
                ["BUFFER", "images", "echo", "x"], ["CANCEL", 2])
            let (delayed, buffered) = (1, 2)
            #expect(replies.map(\.integer) == [delayed, nil, buffered, nil])
            #expect(replies.map(\.text) == [nil, "cancelled", nil, "cancelled"])
            for id in [delayed, buffered] {
                #expect(try client.job(id, "state").text == "cancelled")
            }
            #expect(try client.call("FIRE", "images") == .integer(0))
            let last = try client.perform("images", "echo", "DELAY", 60, "x")
            #expect(try client.call("RESULT", .integer(last), "WAIT").text == "x")
            #expect(try client.job(delayed, "started-at") == .null)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `CANCEL thread selector takes back what waits, and only that`() throws {
        try withDaemon(Setup(threads: "images: {}, mail: { count: 2 }")) { daemon in
            let client = try daemon.connect()
            let running = try client.perform("images", "sleep", "3600000")
            try client.waitUntil(running, is: "running")
            for payload: CommandArgument in ["a", "b", "a", ""] {
                _ = try client.perform("images", "echo", payload)
            }
            let other = try client.perform("images", "sleep", "1")
            _ = try client.call("PAUSE", "mail")
            let elsewhere = try client.perform("mail", "echo", "a")
            let member = try client.perform("mail/2", "echo", "a")
            #expect(try client.call("CANCEL", "images", "echo", "a") == .integer(2))
            #expect(try client.call("CANCEL", "images", "echo", "a") == .integer(0))
            #expect(try client.call("CANCEL", "images", "echo", "") == .integer(1))
            #expect(try client.call("CANCEL", "images", "echo") == .integer(1))
            #expect(try client.call("CANCEL", "images", "sha256") == .integer(0))
            #expect(try client.job(other, "state").text == "waiting")
            #expect(try client.call("CANCEL", "mail/2", "echo") == .integer(1))
            #expect(try client.job(member, "state").text == "cancelled")
            #expect(try client.call("CANCEL", "mail", "echo") == .integer(1))
            #expect(try client.job(elsewhere, "state").text == "cancelled")
            #expect(try client.job(running, "state").text == "running")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `buffered jobs wait for one FIRE and then run in order`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let ids = try ["one", "two", "three"].map { word in
                try client.call("BUFFER", "images", "echo", .text(word)).integer ?? 0
            }
            #expect(ids == [1, 2, 3])
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            for id in ids { #expect(try client.job(id, "state").text == "buffered") }
            #expect(try client.call("FIRE", "images") == .integer(3))
            #expect(try client.call("RESULT", 3, "WAIT").text == "three")
            #expect(try client.call("RESULT", 1).text == "one")
            #expect(try client.call("FIRE", "images") == .integer(0))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `FIRE of a member fires its own, FIRE of the pool all the rest`() throws {
        try withDaemon(Setup(threads: "mail: { count: 2 }")) { daemon in
            let client = try daemon.connect()
            _ = try client.call("BUFFER", "mail", "echo", "any")
            _ = try client.call("BUFFER", "mail/1", "echo", "first")
            _ = try client.call("BUFFER", "mail/2", "echo", "second")
            #expect(try client.call("FIRE", "mail/2") == .integer(1))
            #expect(try client.call("RESULT", 3, "WAIT").text == "second")
            #expect(try client.job(1, "state").text == "buffered")
            #expect(try client.job(2, "state").text == "buffered")
            #expect(try client.call("FIRE", "mail") == .integer(2))
            #expect(try client.call("RESULT", 1, "WAIT").text == "any")
            #expect(try client.call("RESULT", 2, "WAIT").text == "first")
        }
    }
}
