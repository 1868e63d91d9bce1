// Forms of the command line that all commands share: moments, spans of time, colours, statuses.

import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `workerctl's words` {
    @Test(arguments: [
        ("2030-01-02", 1_893_535_200_000), ("2030-01-02 18:05", 1_893_600_300_000),
        ("2030-01-02T18:05", 1_893_600_300_000), ("2030-01-02T18:05:07Z", 1_893_607_507_000),
        ("2030-01-02 18:05:07.5+01:00", 1_893_603_907_000), ("2028-02-29", 1_835_388_000_000),
        ("1893535200000", 1_893_535_200_000),
    ])
    func `a date is a moment on the clocks of this machine`(text: String, moment: Int) throws {
        let daemon = try TestDaemon()
        let run = try CommandLineRun(
            ["perform", "images", "echo", "--at", text],
            environment: ["WORKERD_SOCKET": daemon.socket, "TZ": "XYZ-2"])
        #expect(run.text == "1\n", "\(run.errors)")
        let job = try daemon.workerctl("--json", "job", "1").json()
        #expect(job["due_at"]?.number == Double(moment))
    }

    @Test(arguments: [
        ("in 2h", 7_200_000), ("+1h30m", 5_400_000), ("now", 0),
    ])
    func `a moment can be a span from now on`(text: String, span: Double) throws {
        let daemon = try TestDaemon()
        #expect(try daemon.workerctl("perform", "images", "echo", "--at", text).text == "1\n")
        let job = try daemon.workerctl("--json", "job", "1").json()
        let (due, accepted) = (job["due_at"]?.number ?? 0, job["accepted_at"]?.number ?? 0)
        // The program looks at its clock before the daemon does.
        #expect((accepted - 60_000 + span...accepted + span).contains(due))
    }

    @Test func `a time of day is the next one, and tomorrow's a day later`() throws {
        let daemon = try TestDaemon()
        for text in ["0:00", "23:59:59", "tomorrow", "tomorrow 0:00"] {
            let run = try daemon.workerctl("perform", "images", "echo", "--at", text)
            #expect(run.status == 0, "\(run.errors)")
        }
        let day = 86_400_000.0
        func job(_ id: Int) throws -> (due: Double, accepted: Double) {
            let job = try daemon.workerctl("--json", "job", "\(id)").json()
            return (job["due_at"]?.number ?? 0, job["accepted_at"]?.number ?? 0)
        }
        let midnight = try job(1)
        #expect(midnight.due.remainder(dividingBy: day) == 0)
        #expect((midnight.accepted - 60_000...midnight.accepted + day).contains(midnight.due))
        #expect(try job(2).due.remainder(dividingBy: day) == -1_000)
        #expect(try job(3).due == midnight.due)
        #expect(try job(4).due == midnight.due)
    }

    @Test(arguments: [
        "25:00", "12:60", "12:5", "2030-02-29", "2030-13-01", "2030-1-1", "soon", "in soon",
        "2030-01-02T18:05+1", "2030-01-02 18:05 UTC", "tomorrow noon", "", "12:00.5",
    ])
    func `a moment that is none is refused`(text: String) throws {
        let run = try CommandLineRun(["perform", "images", "echo", "--at", text])
        #expect(run.status == 64)
        #expect(run.errors.contains("--at is a moment, such as 14:30"), "\(run.errors)")
    }

    @Test(arguments: [
        ("1h30m", 5_400_000), ("1.5s", 1_500), ("2d", 172_800_000), ("7", 7), ("1m1ms", 60_001),
    ])
    func `a span has one or more units`(text: String, milliseconds: Double) throws {
        let daemon = try TestDaemon()
        _ = try daemon.workerctl("pause", "images")
        let run = try daemon.workerctl(
            "perform", "images", "echo", "--expire", text, "--delay", "1h")
        #expect(run.text == "1\n", "\(run.errors)")
        let job = try daemon.workerctl("--json", "job", "1").json()
        let accepted = try #require(job["accepted_at"]?.number)
        if let expires = job["expires_at"]?.number {
            #expect(expires - accepted == milliseconds)
        } else {
            // The shortest one is over by now.
            #expect(milliseconds == 7)
        }
    }

    @Test(arguments: ["1h30", "h", "1x", "1.s", "-1s", "1h 30m", "40000d"])
    func `a span that is none is refused`(text: String) throws {
        let run = try CommandLineRun(["perform", "images", "echo", "--delay=\(text)"])
        #expect(run.status == 64)
        #expect(run.errors.contains("--delay is a time, such as 500 (ms)"))
    }

    @Test func `colours are there when they are asked for`() throws {
        let daemon = try TestDaemon()
        let escape: Unicode.Scalar = "\u{1B}"
        let coloured = try daemon.workerctl("threads", "--color", "always")
        #expect(coloured.text.unicodeScalars.contains(escape))
        for colour in ["auto", "never"] {
            let plain = try daemon.workerctl("threads", "--color=\(colour)")
            #expect(!plain.text.unicodeScalars.contains(escape))
        }
        let errors = try daemon.workerctl("job", "77", "--color", "always")
        #expect(errors.errors.hasPrefix("\u{1B}[1;31mworkerctl:"))
        #expect(try daemon.workerctl("threads", "--color", "red").status == 64)
    }

    @Test func `every exit status of help is in the document of clients`() throws {
        let help = try CommandLineRun(["help"]).text
        let list = try #require(help.firstRange(of: "exit status:\n")?.upperBound)
        let statuses = help[list...].split(separator: "\n")
            .compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
        #expect(statuses == [0, 1, 3, 4, 64, 65, 66, 69, 74, 75, 77, 124, 130, 143])
        let document = String(decoding: try repositoryFile("Documents/Clients.md"), as: UTF8.self)
        for line in help[list...].split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1)
            let meaning = words[1].drop { $0 == " " }
            #expect(document.contains("| \(words[0]) | \(meaning) |"), "\(line)")
        }
    }

    @Test func `help says how each command means an option`() throws {
        func line(_ option: String, of command: String) throws -> String? {
            try CommandLineRun(["help", command]).text.split(separator: "\n")
                .first { $0.hasPrefix("  \(option) ") }.map(String.init)
        }
        for command in ["jobs", "bulk", "failures"] {
            #expect(try line("--key", of: command)?.hasSuffix("  only jobs of this key") == true)
        }
        #expect(try line("--key", of: "perform")?.contains("keep its order") == true)
        #expect(try line("--limit", of: "jobs")?.contains("100 if not given") == true)
        #expect(try line("--limit", of: "bulk")?.contains("all if not given") == true)
        let refused = try CommandLineRun(["jobs", "--state", "none"]).errors
        let list = try #require(refused.firstRange(of: "one of ")?.upperBound)
        let states = refused[list...].prefix { $0 != "'" }.split(separator: ", ").dropLast()
        #expect(states.contains("stuck"))
        for command in ["jobs", "bulk"] {
            let words = try line("--state", of: command) ?? ""
            for state in states { #expect(words.contains(state), "\(command) --state \(state)") }
        }
    }

    @Test func `--payload-file is another name of --file`() throws {
        let daemon = try TestDaemon()
        let file = try daemon.scratch.write(Array("from a file".utf8), to: "payload")
        let run = try daemon.workerctl(
            "perform", "images", "echo", "--payload-file", file, "--wait")
        #expect(run.text == "from a file")
    }
}
