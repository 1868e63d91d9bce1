// The real `workerctl` as a child process: every command, what it prints, how it exits.

import Kernel
import Support
import Testing
import WorkerClient
import WorkerDaemon

@Suite(.timeLimit(.minutes(2)))
struct `workerctl` {
    @Test func `a payload comes from the line, a file or standard input`() throws {
        let daemon = try TestDaemon()
        let line = try daemon.workerctl("perform", "images", "echo", "hello", "--wait")
        #expect(line.status == 0)
        #expect(line.text == "hello")
        #expect(line.errors == "")
        let bytes: [UInt8] = [0, 255, 10, 13]
        let input = try daemon.workerctl(
            "perform", "--wait=100s", "images", "echo", "-", input: bytes)
        #expect(input.output == bytes)
        let path = try daemon.scratch.write(bytes, to: "payload")
        let file = try daemon.workerctl(
            "--wait", "100000", "perform", "images", "echo", "--file", path)
        #expect(file.output == bytes)
        let shared = try daemon.workerctl(
            "perform", "images", "echo", "--file=-", "--wait", input: bytes)
        #expect(shared.output == bytes)
        let none = try daemon.workerctl("perform", "images", "echo", "--wait", input: bytes)
        #expect(none.output == [])
        let literal = try daemon.workerctl("perform", "images", "echo", "--wait", "--", "-")
        #expect(literal.text == "-")
        let program = try daemon.workerctl("perform", "images", "shout", "abc", "--wait")
        #expect(program.text == "ABC")
    }

    @Test func `a result is printed that is larger than a client takes unless told`() throws {
        let byteCount = ClientOptions().replyByteCountMax + 1
        let server = try FakeServer({ session in
            try session.greet()
            #expect(try session.command() == ["RESULT", "1"])
            try session.send("$\(byteCount)\r\n\(String(repeating: "x", count: byteCount))\r\n")
            try session.expectEnd()
        })
        let run = try CommandLineRun(
            ["result", "1"], environment: ["WORKERD_SOCKET": server.address.description])
        #expect(run.errors == "")
        #expect(run.output.count == byteCount)
        try server.finish()
    }

    @Test func `an argument that is not UTF-8 is refused, not sent as another one`() throws {
        let daemon = try TestDaemon()
        let run = try CommandLineRun(
            ["perform", "images", "echo"], environment: ["WORKERD_SOCKET": daemon.socket],
            redirections: #""$(printf 'a\377')" --wait"#)
        #expect(run.status == 64)
        #expect(run.output == [])
        #expect(run.errors.contains("argument 4 is not UTF-8"), "\(run.errors)")
        let replacement = try daemon.workerctl("perform", "images", "echo", "\u{FFFD}", "--wait")
        #expect(replacement.text == "\u{FFFD}")
    }

    @Test func `times and parts that can't be are passed over or refused`() throws {
        let progress = ">4\r\n+job\r\n:5\r\n+running\r\n%2\r\n+attempt\r\n:0\r\n+progress\r\n"
        let done = ">4\r\n+job\r\n:5\r\n+done\r\n%1\r\n+attempt\r\n:0\r\n"
        for value in [",inf", ",-inf", ",nan", ",1e300", ":-1"] {
            let server = try FakeServer(
                { session in try session.greet() },
                { session in
                    try session.greet()
                    #expect(try session.command() == ["OBSERVE", "5"])
                    try session.send(":1\r\n" + progress + value + "\r\n" + done)
                    try session.expectEnd()
                })
            let run = try CommandLineRun(["--socket", server.address.description, "observe", "5"])
            #expect(run.text == "running\ndone\n", "\(value)")
            try server.finish()
        }
        let job =
            "+id\r\n:5\r\n+thread\r\n+t\r\n+selector\r\n+s\r\n+state\r\n+done\r\n"
            + "+priority\r\n+low\r\n+attempt\r\n:2\r\n+payload-bytes\r\n:0\r\n+accepted-at\r\n"
        for (rest, status) in [
            (":\(Int.min)\r\n+started-at\r\n:1\r\n+ended-at\r\n:1", 69 as Int32),
            (":1\r\n+started-at\r\n:\(Int.min)\r\n+ended-at\r\n:1", 0),
            (":1\r\n+started-at\r\n:1\r\n+ended-at\r\n:\(Int.min)", 0),
            (":1\r\n+started-at\r\n:0\r\n+ended-at\r\n:\(Int.max)", 0),
        ] {
            let server = try FakeServer({ session in
                try session.greet()
                #expect(try session.command() == ["JOB", "5"])
                try session.send("%10\r\n\(job)\(rest)\r\n")
                try session.expectEnd()
            })
            let run = try CommandLineRun(["--socket", server.address.description, "job", "5"])
            #expect(run.status == status, "\(rest): \(run.errors)")
            try server.finish()
        }
    }

    @Test func `a watch that was answered and broke off says nothing of a reply`() throws {
        let server = try FakeServer.breakingOffWatch(of: 5)
        let run = try CommandLineRun(["--socket", server.address.description, "observe", "5"])
        #expect(run.status == 69)
        #expect(run.text == "waiting\n")
        #expect(
            run.errors.contains("can't observe job 5: the connection ended (the daemon hung up);"))
        try server.finish()
    }

