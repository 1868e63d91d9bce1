// UNIQUE names: whether a job is new, whether another may follow, and what an old name leads to.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Unique names` {
    private static func setup(isDurable: Bool) -> Setup {
        var setup = isDurable ? Setup.durable : Setup()
        setup.threads = "images: {}, mail: {}"
        return setup
    }

    private func unique(
        _ client: TestClient, _ options: [CommandArgument], _ payload: CommandArgument = "x"
    ) throws -> RESPValue {
        try client.call(["PERFORM", "images", "echo", "UNIQUE", "n"] + options + [payload])
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `TELL says whether the job is new`(isDurable: Bool) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            for word in ["new", "known"] {
                let told = try unique(client, ["TELL"]).elements
                #expect(told == [.integer(1), .bulk(Array(word.utf8))])
            }
            #expect(try unique(client, []) == .integer(1))
            #expect(try unique(client, ["WAIT"]).text == "x")
            let both = try unique(client, ["TELL", "WAIT"])
            #expect(
                both.errorMessage
                    == "TELL answers with the job's number, and WAIT with its result: one of them")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `AGAIN makes a new job once the first has ended, was cancelled or dropped`(
        isDurable: Bool
    ) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            func again(_ isNew: Bool) throws -> Int {
                let told = try unique(client, ["AGAIN", "TELL"]).elements
                #expect(told?.last?.text == (isNew ? "new" : "known"))
                return told?.first?.integer ?? 0
            }
            _ = try client.call("PAUSE", "images")
            let first = try again(true)
            #expect(try again(false) == first)
            #expect(try client.call("CANCEL", .integer(first)).text == "cancelled")
            // A client's own repeat does not revive a cancelled job.
            #expect(try unique(client, []) == .integer(first))
            #expect(try unique(client, ["WAIT"]).errorWord == "CANCELLED")
            let second = try again(true)
            #expect(second > first)
            #expect(try unique(client, []) == .integer(second))
            _ = try client.call("RESUME", "images")
            #expect(try client.call("RESULT", .integer(second), "WAIT").text == "x")
            let third = try again(true)
            #expect(third > second)
            #expect(try client.call("RESULT", .integer(third), "WAIT").text == "x")
            let failing: [CommandArgument] = ["PERFORM", "images", "fail", "UNIQUE", "f"]
            #expect(try client.call(failing + ["WAIT", "why"]).errorWord == "FAILED")
            let failed = try #require(try client.call(failing + ["why"]).integer)
            #expect(try client.call("DROP", .integer(failed)) == .integer(1))
            #expect(try client.call(failing + ["why"]).integer == failed)
            #expect(try client.call(failing + ["WAIT", "why"]).errorWord == "GONE")
            #expect(try #require(client.call(failing + ["AGAIN", "why"]).integer) > failed)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `another thread, selector or payload under a name is a conflict`(isDurable: Bool) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            #expect(try unique(client, []) == .integer(1))
            #expect(try unique(client, ["PRIORITY", "low", "LABEL", "again"]) == .integer(1))
            let others: [[CommandArgument]] = [
                ["PERFORM", "mail", "echo", "UNIQUE", "n", "x"],
                ["PERFORM", "images", "sleep", "UNIQUE", "n", "x"],
                ["PERFORM", "images", "echo", "UNIQUE", "n", "y"],
                ["PERFORM", "images", "echo", "UNIQUE", "n", "TELL", "y"],
                ["PERFORM", "images", "echo", "UNIQUE", "n", "WAIT", "y"],
                ["PERFORM", "images", "echo", "UNIQUE", "n", "AGAIN", "y"],
            ]
            for other in others {
                let reply = try client.call(other)
                #expect(reply.errorWord == "CONFLICT")
                #expect(
                    reply.errorMessage
                        == "the name belongs to job 1, "
                        + "which has another thread, selector or payload"
                )
            }
            #expect(try client.figure("total_jobs_accepted") == 1)
            // Once its job has ended, the name is free for any job with AGAIN.
            #expect(try client.call("CANCEL", 1).text == "cancelled")
            #expect(try unique(client, [], "y").errorWord == "CONFLICT")
            #expect(try #require(unique(client, ["AGAIN"], "y").integer) > 1)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `results that names lead to outlast others, and then are said to be gone`(
        isDurable: Bool
    ) throws {
        var setup = Self.setup(isDurable: isDurable)
        setup.limits = "retainedResults: 1, retainedBytes: \"1KB\""
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            func wait(_ number: Int) throws -> RESPValue {
                let name = CommandArgument.text("n\(number)")
                return try client.call(
                    "PERFORM", "images", "echo", "UNIQUE", name, "WAIT", .integer(number))
            }
            // Each counts 256 bytes beside its result, so that three and no more are within 1 KB.
            for number in 1...3 { #expect(try wait(number).text == "\(number)") }
            for _ in 1...4 { _ = try client.call("PERFORM", "images", "echo", "WAIT", "other") }
            for number in 1...3 { #expect(try wait(number).text == "\(number)") }
            for number in 4...8 { #expect(try wait(number).text == "\(number)") }
            try eventually("the first result is dropped") {
                _ = try client.call("PERFORM", "images", "echo", "WAIT", "other")
                return try wait(1).errorWord == "GONE"
            }
            #expect(
                try wait(1).errorMessage == "job 1 has ended, and its result is kept no more")
            #expect(try client.call("RESULT", 1).errorWord == "NOJOB")
            #expect(try wait(8).text == "8")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `what is said of a name wrongly is refused`() throws {
        try withDaemon(Self.setup(isDurable: false)) { daemon in
            let client = try daemon.connect()
            for options in [
                ["FOR", "0"], ["FOR", "soon"], ["FOR", "31536000001"], ["FOR"],
                ["FOR", "1", "FOR", "2"], ["TELL", "TELL"], ["AGAIN", "AGAIN"],
            ] as [[CommandArgument]] {
                #expect(try unique(client, options).errorWord == "ERR", "\(options)")
            }
            #expect(
                try client.call("PERFORM", "images", "echo", "TELL", "x").errorWord == "ERR")
            #expect(try unique(client, ["FOR", "31536000000"]).integer == 1)
            // The payload is the last argument whatever it looks like.
            let telling = ["PERFORM", "images", "echo", "UNIQUE", "m"] as [CommandArgument]
            #expect(try client.call(telling + ["TELL"]).integer == 2)
            #expect(try client.call(telling + ["WAIT", "TELL"]).text == "TELL")
        }
    }
}

extension TestClient {
    fileprivate func call(_ arguments: [CommandArgument]) throws -> RESPValue {
        try send(Self.bytes(arguments))
        return try reply()
    }
}
