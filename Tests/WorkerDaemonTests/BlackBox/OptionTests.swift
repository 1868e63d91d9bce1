// Options that say more about a job: what it is called, and until when it may begin.

import Kernel
import RESP
import Support
import Testing
import WorkerClient

@Suite struct `What is said about a job` {
    @Test(.timeLimit(.minutes(2)), arguments: [Setup(), Setup.durable])
    func `a label is shown wherever the job is, and kept`(setup: Setup) throws {
        var setup = setup
        setup.log = "level: \"info\""
        let scratch = try Scratch()
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        let watcher = try first.connect()
        _ = try client.call("PAUSE", "images")
        #expect(
            try client.call("PERFORM", "images", "fail", "LABEL", "night run \u{1B}[1m", "no")
                == .integer(1))
        #expect(try client.call("PERFORM", "images", "echo", "KEY", "k", "x") == .integer(2))
        #expect(try client.job(1, "label").text == "night run \u{1B}[1m")
        #expect(try client.call("JOB", 2)["label"] == nil)
        let listed = try client.call("JOBS", "waiting").elements ?? []
        #expect(listed.compactMap { $0["label"]?.text } == ["night run \u{1B}[1m"])
        _ = try watcher.call("HELLO", 3)
        #expect(try watcher.call("OBSERVE", 1) == .integer(1))
        guard case .push(let parts) = try watcher.reply() else {
            Issue.record("no push")
            return
        }
        #expect(parts[3]["label"]?.text == "night run \u{1B}[1m")
        if setup.store != Setup().store {
            try first.crash()
            let second = try TestDaemon(setup, in: scratch, logName: "log2")
            defer { second.kill() }
            let client = try second.connect()
            #expect(try client.job(1, "label").text == "night run \u{1B}[1m")
            #expect(try client.job(2, "key").text == "k")
            _ = try client.call("RESUME", "images")
            #expect(try client.call("RESULT", 1, "WAIT").errorWord == "FAILED")
            #expect(try client.job(1, "label").text == "night run \u{1B}[1m")
            #expect(second.log.contains("job 1 (fail, label night run \\x1b[1m) failed on"))
            #expect(try client.call("RETRY", 1) == .integer(1))
            #expect(try client.call("RESULT", 1, "WAIT").errorWord == "FAILED")
            #expect(try client.job(1, "label").text == "night run \u{1B}[1m")
        } else {
            _ = try client.call("RESUME", "images")
            #expect(try client.call("RESULT", 1, "WAIT").errorWord == "FAILED")
            #expect(first.log.contains("job 1 (fail, label night run"))
        }
    }

    private static let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test(.timeLimit(.minutes(2)))
    func `a trace goes to the handler, is shown and is kept`() throws {
        var setup = Setup.durable
        setup.listen = Setup.http.listen
        setup.log = "level: \"info\""
        setup.selectors = """
            tell: { program: ["sh", "-c", "echo -n \\"${TRACEPARENT-none}\\""] },
            turn: { worker: true },
            """
        try withDaemon(setup) { daemon in
            let (client, trace) = (try daemon.connect(), CommandArgument.text(Self.trace))
            let told = try client.call("PERFORM", "images", "tell", "TRACE", trace, "WAIT", "")
            #expect(told.text == Self.trace)
            #expect(try client.call("PERFORM", "images", "tell", "WAIT", "").text == "none")
            #expect(try client.job(1, "trace").text == Self.trace)
            #expect(try client.call("JOB", 2)["trace"] == nil)
            _ = try client.call("PERFORM", "images", "fail", "TRACE", trace, "WAIT", "no")
            #expect(daemon.log.contains("job 3 (fail, trace \(Self.trace)) failed"))
            let refused = try client.call("PERFORM", "images", "tell", "TRACE", "00-1-2-3", "")
            #expect(refused.errorWord == "ERR" && "\(refused)".contains("traceparent"))

            let http = try daemon.connectHTTP()
            let body = #"{"thread":"images","selector":"tell","wait":true}"#
            let field = "traceparent: \(Self.trace)"
            #expect(try http.post("/api/jobs", body, fields: [field]).text.contains(Self.trace))
            // One that is not well formed is passed over, as its standard asks.
            let odd = try http.post("/api/jobs", body, fields: ["traceparent: 00-1-2-3"])
            #expect(odd.text.contains("none"), "\(odd.text)")

            _ = try client.call("PERFORM", "images", "turn", "TRACE", trace, "payload")
            let worker = try daemon.connect()
            let taken = try worker.call("TAKE", "WAIT", 60_000, "TRACE", "FROM", "turn")
            #expect(taken.elements?[7].text == Self.trace)
            #expect(taken.elements?.last?.text == "payload" && taken.elements?.count == 9)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a selector says when its jobs expire, collected ones too, and a client otherwise`()
        throws
    {
        var setup = Setup.durable
        setup.selectors = "soon: { program: [\"cat\"], expire: \"1ms\" },"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            #expect(try client.call("BUFFER", "images", "soon", "x") == .integer(1))
            #expect(
                try client.call("PERFORM", "images", "soon", "WAIT", "x").errorWord == "EXPIRED")
            try client.waitUntil(1, is: "expired")
            #expect(try client.call("RESULT", 1).errorWord == "EXPIRED")
            #expect(
                try client.call("PERFORM", "images", "soon", "EXPIRE", 3_600_000, "x")
                    == .integer(3))
            #expect(try client.job(3, "expires-at").integer != nil)
            #expect(try client.call("CANCEL", 1).text == "toolate")
            #expect(try client.call("FIRE", "images") == .integer(0))
            _ = try client.call("RESUME", "images")
            #expect(try client.call("RESULT", 3, "WAIT").text == "x")
            #expect(try client.call("JOB", 3)["expires-at"] == nil)
            #expect(try client.figure("total_jobs_expired") == 2)
            let expired = try client.call("JOBS", "expired").elements ?? []
            #expect(expired.compactMap { $0["id"]?.integer } == [2, 1])
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [Setup.memory, Setup.durable.store])
    func `a client is told that its job expired also if no results are kept`(
        store: String
    ) throws {
        try withDaemon(Setup(limits: "retainedResults: 0", store: store)) { daemon in
            let client = try daemon.connect()
            let commands = (0..<300).map { _ in
                ["PERFORM", "images", "echo", "EXPIRE", 1, "WAIT", "x"] as [CommandArgument]
            }
            try client.send(commands.flatMap(TestClient.bytes))
            for _ in commands {
                let reply = try client.reply()
                #expect(reply.text == "x" || reply.errorWord == "EXPIRED", "\(reply)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `the Swift client says it, and a schedule does`() throws {
        var setup = Setup.durable
        setup.threads = "images: {}, mail: {}"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let swift = try WorkerClient(.unix(daemon.socket))
            try swift.pause("images")
            let options = PerformOptions(expiry: .milliseconds(1), label: "mine")
            #expect(throws: WorkerClientError.self) {
                try swift.performAndWait(
                    onThread: "images", selector: "echo", payload: [], options: options,
                    wait: .forever)
            }
            #expect(try swift.job(1).summary.state == .expired)
            #expect(try client.job(1, "label").text == "mine")
            #expect(
                try client.call(
                    "SCHEDULE", "beat", "EVERY", 10, "EXPIRE", 1, "LABEL", "tick", "images", "echo",
                    "x"
                ).text == "OK")
            try eventually("one has expired") {
                try client.figure("total_jobs_expired") >= 2
            }
            #expect(try client.job(2, "label").text == "tick")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `and what is wrong with it`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            for (options, hint) in [
                (["EXPIRE", "0"], "EXPIRE must be at least 1 ms"),
                (["EXPIRE", "soon"], "EXPIRE must be a whole number"),
                (["EXPIRE"], "EXPIRE needs a number, and a payload behind it"),
                (["LABEL"], "LABEL needs a value, and a payload behind it"),
                (["LABEL", ""], "LABEL has 1 to 256 bytes, not 0"),
                (["LABEL", String(repeating: "x", count: 257)], "1 to 256 bytes, not 257"),
                (["EXPIRE", "5", "EXPIRE", "5"], "EXPIRE is given twice"),
            ] {
                let words = ["PERFORM", "images", "echo"] + options + ["x"]
                try client.send(TestClient.bytes(words.map { .text($0) }))
                let reply = try client.reply()
                guard case .error(let text) = reply else {
                    Issue.record("\(options) was answered \(reply)")
                    continue
                }
                #expect(text.contains(hint))
            }
        }
    }
}