    @Test func `a reload prints what changes, and the faults of a bad file`() throws {
        let daemon = try TestDaemon()
        #expect(try daemon.workerctl("reload").text == "nothing has changed\n")
        let file = daemon.scratch.file("workerd.json5")
        let before = try File.read(file, atMost: 1 << 20)
        _ = try daemon.scratch.write(
            Array("{ shutdown: { grace: \"7s\" },".utf8) + before.dropFirst(), to: "workerd.json5")
        let line = "shutdown.grace: 25s → 7s"
        #expect(try daemon.workerctl("reload", "--dry-run").text == "\(line)\n")
        #expect(try daemon.workerctl("reload", "--json").text == "{\"changes\":[\"\(line)\"]}\n")
        #expect(try daemon.workerctl("reload", "--json").text == "{\"changes\":[]}\n")
        _ = try daemon.scratch.write(Array("{".utf8), to: "workerd.json5")
        let refused = try daemon.workerctl("reload")
        #expect(refused.status == 65)
        #expect(refused.errors.contains("can't reload the configuration: \(file): line 1"))
    }

    @Test func `a backup is made, and its path printed`() throws {
        let scratch = try Scratch()
        let daemon = try TestDaemon(in: scratch, store: scratch.file("jobs.sqlite"))
        let path = scratch.file("backups/monday")
        #expect(try daemon.workerctl("backup", "monday").text == "\(path)\n")
        let again = try daemon.workerctl("backup", "monday")
        #expect(again.status == 65)
        #expect(again.errors.contains("can't make the backup 'monday': \(path) is there"))
        #expect(again.errors.contains("or add --replace"))
        #expect(!again.errors.contains("REPLACE"))
        let json = try daemon.workerctl("backup", "monday", "--replace", "--json")
        #expect(json.text == "{\"backup\":\"\(path)\"}\n")
        #expect(try daemon.workerctl("backup").status == 64)
    }

