// Keys: what has the same one runs on one thread, in order; and jobs that hold up their order while
// they are tried again.

import Kernel
import RESP
import Support
import Testing

@Suite struct `The order of keys` {
    /// `note` writes down where and what it runs; `meet` as well, and ends only when all four
    /// threads have begun something; `flaky` fails until there is `ok`.
    private static let selectors = """
        note: { program: ["sh", "-c", "read l; echo $WORKERD_THREAD $l >> order"],
                directory: "$DIR" },
        meet: { program: ["sh", "-c", "read l; echo $WORKERD_THREAD $l >> order; \
            until [ $(cut -d' ' -f1 order | sort -u | wc -l) -ge 4 ]; do sleep 0.01; done"],
                directory: "$DIR" },
        flaky: { program: ["sh", "-c",
            "read l; echo $WORKERD_THREAD $l >> order; [ -e ok ]"],
            directory: "$DIR", retries: 100, retry: "block" },
        """

    private static func setup(isDurable: Bool) -> Setup {
        var setup = isDurable ? Setup.durable : Setup()
        setup.threads = "one: {}, mail: { count: 4 }"
        setup.selectors = selectors
        return setup
    }

    /// The lines written by jobs, with their threads.
    private static func lines(_ daemon: TestDaemon) -> [(thread: String, text: String)] {
        daemon.scratch.read("order").split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            return (String(words[0]), words.dropFirst().joined(separator: " "))
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `ten keys of a pool keep their order, each on one thread while it has work`(
        isDurable: Bool
    ) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "mail")
            for number in 0..<60 {
                let key = "k\(number % 10)"
                // The first four meet: however late a thread wakes, none is left without a key.
                let selector: CommandArgument = number < 4 ? "meet" : "note"
                _ = try client.perform(
                    "mail", selector, "KEY", .text(key), .text("\(key) \(number)"))
            }
            _ = try client.call("RESUME", "mail")
            try eventually("all have run") { try client.figure("total_jobs_done") == 60 }
            let lines = Self.lines(daemon)
            #expect(Set(lines.map(\.thread)).count == 4)
            for key in 0..<10 {
                let own = lines.filter { $0.text.hasPrefix("k\(key) ") }
                #expect(Set(own.map(\.thread)).count == 1)
                let numbers = own.compactMap { Int($0.text.split(separator: " ")[1]) }
                #expect(numbers == stride(from: key, to: 60, by: 10).map { $0 })
            }
            let id = try client.perform("mail", "note", "KEY", "k\r\nx", "last")
            #expect(try client.job(id, "key").text == "k\r\nx")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `a job that blocks holds up its key alone, in every priority, until it has succeeded`(
        isDurable: Bool
    ) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            let blocker = try client.perform("mail", "flaky", "KEY", "a", "a 1")
            // Until it has begun, a job of a higher priority is not behind it.
            try eventually("it has begun") { !Self.lines(daemon).isEmpty }
            let behind = [
                try client.perform("mail", "note", "KEY", "a", "PRIORITY", "low", "a 4"),
                try client.perform("mail", "note", "KEY", "a", "a 3"),
                try client.perform("mail", "note", "KEY", "a", "PRIORITY", "high", "a 2"),
            ]
            let cancelled = try client.perform("mail", "note", "KEY", "a", "never")
            #expect(
                try client.call("PERFORM", "mail", "note", "KEY", "b", "WAIT", "b 1").text == "")
            try client.waitUntil(blocker, is: "delayed")
            for id in behind { #expect(try client.job(id, "state").text == "waiting") }
            #expect(
                try client.call("RESULT", .integer(behind[0]), "WAIT", 20).errorWord == "TIMEOUT")
            #expect(try client.call("CANCEL", .integer(cancelled)).text == "cancelled")
            try eventually("three wait") {
                try client.call("THREAD", "mail")["waiting"] == .integer(3)
            }
            try daemon.scratch.write("", to: "ok")
            for id in behind { #expect(try client.call("RESULT", .integer(id), "WAIT").text == "") }
            let texts = Self.lines(daemon).map(\.text)
            let own = texts.filter { $0.hasPrefix("a") }
            // How often it was tried in vain is a matter of time.
            #expect(own.count { $0 == "a 1" } >= 2)
            #expect(own.drop { $0 == "a 1" } == ["a 2", "a 3", "a 4"])
            #expect(!texts.contains("never"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `without a key it holds up its thread, until its attempts are used up or it is cancelled`()
        throws
    {
        try withDaemon(Self.setup(isDurable: true)) { daemon in
            let client = try daemon.connect()
            let used = try client.perform("one", "fail", "RETRY", 1, "BLOCK", "no")
            let behind = try client.perform("one", "note", "KEY", "k", "1")
            let member = try client.perform("mail/2", "flaky", "m")
            let other = try client.perform("mail/2", "note", "m2")
            try client.waitUntil(member, is: "delayed")
            #expect(try client.call("PERFORM", "mail/1", "note", "WAIT", "m1").text == "")
            #expect(try client.job(other, "state").text == "waiting")
            // Between two attempts, however late this is.
            try client.pauseAndWait("mail/2")
            #expect(try client.call("CANCEL", .integer(member)).text == "cancelled")
            _ = try client.call("RESUME", "mail/2")
            #expect(try client.call("RESULT", .integer(other), "WAIT").text == "")
            #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "")
            #expect(try client.job(used, "state").text == "failed")
            #expect(try client.job(used, "attempt") == .integer(2))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `aside is what a job says, and what a pool's jobs without a key do`() throws {
        try withDaemon(Self.setup(isDurable: false)) { daemon in
            let client = try daemon.connect()
            let aside = try client.perform("one", "flaky", "RETRY", 100, "ASIDE", "1")
            try client.waitUntil(aside, is: "delayed")
            #expect(try client.call("PERFORM", "one", "note", "WAIT", "2").text == "")
            let pooled = try client.perform("mail", "flaky", "3")
            try client.waitUntil(pooled, is: "delayed")
            #expect(try client.call("PERFORM", "mail", "note", "WAIT", "4").text == "")
            // Neither has ended: they are tried again and again.
            for id in [aside, pooled] { #expect(try client.call("RESULT", .integer(id)) == .null) }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [Signal.kill, .terminate])
    func `who blocks is still the first after a restart`(signal: Signal) throws {
        let scratch = try Scratch()
        let setup = Self.setup(isDurable: true)
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        var ids: [Int] = []
        for key in ["a", "b", "c"] {
            ids.append(try client.perform("mail", "flaky", "KEY", .text(key), .text("\(key) 0")))
        }
        ids.append(try client.perform("one", "flaky", "one 0"))
        for number in 1...4 {
            for key in ["a", "b", "c"] {
                ids.append(
                    try client.perform(
                        "mail", "note", "KEY", .text(key), .text("\(key) \(number)")))
            }
            ids.append(try client.perform("one", "note", .text("one \(number)")))
        }
        for id in ids.prefix(4) { try client.waitUntil(id, is: "delayed") }
        try first.send(signal)
        _ = try first.end()
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        let again = try second.connect()
        try second.scratch.write("", to: "ok")
        for id in ids { #expect(try again.call("RESULT", .integer(id), "WAIT").text == "") }
        let texts = Self.lines(second).map(\.text)
        for key in ["a", "b", "c", "one"] {
            let own = texts.filter { $0.hasPrefix(key) }
            #expect(own.drop { $0 == "\(key) 0" } == (1...4).map { "\(key) \($0)" }[...])
            #expect(own.first == "\(key) 0")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `options that are none are refused`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let long = CommandArgument.text(String(repeating: "k", count: 257))
            for option in ["KEY", "UNIQUE"] {
                let name = CommandArgument.text(option)
                for value in [long, ""] {
                    let reply = try client.call("PERFORM", "images", "echo", name, value, "x")
                    #expect(reply.errorWord == "ERR")
                }
                #expect(try client.call("PERFORM", "images", "echo", name, "x").errorWord == "ERR")
            }
        }
    }
}
