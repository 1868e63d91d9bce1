// In which order jobs run, and when.

import Kernel
import RESP
import Support
import Testing

@Suite struct `The order of jobs` {
    /// A selector that notes its payload in a file, in the order of running.
    private static let noting = Setup(
        selectors: """
            note: { program: ["sh", "-c", "cat >> order; echo >> order"], directory: "$DIR" }
            """)

    @Test(.timeLimit(.minutes(2)))
    func `high goes before normal before low, and each in order of arrival`() throws {
        try withDaemon(Self.noting) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            let jobs = [
                ("low", "l1"), ("normal", "n1"), ("high", "h1"), ("low", "l2"), ("high", "h2"),
                ("NORMAL", "n2"),
            ]
            for (priority, name) in jobs {
                _ = try client.perform("images", "note", "PRIORITY", .text(priority), .text(name))
            }
            _ = try client.perform("images", "note", "n3")
            _ = try client.call("RESUME", "images")
            for id in 1...7 { #expect(try client.call("RESULT", .integer(id), "WAIT").text == "") }
            #expect(daemon.scratch.read("order") == "h1\nh2\nn1\nn2\nn3\nl1\nl2\n")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `jobs of one thread run one after another, in order`() throws {
        try withDaemon(Self.noting) { daemon in
            let client = try daemon.connect()
            var expected = ""
            for number in 1...30 {
                try client.send("PERFORM", "images", "note", .text("\(number)"))
                expected += "\(number)\n"
            }
            for _ in 1...30 { _ = try client.reply() }
            #expect(try client.call("RESULT", 30, "WAIT").text == "")
            #expect(daemon.scratch.read("order") == expected)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a delayed job waits for its time, others do not wait for it`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let far = try client.perform("images", "echo", "DELAY", 3_600_000, "far")
            let before = WallClock.unixMilliseconds()
            let delayed = try client.perform("images", "echo", "DELAY", 150, "later")
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "now").text == "now")
            #expect(try client.job(far, "state").text == "delayed")
            #expect(try client.call("RESULT", .integer(delayed), "WAIT").text == "later")
            let due = try client.job(delayed, "due-at").integer ?? 0
            let started = try client.job(delayed, "started-at").integer ?? 0
            #expect(due >= Int(before) + 150)
            #expect(started >= due)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `AT a moment that has passed is now, one to come is waited for`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let past = try client.call("PERFORM", "images", "echo", "AT", 1, "WAIT", "past")
            #expect(past.text == "past")
            let now = Int(WallClock.unixMilliseconds())
            let far = try client.perform("images", "echo", "AT", .integer(now + 3_600_000), "x")
            #expect(try client.job(far, "due-at").integer == now + 3_600_000)
            #expect(try client.job(far, "state").text == "delayed")
            let moment = now + 100
            let id = try client.perform("images", "echo", "AT", .integer(moment), "future")
            #expect(try client.call("RESULT", .integer(id), "WAIT").text == "future")
            #expect(try client.job(id, "started-at").integer ?? 0 >= moment)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a time limit ends a job with TIMEOUT and the next one begins`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            try client.send("PERFORM", "images", "sleep", "TIMEOUT", 30, "WAIT", "3600000")
            try client.send("PERFORM", "images", "echo", "WAIT", "next")
            let reply = try client.reply()
            #expect(reply == .error("TIMEOUT job 1 took longer than its time limit"))
            #expect(try client.reply().text == "next")
            #expect(try client.job(1, "state").text == "failed")
            #expect(try client.job(1, "failure").text == "took longer than its time limit")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a pool of four runs four jobs at a time`() throws {
        try withDaemon(Setup(threads: "mail: { count: 4 }")) { daemon in
            let client = try daemon.connect()
            for _ in 0..<6 { _ = try client.perform("mail", "sleep", "3600000") }
            try eventually("four run") { try client.figure("running_jobs") == 4 }
            #expect(try client.figure("waiting_jobs") == 2)
            let workers = try (1...4).map { try client.job($0, "worker").text }
            #expect(Set(workers.compactMap { $0 }) == ["mail/1", "mail/2", "mail/3", "mail/4"])
            #expect(try client.call("CANCEL", 2).text == "requested")
            try client.waitUntil(5, is: "running")
            #expect(try client.job(6, "state").text == "waiting")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a member of a pool can be addressed by its name`() throws {
        try withDaemon(Setup(threads: "mail: { count: 3 }")) { daemon in
            let client = try daemon.connect()
            for _ in 0..<5 {
                let id = try client.perform("mail/2", "echo", "x")
                #expect(try client.call("RESULT", .integer(id), "WAIT").text == "x")
                #expect(try client.job(id, "worker").text == "mail/2")
            }
            #expect(try client.call("PERFORM", "mail/4", "echo", "x").errorWord == "NOTHREAD")
            // A busy member's own jobs wait for it although others are idle.
            let busy = try client.perform("mail/1", "sleep", "3600000")
            let waiting = try client.perform("mail/1", "echo", "mine")
            #expect(try client.call("PERFORM", "mail", "echo", "WAIT", "any").text == "any")
            #expect(try client.job(waiting, "state").text == "waiting")
            try client.waitUntil(busy, is: "running")
            #expect(try client.call("CANCEL", .integer(busy)).text == "requested")
            #expect(try client.call("RESULT", .integer(waiting), "WAIT").text == "mine")
        }
    }
}