    @Test func `a schedule is given with its jobs' options, shown and ended`() throws {
        let daemon = try TestDaemon()
        let given = try daemon.workerctl(
            "schedule", "beat", "images", "echo", "tick", "--every", "1h", "--retry", "2",
            "--block", "--key", "alice", "--label", "a beat", "--missed", "all", "--priority",
            "low", "--timeout", "5s", "--expire", "1m")
        #expect(given.text == "scheduled beat\n")
        _ = try daemon.scratch.write(Array("from a file".utf8), to: "payload")
        let file = try daemon.workerctl(
            "schedule", "close", "images", "echo", "--file", daemon.scratch.file("payload"),
            "--cron", "30 3 * * *", "--zone", "Europe/Berlin", "--overlap", "skip", "--unique", "c",
            "--again", "--for", "7d")
        #expect(file.text == "scheduled close\n")
        let shown = try daemon.workerctl("schedules").text
        #expect(shown.contains("every 1 h") && shown.contains("30 3 * * * Europe/Berlin"))
        #expect(shown.contains("queue") && shown.contains("skip"))
        func refused(_ options: String...) throws -> Bool {
            let line = ["schedule", "x", "images", "echo"] + options
            return try CommandLineRun(["--socket", daemon.socket] + line).status == 64
        }
        #expect(try refused("--every", "1h", "--block"))
        #expect(try refused("--every", "1h", "--zone", "UTC"))
        #expect(try refused("--every", "1h", "--cron", "@daily"))
        #expect(try refused("--every", "1h", "--missed", "never"))
        #expect(try refused("--every", "1h", "--overlap", "two"))
        #expect(try refused("--every", "1h", "--again"))
        #expect(try daemon.workerctl("unschedule", "beat").text == "ended beat\n")
        #expect(
            try daemon.workerctl("unschedule", "beat").text == "there is no schedule beat\n")
    }

    @Test func `watch is an older name of observe`() throws {
        let daemon = try TestDaemon()
        #expect(try daemon.workerctl("perform", "images", "echo", "x", "--wait").text == "x")
        #expect(try daemon.workerctl("watch", "1").text == "done\n")
        #expect(try !daemon.workerctl("help").text.contains("  watch"))
    }

    @Test func `a job is handed in, shown, listed and asked for its result`() throws {
        let daemon = try TestDaemon()
        let id = try daemon.workerctl(
            "perform", "images", "echo", "x", "--priority", "high", "--timeout=100s")
        #expect(id.text == "1\n")
        let result = try daemon.workerctl("result", "1", "--wait")
        #expect(result.text == "x")
        #expect(try daemon.workerctl("result", "1").text == "x")
        let job = try daemon.workerctl("job", "1")
        #expect(job.status == 0)
        let lines = job.text.split(separator: "\n").map(String.init)
        #expect(lines[0] == "job       1")
        #expect(lines.contains("state     done"))
        #expect(lines.contains("priority  high"))
        #expect(lines.contains { $0.hasPrefix("accepted  2") && $0.hasSuffix(" ago)") })
        let jobs = try daemon.workerctl("jobs", "--state", "done")
        #expect(
            jobs.text == """
                ID  STATE  THREAD  SELECTOR  PRIORITY  ATTEMPT
                 1  done   images  echo      high            1

                """)
        #expect(try daemon.workerctl("jobs", "--state", "stuck", "--json").text == "[]\n")
        let delayed = try daemon.workerctl("perform", "images", "echo", "--delay", "2h")
        #expect(delayed.text == "2\n")
        let at = try daemon.workerctl("perform", "images", "fail", "--at", "3000000000000")
        #expect(at.text == "3\n")
        #expect(try daemon.workerctl("job", "2").text.contains("(in 1 h 59 min)"))
        #expect(try daemon.workerctl("cancel", "2").text == "cancelled job 2: it never runs\n")
        #expect(try daemon.workerctl("cancel", "2").text == "too late: job 2 has ended\n")
        #expect(try daemon.workerctl("cancel", "images", "fail").text == "cancelled 1 job\n")
        let limited = try daemon.workerctl("jobs", "--limit", "1", "--thread", "images", "--json")
        #expect(try limited.json().elements?.count == 1)
        #expect(try daemon.workerctl("buffer", "mail", "echo", "y").text == "4\n")
        #expect(try daemon.workerctl("fire", "mail").text == "handed over 1 job\n")
        #expect(try daemon.workerctl("result", "4", "--wait").text == "y")
    }

    @Test func `a job is shown with its label, key and trace`() throws {
        let daemon = try TestDaemon()
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        let named = try daemon.workerctl(
            "perform", "mail", "echo", "x", "--label", "nightly", "--key", "alice",
            "--trace", trace, "--wait")
        #expect(named.text == "x")
        let shown = try daemon.workerctl("job", "1").text.split(separator: "\n").map(String.init)
        for line in ["label     nightly", "key       alice", "trace     \(trace)"] {
            #expect(shown.contains(line), "\(shown)")
        }
        let json = try daemon.workerctl("--json", "job", "1").json()
        #expect(json["label"]?.text == "nightly" && json["key"]?.text == "alice")
        #expect(json["trace"]?.text == trace)
    }

    @Test func `a volatile job is gone with the daemon, others are not`() throws {
        let scratch = try Scratch()
        let first = try TestDaemon(in: scratch, store: scratch.file("jobs.sqlite"))
        let volatile = try first.workerctl(
            "perform", "images", "echo", "--delay", "2h", "--volatile")
        #expect(volatile.text == "1\n")
        let durable = try first.workerctl("perform", "images", "echo", "--delay", "2h")
        #expect(durable.text == "2\n")
        try first.kill()
        let second = try TestDaemon(in: scratch, store: scratch.file("jobs.sqlite"))
        #expect(try second.workerctl("job", "1").status != 0)
        #expect(try second.workerctl("job", "2").status == 0)
    }

    @Test func `threads are shown and steered`() throws {
        let daemon = try TestDaemon()
        #expect(
            try daemon.workerctl("threads").text == """
                THREAD  STATE  WAITING  DONE  FAILED  JOB  SELECTOR  FOR
                images  idle         0     0       0    -  -           -
                mail/1  idle         0     0       0    -  -           -
                mail/2  idle         0     0       0    -  -           -

                """)
        #expect(try daemon.workerctl("pause", "images").text == "paused images\n")
        #expect(try daemon.workerctl("thread", "images").text.contains("state       paused\n"))
        #expect(try daemon.workerctl("resume", "images").text == "resumed images\n")
        #expect(try daemon.workerctl("thread", "mail").text.contains("mail/1 mail/2\n"))
        #expect(try daemon.workerctl("stop", "images").text == "stopping images\n")
        let selectors = try daemon.workerctl("selectors")
        #expect(selectors.text.contains("shout     /usr/bin/tr a-z A-Z\n"))
        #expect(try daemon.workerctl("info", "jobs").text.hasPrefix("# Jobs\ndelayed_jobs:0\n"))
        #expect(try daemon.workerctl("ping").text.hasPrefix("PONG ("))
    }

    @Test func `with --json every command prints one document`() throws {
        let daemon = try TestDaemon()
        func json(_ arguments: String...) throws -> JSON5Value {
            let run = try CommandLineRun(
                ["--json"] + arguments, environment: ["WORKERD_SOCKET": daemon.socket])
            #expect(run.status == 0, "\(arguments): \(run.errors)")
            return try run.json()
        }
        #expect(try json("perform", "images", "echo", "x")["id"]?.number == 1)
        #expect(try json("result", "1", "--wait")["result"]?.text == "x")
        #expect(try json("result", "1")["result"]?.text == "x")
        let odd = "\"\\\n\t\u{1}é€"
        #expect(
            try json("perform", "images", "echo", odd, "--wait")["result"]?.text == odd)
        let job = try json("job", "1")
        #expect(
            job.keys == [
                "id", "thread", "selector", "state", "priority", "attempt", "accepted_at",
                "due_at", "expires_at", "started_at", "ended_at", "worker", "payload_bytes",
                "failure",
                "progress", "progress_text",
            ])
        #expect(job["state"]?.text == "done")
        #expect(try json("jobs").elements?.map { $0["id"]?.number } == [2, 1])
        #expect(try json("threads").elements?.map { $0["name"]?.text }.first == "images")
        #expect(try json("thread", "mail")["members"]?.elements?.count == 2)
        #expect(try json("thread", "images")["max_queued"]?.number == 1_000_000)
        #expect(try json("selectors").elements?.first?["name"]?.text == "echo")
        #expect(try json("pause", "mail")["paused"]?.text == "mail")
        #expect(try json("buffer", "mail", "echo")["id"]?.number == 3)
        #expect(try json("fire", "mail")["fired"]?.number == 1)
        #expect(try json("cancel", "3")["answer"]?.text == "cancelled")
        #expect(try json("resume", "mail")["resumed"]?.text == "mail")
        #expect(try json("stop", "mail")["stopping"]?.text == "mail")
        #expect(try json("info")["jobs"]?["total_jobs_accepted"]?.number == 3)
        #expect(try json("info")["threads"]?["images"]?["done"]?.number == 2)
        #expect(try json("ping")["ping"]?.text == "PONG")
        #expect(try json("shutdown")["down"]?.text == daemon.socket)
        #expect(try daemon.end() == "exit status 0")
    }

    @Test func `bytes that are no text are base64 in JSON`() throws {
        let daemon = try TestDaemon()
        let expected =
            ["/w==": [255], "//4=": [255, 254], "//79": [255, 254, 253]] as [String: [UInt8]]
        for (text, bytes) in expected {
            let run = try daemon.workerctl(
                "perform", "images", "echo", "-", "--wait", "--json", input: bytes)
            #expect(try run.json()["result"]?["base64"]?.text == text)
        }
    }

    @Test func `the exit status tells what went wrong, and the error what to try`() throws {
        let daemon = try TestDaemon()
        func expect(
            _ status: Int, _ arguments: String..., says: String, try advice: String? = nil,
            at place: SourceLocation = #_sourceLocation
        ) throws {
            let run = try CommandLineRun(
                arguments, environment: ["WORKERD_SOCKET": daemon.socket])
            #expect(run.status == status, "\(run.errors)", sourceLocation: place)
            #expect(run.output == [], sourceLocation: place)
            let lines = run.errors.split(separator: "\n").map(String.init)
            #expect(lines.first?.hasPrefix("workerctl: ") == true, sourceLocation: place)
            #expect(
                lines.first?.contains(says) == true, "\(run.errors)", sourceLocation: place)
            if let advice {
                #expect(lines.last == "  try: \(advice)", sourceLocation: place)
            }
        }
        try expect(
            65, "perform", "no", "echo", says: "can't perform 'echo' on thread 'no'",
            try: "workerctl threads")
        try expect(65, "perform", "images", "no", says: "NOSELECTOR", try: "workerctl selectors")
        try expect(1, "perform", "images", "fail", "boom", "--wait", says: "job 1: boom (FAILED)")
        try expect(65, "job", "77", says: "can't show job 77", try: "workerctl jobs")
        try expect(65, "info", "weather", says: "no section 'weather'", try: "workerctl info")
        try expect(
            124, "perform", "images", "sleep", "3600000", "--wait", "1", says: "TIMEOUT",
            try: "workerctl result 2 --wait")
        try expect(75, "result", "2", says: "has not ended", try: "workerctl result 2 --wait")
        try expect(124, "result", "2", "--wait=1ms", says: "no result of job 2")
        _ = try daemon.workerctl("pause", "mail")
        for _ in 0..<2 { _ = try daemon.workerctl("perform", "mail", "echo") }
        try expect(75, "perform", "mail", "echo", says: "BUSY")
        let file = daemon.scratch.file("none")
        try expect(66, "perform", "mail", "echo", "--file", file, says: file)
        try expect(
            69, "--socket", file, "ping", says: "can't reach workerd at \(file)",
            try: "start it with 'workerd --config FILE', or say where its socket is")
        let run = try daemon.workerctl("--json", "job", "77")
        let error = try #require(try run.json()["error"])
        #expect(error["word"]?.text == "NOJOB")
        #expect(error["status"]?.number == 65)
    }

    @Test(arguments: [">&-", "2>&-", "<&- >&- 2>&-"])
    func `the exit status tells also who has closed standard streams`(redirections: String) throws {
        let daemon = try TestDaemon()
        func status(_ arguments: String...) throws -> Int {
            try CommandLineRun(
                arguments, environment: ["WORKERD_SOCKET": daemon.socket],
                redirections: redirections
            ).status
        }
        #expect(try status("threads") == 0)
        #expect(try status("--json", "perform", "images", "echo", "x", "--wait") == 0)
        #expect(try status("job", "77") == 65)
        #expect(try status("--json", "job", "77") == 65)
    }

    @Test func `a wrong line is told from what the daemon says, without asking it`() throws {
        let lines: [(arguments: [String], says: String, advice: String)] = [
            ([], "a command is missing", "workerctl help"),
            (["treads"], "no command 'treads'", "workerctl threads"),
            (["x"], "no command 'x'", "workerctl help"),
            (["perform"], "too few arguments: workerctl perform THREAD", "workerctl help perform"),
            (["ping", "x"], "too many arguments: workerctl ping\n", "workerctl help ping"),
            (["--jsn", "ping"], "no option --jsn", "--json"),
            (["ping", "--wait"], "ping has no option --wait", "workerctl help ping"),
            (["jobs", "--limit"], "--limit needs a value", "--limit N"),
            (["jobs", "--limit", "x"], "--limit is a number", "workerctl help jobs"),
            (["jobs", "--state", "runing"], "not 'runing'", "--state running"),
            (["job", "0"], "a positive integer, not '0'", "workerctl jobs"),
            (["perform", "a", "b", "--delay", "soon"], "--delay is a time", "--delay 30s"),
            (
                ["perform", "a", "b", "--delay", "1", "--at", "1"], "one of them",
                "workerctl help perform"
            ),
            (["perform", "a", "b", "--priority", "top"], "high, normal or low", "--priority high"),
            (
                ["perform", "a", "b", "--at", "3153600000001"], "from 0 to 3153600000000",
                "--at 14:30"
            ),
            (["perform", "a", "b", "--timeout", "0"], "at least 1 ms", "--timeout 30s"),
            (
                ["perform", "a", "b", "-x"], "no option -x",
                "workerctl help; a payload that begins with - goes behind --"
            ),
            (["perform", "a", "b", "c", "--file", "d"], "one of them", "workerctl help perform"),
            (["shutdown", "--drain", "--now"], "one of them", "workerctl help shutdown"),
            (["ping", "--socket", "a", "--tcp", "b"], "one of them", "workerctl help"),
            (["ping", "--password-file", "a"], "is for --tcp", "workerctl help"),
            (["ping", "--json=yes"], "--json takes no value", "--json"),
            (["help", "pign"], "no command 'pign'", "workerctl ping"),
        ]
        for line in lines {
            let run = try CommandLineRun(line.arguments)
            #expect(run.status == 64, "\(line.arguments)")
            #expect(run.errors.contains(line.says), "\(run.errors)")
            #expect(run.errors.hasSuffix("  try: \(line.advice)\n"), "\(run.errors)")
        }
    }

    @Test func `help tells of every command, and --version of itself`() throws {
        let help = try CommandLineRun(["help"])
        #expect(help.status == 0)
        #expect(try CommandLineRun(["--help"]).text == help.text)
        #expect(try CommandLineRun(["-h"]).text == help.text)
        let commands = [
            "perform", "cancel", "job", "observe", "result", "jobs", "buffer", "fire", "threads",
            "thread", "selectors", "pause", "resume", "stop", "info", "ping", "shutdown", "help",
            "retry", "drop", "bulk", "failures", "backup", "output", "follow", "reload",
        ]
        for command in commands {
            #expect(help.text.contains("\n  \(command) "))
            let own = try CommandLineRun(["help", command])
            #expect(own.status == 0)
            #expect(own.text.hasPrefix("usage: workerctl \(command)"))
            #expect(try CommandLineRun([command, "--help"]).text == own.text)
        }
        #expect(try CommandLineRun(["--version"]).text.hasPrefix("workerctl "))
    }

    @Test func `a port is reached with the password of a file`() throws {
        let scratch = try Scratch()
        let file = try scratch.write(Array("hunter2\n".utf8), to: "password")
        let free = try freePort().description
        let daemon = try TestDaemon(
            listen: "tcp: \"\(free)\", passwordFile: \"\(file)\"", in: scratch)
        let good = try CommandLineRun(["ping", "--tcp", free, "--password-file", file])
        #expect(good.status == 0)
        let none = try CommandLineRun(["ping", "--tcp", free])
        #expect(none.status == 77)
        #expect(none.errors.contains("asks for a password"))
        let other = try scratch.write(Array("hunter3\n".utf8), to: "other")
        let bad = try CommandLineRun(["ping", "--tcp", free, "--password-file", other])
        #expect(bad.status == 77)
        #expect(bad.errors.contains("WRONGPASS"))
        let missing = try CommandLineRun(
            ["ping", "--tcp", free, "--password-file", scratch.file("none")])
        #expect(missing.status == 66)
        try daemon.kill()
    }

    @Test func `a shutdown is waited for, of whichever manner`() throws {
        for option in [[], ["--drain"], ["--now"]] {
            let daemon = try TestDaemon()
            let run = try CommandLineRun(["--socket", daemon.socket, "shutdown"] + option)
            #expect(run.text == "workerd at \(daemon.socket) is down\n", "\(run.errors)")
            #expect(try daemon.end() == "exit status 0")
        }
    }

    @Test func `what comes from elsewhere can't move the terminal's cursor`() throws {
        let daemon = try TestDaemon()
        let run = try daemon.workerctl(
            "perform", "images", "fail", "\u{1B}[2Jgone", "--wait")
        #expect(run.status == 1)
        #expect(!run.errors.contains("\u{1B}"))
        let job = try daemon.workerctl("job", "1")
        #expect(!job.text.contains("\u{1B}"))
        #expect(job.text.contains("gone"))
    }
}
