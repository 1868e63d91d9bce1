// ARGS and ENV: what a job adds to its program's arguments and environment.

import Kernel
import RESP
import Support
import Testing
import WorkerClient

@Suite struct `Arguments of a job` {
    private static let selectors = """
        show: {
            program: [
                "sh", "-c", "for a; do printf '%s|' \\"$a\\"; done", "sh", "{arguments}", "end"
            ],
            jobArguments: { "--size": "joined", "-n": "separate", "-v": "flag" },
        },
        plain: {
            program: ["sh", "-c", "for a; do printf '%s|' \\"$a\\"; done; printf $WIDTH", "sh"],
            jobArguments: { "--size": "joined" }, jobEnvironment: ["WIDTH"],
            environment: { WIDTH: "80" },
        },
        mark: { program: ["printf", "%s", "{arguments}"] },
        """
    private let setup = Setup(selectors: Self.selectors)

    @Test(.timeLimit(.minutes(2)))
    func `the program gets them in the configured place and form, read by no shell`() throws {
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            func run(_ words: CommandArgument...) throws -> String? {
                let before: [CommandArgument] = ["PERFORM", "images"]
                try client.send(TestClient.bytes(before + words + ["WAIT", ""]))
                return try client.reply().text
            }
            #expect(try run("show") == "end|")
            #expect(
                try run("show", "ARGS", 4, "--size=$HOME; exit 3", "-v", "-n=a=b", "--size=")
                    == "--size=$HOME; exit 3|-v|-n|a=b|--size=|end|")
            #expect(try run("plain") == "80")
            #expect(
                try run("plain", "ENV", 1, "WIDTH=4=0", "ARGS", 1, "--size=x") == "--size=x|4=0")
            #expect(try run("mark") == "{arguments}")
            // As many as there are.
            #expect(try run("show", "ARGS", 0, "ENV", 0) == "end|")
            #expect(try run("echo", "ARGS", 0) == "")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `what the configuration does not allow by name is refused`() throws {
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let many = String(repeating: "x", count: 1_100)
            for (words, hint) in [
                (
                    ["show", "ARGS", "1", "--out=/etc/passwd"],
                    "'show' lets jobs set no argument '--out': allowed are --size, -n, -v"
                ),
                (["show", "ARGS", "1", "file"], "no argument 'file'"),
                (["show", "ARGS", "1", "-v=1"], "'-v' of selector 'show' takes no value"),
                (["show", "ARGS", "1", "--size"], "needs a value: --size=VALUE"),
                (["show", "ARGS", "1", "-n=--out"], "may not be empty or begin with '-'"),
                (["show", "ENV", "1", "PATH=/"], "no variable 'PATH': none is allowed"),
                (["plain", "ENV", "1", "WIDTH"], "ENV: 'WIDTH' is not NAME=VALUE"),
                (["plain", "ENV", "1", "HEIGHT=1"], "allowed are WIDTH (jobEnvironment"),
                (["echo", "ARGS", "1", "-v"], "selector 'echo' is no program"),
                (["show", "ARGS"], "ARGS needs a number, its words, and a payload"),
                (["show", "ARGS", "17", "-v"], "ARGS must be a whole number from 0 to 16"),
                (["show", "ARGS", "3", "-v", "-v"], "ARGS 3 needs 3 words, and a payload"),
                (["show", "ARGS", "1", ""], "is no word: UTF-8 without NUL, and not empty"),
                (["show", "ARGS", "1", "-n=\0"], "is no word"),
                (["show", "ARGS", "1", "--size=" + many], "at most 1024 bytes together, not 1107"),
                (["show", "ARGS", "1", "-v", "ARGS", "1", "-v"], "ARGS is given twice"),
            ] {
                let all = ["PERFORM", "images"] + words + ["x"]
                try client.send(TestClient.bytes(all.map { .text($0) }))
                let reply = try client.reply()
                #expect(reply.errorMessage?.contains(hint) == true, "\(words): \(reply)")
            }
            let scheduled = try client.call(
                "SCHEDULE", "beat", "EVERY", 10, "ARGS", 1, "--out=x", "images", "show", "")
            #expect(scheduled.errorMessage?.contains("no argument '--out'") == true)
            #expect(try client.figure("total_jobs_accepted") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `the most of them are taken, also beside all other options`() throws {
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let words = (0..<16).map { CommandArgument.text("--size=\($0)") }
            let variables = (0..<16).map { CommandArgument.text("WIDTH=\($0)") }
            let options: [CommandArgument] = [
                "WAIT", 100_000, "DELAY", 1, "UNIQUE", "u", "VOLATILE", "PRIORITY", "high", "KEY",
                "k", "TIMEOUT", 100_000, "RETRY", 1, "BLOCK", "EXPIRE", 100_000, "LABEL", "l",
            ]
            let command =
                ["PERFORM", "images", "plain"] + options + ["ARGS", 16] + words + ["ENV", 16]
                + variables + [""]
            try client.send(TestClient.bytes(command))
            let expected = (0..<16).map { "--size=\($0)|" }.joined() + "15"
            #expect(try client.reply().text == expected)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `they outlive the daemon, and are checked against the configuration after it`() throws {
        var setup = Setup.durable
        setup.selectors = Self.selectors
        let scratch = try Scratch()
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        _ = try client.call("PAUSE", "images")
        _ = try client.call(
            "PERFORM", "images", "plain", "ARGS", 1, "--size=1", "ENV", 1, "WIDTH=2", "")
        _ = try client.call("PERFORM", "images", "show", "ARGS", 2, "-v", "-n=3", "DELAY", 1, "")
        _ = try client.call(
            "SCHEDULE", "beat", "EVERY", 3_600_000, "ARGS", 1, "-v", "images", "show", "")
        #expect(try client.job(1, "args").elements == [.bulk(Array("--size=1".utf8))])
        #expect(try client.call("JOBS").elements?.first?["args"] == nil)
        try first.crash()
        setup.selectors = Self.selectors.replacing("\"-v\": \"flag\"", with: "")
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        let other = try second.connect()
        #expect(try other.job(1, "env").elements == [.bulk(Array("WIDTH=2".utf8))])
        _ = try other.call("RESUME", "images")
        #expect(try other.call("RESULT", 1, "WAIT").text == "--size=1|2")
        let refused = try other.call("RESULT", 2, "WAIT")
        #expect(refused.errorWord == "FAILED")
        #expect(refused.errorMessage?.contains("lets jobs set no argument '-v'") == true)
        #expect(try other.job(2, "args").elements?.count == 2)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a configured schedule gives them`() throws {
        var setup = setup
        setup.more = """
            schedules: {
                beat: {
                    every: "10ms", thread: "images", selector: "plain", arguments: ["--size=7"],
                    environment: { WIDTH: "9=9" },
                },
            },
            """
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            try eventually("a job of the schedule") { try client.figure("total_jobs_done") > 0 }
            #expect(try client.call("RESULT", 1).text == "--size=7|9=9")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `the Swift client gives them`() throws {
        try withDaemon(setup) { daemon in
            let client = try WorkerClient(.unix(daemon.socket))
            let options = PerformOptions(arguments: ["--size=1"], environment: ["WIDTH": "2"])
            let result = try client.performAndWait(
                onThread: "images", selector: "plain", options: options)
            #expect(String(decoding: result, as: UTF8.self) == "--size=1|2")
            let job = try client.job(1)
            #expect(job.arguments == ["--size=1"])
            #expect(job.environment == ["WIDTH=2"])
            try client.schedule(
                "beat", .every(.milliseconds(10)), onThread: "images", selector: "plain",
                options: ScheduleOptions(arguments: ["--size=9"]))
            try eventually("a job of the schedule") {
                try client.jobs(state: .done).contains { $0.id > 1 }
            }
            #expect(try client.job(2).arguments == ["--size=9"])
        }
    }
}
