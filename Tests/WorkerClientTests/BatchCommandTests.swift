// `workerctl perform` with many jobs: one for each file, or one for each line of standard input.

import Support
import Testing
import WorkerClient

@Suite(.timeLimit(.minutes(2)))
struct `workerctl perform of many` {
    @Test func `lines become jobs in their order, and results come in it`() throws {
        let daemon = try TestDaemon()
        let lines = (1...300).map { "\($0 % 7 == 0 ? "" : "line \($0)")" }
        let input = Array(lines.joined(separator: "\n").utf8)
        let given = try daemon.workerctl("perform", "images", "echo", "--lines", input: input)
        #expect(given.status == 0, "\(given.errors)")
        #expect(given.text == (1...300).map { "\($0)\n" }.joined())
        #expect(try daemon.workerctl("result", "300", "--wait").text == "line 300")
        #expect(try daemon.workerctl("result", "7", "--wait").text == "")
        let results = try daemon.workerctl(
            "perform", "images", "shout", "--lines", "--wait", input: Array("a\n\nlast".utf8))
        #expect(results.text == "A\n\nLAST\n")
        // No terminal, no progress bar.
        #expect(results.errors == "")
    }

    @Test func `files become jobs, and failures are told by their names`() throws {
        let daemon = try TestDaemon()
        let one = try daemon.scratch.write(Array("one".utf8), to: "one")
        let two = try daemon.scratch.write([0xFF], to: "two")
        let none = daemon.scratch.file("none")
        let given = try daemon.workerctl("perform", "images", "echo", "--each", one, two)
        #expect(given.text == "1  \(one)\n2  \(two)\n")
        let results = try daemon.workerctl(
            "perform", "images", "echo", "--each", one, none, two, "--wait", "--json")
        #expect(results.status == 66)
        let documents = results.text.split(separator: "\n")
        try #require(documents.count == 3)
        #expect(documents[0].contains(#""place":1,"id":3,"result":"one"}"#))
        #expect(documents[1].contains(#""place":2,"id":null,"error":{"#))
        #expect(documents[2].contains(#""result":{"base64":"/w=="}"#))
        #expect(
            results.errors.hasPrefix("workerctl: \(none): can't read the payload from \(none)"))
        #expect(results.errors.hasSuffix("3 inputs, 2 good, 1 failed\n"))
        let failed = try daemon.workerctl("perform", "images", "fail", "--each", one, "--wait")
        #expect(failed.status == 1)
        #expect(failed.text == "")
        #expect(failed.errors.hasPrefix("workerctl: \(one): job 5: one (FAILED)\n"))
        let input = try daemon.workerctl(
            "perform", "images", "shout", "--each", "-", one, "--wait", input: Array("in".utf8))
        #expect(input.text == "IN\nONE\n")
    }

    @Test func `a full queue is waited for, and not without patience`() throws {
        let daemon = try TestDaemon()
        let input = Array(String(repeating: "1\n", count: 60).utf8)
        // The pool holds two waiting jobs.
        let run = try daemon.workerctl(
            "perform", "mail", "sleep", "--lines", "--wait", "--in-flight", "60", input: input)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.text == String(decoding: input, as: UTF8.self))
        _ = try daemon.workerctl("pause", "mail")
        let refused = try daemon.workerctl(
            "perform", "mail", "sleep", "--lines", "--patience", "0", input: input)
        #expect(refused.status == 75)
        #expect(refused.text.split(separator: "\n").count == 2)
        #expect(refused.errors.contains("line 3: can't perform 'sleep' on thread 'mail'"))
        #expect(refused.errors.hasSuffix("60 inputs, 2 good, 58 failed\n"))
    }

    @Test func `no more jobs than allowed are in flight`() throws {
        let daemon = try TestDaemon()
        let input = Array(String(repeating: "1\n", count: 60).utf8)
        // With a third job in flight, some would find the queue of two full.
        let run = try daemon.workerctl(
            "perform", "mail", "sleep", "--lines", "--wait", "--in-flight", "2", "--patience", "0",
            input: input)
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test func `jobs are handed in without waiting for the answers of those before them`() throws {
        let server = try FakeServer({ session in
            try session.greet()
            for payload in ["a", "b", "c"] {
                #expect(try session.command() == ["PERFORM", "t", "s", payload])
            }
            try session.send(":7\r\n:8\r\n:9\r\n")
            session.readToEnd()
        })
        let run = try CommandLineRun(
            ["--socket", server.address.description, "perform", "t", "s", "--lines"],
            input: Array("a\nb\nc\n".utf8))
        #expect(run.text == "7\n8\n9\n")
        try server.finish()
    }

    @Test func `the first failure ends it, if asked for, and so does the daemon's end`() throws {
        let daemon = try TestDaemon()
        let one = try daemon.scratch.write([], to: "one")
        let none = daemon.scratch.file("none")
        let fast = try daemon.workerctl(
            "perform", "images", "echo", "--each", none, one, one, "--fail-fast", "--in-flight",
            "1")
        #expect(fast.status == 66)
        #expect(fast.errors.hasSuffix("1 input, 0 good, 1 failed, 2 not handed in\n"))
        #expect(try daemon.workerctl("jobs", "--json").text == "[]\n")
        let server = try FakeServer({ session in
            try session.greet()
            #expect(try session.command() == ["PERFORM", "t", "s", "a"])
        })
        let broken = try CommandLineRun(
            ["--socket", server.address.description, "perform", "t", "s", "--lines"],
            input: Array("a\n".utf8))
        #expect(broken.status == 69)
        #expect(broken.errors.contains("line 1: can't perform 's' on thread 't': the connection"))
        try server.finish()
    }

    @Test(arguments: [
        ["--each"], ["--lines", "payload"], ["--each", "--lines", "f"], ["--in-flight", "2"],
        ["--lines", "--in-flight", "1001"], ["--lines", "--unique", "u"], ["--lines", "--wait=5s"],
        ["x", "y"],
    ])
    func `options that do not go together are refused`(options: [String]) throws {
        let run = try CommandLineRun(["perform", "images", "echo"] + options)
        #expect(run.status == 64, "\(options): \(run.errors)")
    }
}
