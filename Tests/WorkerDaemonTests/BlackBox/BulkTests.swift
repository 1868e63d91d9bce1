// Actions on many jobs at once, and failures in groups.

import Kernel
import RESP
import Support
import Testing

@Suite struct `An action on many jobs` {
    private static func setup(isDurable: Bool) -> Setup {
        var setup = isDurable ? Setup.durable : Setup()
        setup.threads = "images: {}, mail: {}"
        setup.selectors = """
            flaky: { program: ["sh", "-c", "cat >&2; [ -e ok ]"], directory: "$DIR" },
            """
        return setup
    }

    private func run(_ client: TestClient, _ arguments: CommandArgument...) throws -> RESPValue {
        try client.send(TestClient.bytes(["BULK"] + arguments))
        let begun = try client.reply()
        guard let number = begun["id"]?.integer else { throw Unexpected("\(begun)") }
        try eventually("the run has ended") {
            try client.call("BULK", "STATUS", .integer(number))["running"] == .boolean(false)
        }
        return try client.call("BULK", "STATUS", .integer(number))
    }

    private func count(_ client: TestClient, _ arguments: CommandArgument...) throws -> Int? {
        try client.send(TestClient.bytes(["BULK"] + arguments))
        return try client.reply()["count"]?.integer
    }

    private func states(_ client: TestClient, _ ids: ClosedRange<Int>) throws -> [String] {
        try ids.map { try client.job($0, "state").text ?? "" }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `cancels the jobs that meet its conditions, up to a number`(isDurable: Bool) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            _ = try client.call("HELLO", 3)
            _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            _ = try client.call("PAUSE", "images")
            // More than a page.
            for number in 0..<700 {
                let key: CommandArgument = number % 2 == 0 ? "even" : "odd"
                _ = try client.call("PERFORM", "images", "echo", "KEY", key, .integer(number))
            }
            #expect(try count(client, "CANCEL", "DRY", "images") == 700)
            #expect(try count(client, "CANCEL", "DRY", "images", "KEY", "odd") == 350)
            #expect(try count(client, "CANCEL", "DRY", "images", "KEY", "odd", "LIMIT", 3) == 3)
            #expect(try count(client, "CANCEL", "DRY", "mail") == 0)
            let dry = try client.call("BULK", "CANCEL", "DRY", "KEY", "odd")
            #expect(dry["count"]?.integer == 350 && dry["up-to"]?.integer == 701)
            let none = try run(client, "CANCEL", "UPTO", 0, "KEY", "odd")
            #expect(none["found"]?.integer == 0)
            // Accepted behind the count: not meant.
            let later = try client.perform("images", "echo", "KEY", "odd", "later")
            let first = try run(client, "CANCEL", "UPTO", 701, "KEY", "odd", "LIMIT", 10)
            #expect(first["found"]?.integer == 10 && first["done"]?.integer == 10)
            // The last ones go first.
            #expect(try states(client, 682...701).allSatisfy { $0 == "cancelled" } == false)
            #expect(try client.job(701, "state").text == "cancelled")
            let rest = try run(client, "CANCEL", "UPTO", 701, "KEY", "odd")
            #expect(rest["done"]?.integer == 340 && rest["changed"]?.integer == 0)
            #expect(rest["error"] == .null && rest["stopped"] == .boolean(false))
            #expect(try client.job(later, "state").text == "waiting")
            #expect(try count(client, "CANCEL", "DRY", "images") == 351)
            #expect(try client.job(1, "state").text == "done")
            _ = try client.call("RESUME", "images")
            #expect(try client.call("RESULT", .integer(later), "WAIT").text == "later")
            #expect(try client.call("RESULT", 2, "WAIT").text == "0")
            #expect(try client.call("RESULT", 3).errorWord == "CANCELLED")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `retries and drops failed jobs by their reasons`(isDurable: Bool) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            _ = try client.call("HELLO", 3)
            for number in 1...6 {
                let reason: CommandArgument =
                    number % 3 == 0 ? "no paper" : .text("port 8\(number)")
                _ = try client.call("PERFORM", "images", "fail", "WAIT", reason)
            }
            _ = try client.call("PERFORM", "mail", "flaky", "WAIT", "port 99 is closed")
            let groups = try client.call("FAILURES").elements ?? []
            let shown = groups.map { group in
                [group["selector"]?.text, group["reason"]?.text]
                    + ["count", "newest"].map { group[.init($0)]?.integer.map(String.init) }
            }
            #expect(
                shown == [
                    ["fail", "port #", "4", "5"], ["fail", "no paper", "2", "6"],
                    ["flaky", "exit status #: port # is closed", "1", "7"],
                ])
            #expect(groups.first?["failure"]?.text == "port 85")
            let ended = try client.job(1, "ended-at")
            #expect(groups.first?["first"] == ended)
            #expect(try client.call("FAILURES", "mail").elements?.count == 1)
            #expect(try client.call("FAILURES", "SELECTOR", "fail").elements?.count == 2)
            // The pattern of a group, or a reason as JOB shows it.
            #expect(try count(client, "RETRY", "DRY", "REASON", "port #") == 4)
            #expect(try count(client, "RETRY", "DRY", "REASON", "port 81") == 4)
            #expect(try count(client, "RETRY", "DRY", "REASON", "port") == 0)
            let jobs = try client.call("JOBS", "REASON", "no paper").elements ?? []
            #expect(jobs.compactMap { $0["id"]?.integer } == [6, 3])

            let dropped = try run(client, "DROP", "SELECTOR", "fail", "REASON", "port #")
            #expect(dropped["found"]?.integer == 4 && dropped["done"]?.integer == 4)
            #expect(try client.call("JOB", 1).errorWord == "NOJOB")
            #expect(try client.call("FAILURES").elements?.count == 2)
            try daemon.scratch.write("", to: "ok")
            let retried = try run(client, "RETRY", "SELECTOR", "flaky", "failed")
            #expect(retried["done"]?.integer == 1)
            try client.waitUntil(7, is: "done")
            #expect(try client.call("BULK", "LIST").elements?.count == 2)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `counts jobs that have changed, and leaves running ones unless told`() throws {
        try withDaemon(Self.setup(isDurable: true)) { daemon in
            let client = try daemon.connect()
            _ = try client.call("HELLO", 3)
            let running = try client.perform("images", "sleep", 60_000)
            try client.waitUntil(running, is: "running")
            #expect(try count(client, "CANCEL", "DRY", "images") == 0)
            let asked = try run(client, "CANCEL", "images", "running")
            #expect(asked["done"]?.integer == 1)
            try client.waitUntil(running, is: "cancelled")
            // Found twice at the same time, and dropped once.
            for _ in 0..<300 { _ = try client.call("PERFORM", "images", "fail", "WAIT", "x") }
            try client.send("BULK", "DROP", "images")
            try client.send("BULK", "DROP", "images")
            let numbers = try (0..<2).map { _ in try #require(client.reply()["id"]?.integer) }
            try eventually("both have ended") {
                try numbers.allSatisfy {
                    try client.call("BULK", "STATUS", .integer($0))["running"] == .boolean(false)
                }
            }
            let ended = try numbers.map { try client.call("BULK", "STATUS", .integer($0)) }
            #expect(ended.reduce(0) { $0 + ($1["done"]?.integer ?? 0) } == 300)
            for run in ended {
                let sum = (run["done"]?.integer ?? 0) + (run["changed"]?.integer ?? 0)
                #expect(run["found"]?.integer == sum)
            }
        }
    }

    @Test(.timeLimit(.minutes(2))) func `stops between two pages`() throws {
        try withDaemon(Self.setup(isDurable: true)) { daemon in
            let client = try daemon.connect()
            _ = try client.call("HELLO", 3)
            _ = try client.call("PAUSE", "images")
            for number in 0..<2_000 {
                try client.send("PERFORM", "images", "echo", .integer(number))
            }
            for _ in 0..<2_000 { _ = try client.reply() }
            let replies = try client.callTogether(
                ["BULK", "CANCEL", "images"], ["BULK", "STOP", 1])
            #expect(replies.last?["stopped"] == .boolean(true))
            try eventually("it has ended") {
                try client.call("BULK", "STATUS", 1)["running"] == .boolean(false)
            }
            let status = try client.call("BULK", "STATUS", 1)
            let done = try #require(status["done"]?.integer)
            #expect(done < 2_000)
            #expect(try count(client, "CANCEL", "DRY", "images") == 2_000 - done)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `has its arguments checked`() throws {
        try withDaemon(Self.setup(isDurable: false)) { daemon in
            let client = try daemon.connect()
            let wrong: [([CommandArgument], String)] = [
                (["BULK", "CANCEL"], "condition"), (["BULK", "PAINT", "images"], "PAINT"),
                (["BULK", "CANCEL", "DRY"], "condition"),
                (["BULK", "RETRY", "waiting"], "waiting"),
                (["BULK", "DROP", "stuck"], "stuck"), (["BULK", "CANCEL", "done"], "done"),
                (["BULK", "CANCEL", "images", "UPTO"], "UPTO"),
                (["BULK", "CANCEL", "images", "UPTO", "x"], "x"),
                (["BULK", "CANCEL", "images", "LIMIT", -1], "LIMIT"),
                (["BULK", "CANCEL", "images", "KEY", "a", "KEY", "b"], "twice"),
                (["BULK", "CANCEL", "images", "mail"], "mail"),
                (["BULK", "STATUS", "x"], "number"), (["BULK", "STATUS"], "STATUS"),
                (["FAILURES", "waiting"], "failed"), (["FAILURES", "SELECTOR"], "SELECTOR"),
            ]
            for (arguments, word) in wrong {
                try client.send(TestClient.bytes(arguments))
                let reply = try client.reply()
                #expect(reply.errorWord == "ERR" && "\(reply)".contains(word), "\(reply)")
            }
            #expect(try client.call("BULK", "STATUS", 7).errorWord == "NOJOB")
            #expect(try client.call("BULK", "STOP", 7).errorWord == "NOJOB")
            #expect(try client.call("BULK", "DROP", "nobody").errorWord == "NOTHREAD")
            let most = CommandArgument.text("\(UInt64.max)")
            let last = try client.call("BULK", "CANCEL", "DRY", "images", "UPTO", most)
            #expect(last["count"]?.integer == 0)
        }
    }
}
