// Proves schedules: by the configuration and by command, over crashes, with the rule for missed
// runs, and without room.

import Glibc
import Jobs
import SQLiteJobs
import Kernel
import RESP
import Support
import Testing

extension TestClient {
    /// The entry of a schedule in SCHEDULES.
    fileprivate func schedule(_ name: String) throws -> RESPValue? {
        try call("SCHEDULES").elements?.first { $0["name"]?.text == name }
    }

    /// Ends a schedule, and returns the number of jobs that all schedules had made just before.
    ///
    /// Both commands are in one write, so that no job is made between them.
    fileprivate func unschedule(_ name: String) throws -> Int {
        try send(Self.bytes(["INFO"]) + Self.bytes(["UNSCHEDULE", .text(name)]))
        let prefix = "total_schedule_jobs:"
        let lines = try reply().text?.split(separator: "\r\n") ?? []
        let madeCount = lines.first { $0.hasPrefix(prefix) }?.dropFirst(prefix.utf8.count)
        #expect(try reply() == .integer(1))
        return try #require(madeCount.flatMap { Int($0) })
    }

    /// The times for which a schedule has made jobs, in the order of the jobs.
    fileprivate func dueMoments(of selector: String) throws -> [Int] {
        let jobs = try call("JOBS", "LIMIT", 10_000).elements ?? []
        let ids = jobs.filter { $0["selector"]?.text == selector }.compactMap { $0["id"]?.integer }
        return try ids.sorted().compactMap { try job($0, "due-at").integer }
    }
}

@Suite struct `A schedule` {
    @Test(.timeLimit(.minutes(2)))
    func `of the configuration makes jobs, and is shown`() throws {
        // Far from now: whenever this runs, the nightly one is not due.
        let farHour = (WallClock.unixMilliseconds() / 3_600_000 + 12) % 24
        var setup = Setup()
        setup.more = """
            schedules: {
                beat: { every: "20ms", thread: "images", selector: "echo", payload: "tick" },
                nightly: {
                    cron: "30 \(farHour) * * *", zone: "UTC", thread: "images", selector: "sha256",
                    missed: "none", priority: "high",
                },
            },
            """
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            try eventually("three beats") { try client.figure("total_jobs_done") >= 3 }
            #expect(try client.call("RESULT", 1).text == "tick")
            let nightly = try client.schedule("nightly")
            #expect(nightly?["from"]?.text == "configuration")
            #expect(nightly?["cron"]?.text == "30 \(farHour) * * *")
            #expect(nightly?["zone"]?.text == "UTC")
            #expect(nightly?["every-ms"] == .null)
            #expect(nightly?["missed"]?.text == "none")
            #expect(nightly?["priority"]?.text == "high")
            #expect(nightly?["last-run-at"] == .null)
            let due = try #require(nightly?["next-due-at"]?.integer)
            #expect(due % 86_400_000 == Int(farHour) * 3_600_000 + 1_800_000)
            let reply = try client.call("UNSCHEDULE", "beat")
            #expect(reply.errorWord == "ERR")
            let moments = try client.dueMoments(of: "echo")
            #expect(zip(moments, moments.dropFirst()).allSatisfy { ($1 - $0) % 20 == 0 && $1 > $0 })
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `neither loses nor doubles a run when the daemon is killed`() throws {
        let scratch = try Scratch()
        for life in 1...4 {
            let daemon = try TestDaemon(.durable, in: scratch, logName: "log\(life)")
            defer { daemon.kill() }
            let client = try daemon.connect()
            if life == 1 {
                let reply = try client.call(
                    "SCHEDULE", "beat", "EVERY", 20, "MISSED", "ALL", "images", "echo", "tick")
                #expect(reply.text == "OK")
            }
            try eventually("five beats") { try client.figure("total_jobs_done") >= 5 }
            if life < 4 {
                try daemon.crash()
            } else {
                #expect(try client.call("UNSCHEDULE", "beat") == .integer(1))
                #expect(try client.call("UNSCHEDULE", "beat") == .integer(0))
                #expect(try client.call("SCHEDULES").elements == [])
                let moments = try client.dueMoments(of: "echo")
                #expect(moments.count >= 20)
                let steps = zip(moments, moments.dropFirst()).map { $1 - $0 }
                #expect(steps.allSatisfy { $0 == 20 }, "\(steps)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `makes up for what was missed as its rule says`() throws {
        let scratch = try Scratch()
        let now = WallClock.unixMilliseconds()
        do {
            // Five runs were missed while no daemon ran; the sixth is far.
            let store = try SQLiteStore(path: scratch.file("jobs.sqlite"))
            try store.transaction(at: now) { () throws(StoreFault) in
                for rule in MissedRuns.allCases {
                    var definition = ScheduleDefinition(
                        name: rule.rawValue, rhythm: .every(milliseconds: 600_000),
                        request: JobRequest(
                            thread: "images", selector: "echo", payload: Array(rule.rawValue.utf8)))
                    definition.missed = rule
                    try store.keep(
                        ScheduleRecord(
                            definition, isFromCommand: true,
                            progress: ScheduleProgress(since: now - 3_050_000)))
                }
            }
        }
        let daemon = try TestDaemon(.durable, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        try eventually("six jobs are done") { try client.figure("total_jobs_done") == 6 }
        let results = try (1...6).compactMap { try client.call("RESULT", .integer($0)).text }
        #expect(results.filter { $0 == "once" }.count == 1)
        #expect(results.filter { $0 == "all" }.count == 5)
        let next = Int(now - 3_050_000 + 6 * 600_000)
        for rule in MissedRuns.allCases {
            let schedule = try client.schedule(rule.rawValue)
            #expect(schedule?["next-due-at"] == .integer(next))
            #expect(schedule?["from"]?.text == "command")
        }
        #expect(daemon.log.contains("schedule none: 5 missed runs left out"))
        try daemon.crash()
    }

    @Test(.timeLimit(.minutes(2)))
    func `waits for room, and catches up when there is some`() throws {
        var setup = Setup.durable
        setup.threads = "images: { maxQueued: 2 }"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            let reply = try client.call(
                "SCHEDULE", "beat", "EVERY", 100, "MISSED", "all", "images", "echo", "")
            #expect(reply.text == "OK")
            try eventually("there is no room") { daemon.log.contains("counts as missed: thread") }
            _ = try client.call("RESUME", "images")
            try eventually("it has caught up") { try client.figure("total_jobs_done") >= 6 }
            let moments = try client.dueMoments(of: "echo")
            let steps = zip(moments, moments.dropFirst()).map { $1 - $0 }
            #expect(steps.allSatisfy { $0 == 100 }, "\(steps)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `that waits for room makes its job soon after another one has ended`() throws {
        var setup = Setup()
        setup.threads = "images: { maxQueued: 1 }"
        setup.more = """
            schedules: {
                beat: {
                    every: "10ms", missed: "all",
                    thread: "images", selector: "sleep", payload: "20",
                },
            },
            """
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            try eventually("ten jobs are done") { try client.figure("total_jobs_done") >= 10 }
            #expect(daemon.log.contains("counts as missed: thread"))
            let waits = try (3...10).map { number in
                let accepted = try #require(client.job(number, "accepted-at").integer)
                let ended = try #require(client.job(number - 2, "ended-at").integer)
                return accepted - ended
            }
            // The schedule is checked once a second in any case; most jobs must not need that.
            #expect(waits.sorted()[waits.count / 2] < 500, "\(waits)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is counted in INFO with what it has made and left out`() throws {
        var setup = Setup.durable
        setup.threads = "images: { maxQueued: 2 }"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            #expect(try client.figure("schedules") == 0)
            #expect(try client.figure("next_schedule_due_at") == 0)
            let before = Int(WallClock.unixMilliseconds())
            _ = try client.call("PAUSE", "images")
            // Of the missed runs it makes one job.
            let reply = try client.call(
                "SCHEDULE", "beat", "EVERY", 100, "OVERLAP", "queue", "images", "echo", "")
            #expect(reply.text == "OK")
            try eventually("it waits for room") {
                try client.figure("schedules_without_room") == 1
            }
            #expect(try client.figure("schedules") == 1)
            #expect(try client.figure("total_schedule_jobs") == 2)
            #expect(try client.figure("total_schedule_runs_left_out") == 0)
            #expect(try client.figure("next_schedule_due_at") > before)
            try eventually("moments were missed") {
                try Int(WallClock.unixMilliseconds())
                    - (client.schedule("beat")?["last-run-at"]?.integer ?? .max) > 500
            }
            _ = try client.call("RESUME", "images")
            try eventually("it has left out some") {
                try client.figure("total_schedule_runs_left_out") >= 3
            }
            try eventually("it has room") {
                try client.figure("schedules_without_room") == 0
            }
            let beat = try client.schedule("beat")
            #expect((beat?["left-out"]?.integer ?? 0) >= 3)
            #expect((beat?["left-out-at"]?.integer ?? 0) > before + 500)
            // Each run was made or left out.
            #expect(try client.call("UNSCHEDULE", "beat") == .integer(1))
            let made = try client.figure("total_schedule_jobs")
            let leftOut = try client.figure("total_schedule_runs_left_out")
            let moments = try client.dueMoments(of: "echo")
            let first = try #require(moments.first)
            let last = try #require(moments.last)
            #expect(made == moments.count)
            #expect(made + leftOut == (last - first) / 100 + 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `that is ended while it makes a job has left out what that job stands for`() throws {
        var setup = Setup.durable
        setup.threads = "images: { maxQueued: 1 }"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            // It is ended before, while or after it makes the job: at a different time each round,
            // until enough rounds have ended it while it made one.
            var hitCount = 0
            for round in 0..<600 where hitCount < 3 {
                let before = try (
                    client.figure("total_schedule_jobs"),
                    client.figure("total_schedule_runs_left_out")
                )
                let filler = try client.perform("images", "sha256", "x")
                _ = try client.call(
                    "SCHEDULE", "beat", "EVERY", 10, "OVERLAP", "QUEUE", "images", "echo", "")
                usleep(60_000)
                #expect(try client.call("CANCEL", .integer(filler)).text == "cancelled")
                usleep(UInt32(4_500 + round % 60 * 50))
                let madeBefore = try client.unschedule("beat") - before.0
                usleep(10_000)
                let made = try client.figure("total_schedule_jobs") - before.0
                let leftOut = try client.figure("total_schedule_runs_left_out") - before.1
                // Several runs were missed, and there is one job for all of them.
                #expect(made == 0 || (made == 1 && leftOut >= 1), "\(made), round \(round)")
                if made > madeBefore { hitCount += 1 }
                _ = try client.call("CANCEL", "images", "echo")
            }
            #expect(hitCount == 3, "rounds that ended the schedule while it made a job")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `that is given again goes on from where it is`() throws {
        try withDaemon(.durable) { daemon in
            let client = try daemon.connect()
            for payload in ["one", "two"] {
                let reply = try client.call(
                    "schedule", "beat", "every", 3_600_000, "priority", "low", "timeout", 500,
                    "retry", 3, "images", "echo", .text(payload))
                #expect(reply.text == "OK")
            }
            let due = try client.schedule("beat")?["next-due-at"]
            let reply = try client.call(
                "SCHEDULE", "beat", "EVERY", 3_600_000, "images", "echo", "three")
            #expect(reply.text == "OK")
            #expect(try client.schedule("beat")?["next-due-at"] == due)
            #expect(try client.schedule("beat")?["priority"]?.text == "normal")
            let other = try client.call(
                "SCHEDULE", "beat", "CRON", "0 0 1 1 *", "images", "echo", "four")
            #expect(other.text == "OK")
            #expect(try client.schedule("beat")?["every-ms"] == .null)
            #expect(try client.call("SCHEDULES").elements?.count == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `that is wrong is refused with a sentence`() throws {
        try withDaemon(.durable) { daemon in
            let client = try daemon.connect()
            let commands: [([CommandArgument], String)] = [
                (["x", "EVERY", 5, "images", "echo", ""], "ERR EVERY must be at least 10 ms"),
                (["x", "EVERY", "soon", "images", "echo", ""], "ERR EVERY must be a whole number"),
                (
                    ["x", "CRON", "61 * * * *", "images", "echo", ""],
                    "ERR CRON '61 * * * *': minute"
                ),
                (["x", "CRON", "0 0 30 2 *", "images", "echo", ""], "never due"),
                (
                    ["x", "CRON", "@daily", "ZONE", "Europe/Berln", "images", "echo", ""],
                    "ERR there is no time zone 'Europe/Berln'"
                ),
                (
                    ["x", "CRON", "@daily", "ZONE", "../../etc/passwd", "images", "echo", ""],
                    "ERR there is no time zone"
                ),
                (["x", "EVERY", 50, "ZONE", "UTC", "images", "echo", ""], "ERR ZONE is of no use"),
                (["x", "EVERY", 50, "MISSED", "some", "images", "echo", ""], "ERR MISSED must be"),
                (
                    ["x", "EVERY", 50, "OVERLAP", "two", "images", "echo", ""],
                    "ERR OVERLAP must be"
                ),
                (
                    ["x", "EVERY", 50, "MISSED", "all", "OVERLAP", "skip", "images", "echo", ""],
                    "ERR MISSED all needs OVERLAP queue: all makes a job for each moment"
                ),
                (
                    ["x", "EVERY", 50, "UNIQUE", "a", "TELL", "images", "echo", ""],
                    "ERR TELL is of"
                ),
                (["x", "EVERY", 50, "UNIQUE", "", "images", "echo", ""], "ERR UNIQUE has 1 to"),
                (["x", "EVERY", 50, "MISSED", "images", "echo", ""], "ERR 'MISSED' needs a value"),
                (
                    ["x", "EVERY", 50, "WAIT", "5", "images", "echo", ""],
                    "ERR unknown option 'WAIT'"
                ),
                (["x y", "EVERY", 50, "images", "echo", ""], "ERR a schedule's name"),
                (["x", "AT", 50, "images", "echo", ""], "ERR SCHEDULE name CRON or EVERY"),
                (["x", "EVERY", 50, "nowhere", "echo", ""], "NOTHREAD"),
                (["x", "EVERY", 50, "images", "nothing", ""], "NOSELECTOR"),
                (["x", "EVERY", 50, "images", "echo"], "ERR wrong number of arguments"),
            ]
            for (arguments, sentence) in commands {
                try client.send(TestClient.bytes(["SCHEDULE"] + arguments))
                let reply = try client.reply()
                let text = "\(reply.errorWord ?? "no error") \(reply.errorMessage ?? "")"
                #expect(text.contains(sentence), "\(text)")
            }
            #expect(try client.call("SCHEDULES").elements == [])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `without a handler keeps the daemon from starting`() throws {
        let scratch = try Scratch()
        var setup = Setup()
        setup.more = "schedules: { x: { every: '1s', thread: 'images', selector: 'paint' } },"
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        for more in [[], ["--check"]] {
            let daemon = try TestDaemon(
                arguments: ["--config", scratch.file("workerd.json5")] + more, in: scratch)
            #expect(try daemon.end() == "exit status 78")
            let file = scratch.file("workerd.json5")
            let fault = "\(file): schedules.x.selector: there is no selector \"paint\" (line "
            #expect(daemon.log.contains(fault), "\(daemon.log)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `takes the options of a job, by command and in the configuration`() throws {
        let scratch = try Scratch()
        var setup = Setup(threads: "images: {}, mail: { count: 2 }")
        setup.more = """
            schedules: {
                beat: {
                    every: "20ms", thread: "mail", selector: "fail", payloadFile: "$DIR/payload",
                    key: "alice", label: "nightly run", retries: 2, retry: "block",
                },
            },
            """
        try scratch.write("no paper", to: "payload")
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        try eventually("the first run has failed once") {
            try client.call("JOB", 1)["last-failure"]?.text == "no paper"
        }
        let first = try client.call("JOB", 1)
        #expect(first["key"]?.text == "alice" && first["label"]?.text == "nightly run")
        // It holds up those of its key.
        let behind = try client.perform("mail", "echo", "KEY", "alice", "x")
        #expect(try client.job(behind, "state").text == "waiting")
        for options: [CommandArgument] in [
            ["RETRY", 2, "BLOCK"], ["RETRY", 2, "ASIDE", "KEY", "a"], ["RETRY", 0],
            ["RETRY", 2, "BLOCK", "LABEL", "x", "EXPIRE", 50, "PRIORITY", "low"],
        ] {
            let command: [CommandArgument] =
                ["SCHEDULE", "b", "EVERY", 3_600_000] + options + ["images", "echo", "tick"]
            try client.send(TestClient.bytes(command))
            #expect(try client.reply() == .simpleString("OK"), "\(options)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `that can't be read from a damaged file keeps nothing else from running`() throws {
        let scratch = try Scratch()
        do {
            let store = try SQLiteStore(path: scratch.file("jobs.sqlite"))
            let now = WallClock.unixMilliseconds()
            try store.transaction(at: now) { () throws(StoreFault) in
                for period in [0, -1_000, 3_600_000] as [Int64] {
                    let definition = ScheduleDefinition(
                        name: "every\(period)", rhythm: .every(milliseconds: period),
                        request: JobRequest(thread: "images", selector: "echo"))
                    var progress = ScheduleProgress(since: now)
                    if period < 0 { progress.through = .min }
                    try store.keep(
                        ScheduleRecord(definition, isFromCommand: true, progress: progress))
                }
            }
        }
        let daemon = try TestDaemon(.durable, in: scratch)
        defer { daemon.kill() }
        let names = try daemon.connect().call("SCHEDULES").elements?.map { $0["name"]?.text }
        #expect(names == ["every3600000"])
        let sentence = "schedule every0 is not followed: its row in the store is damaged"
        #expect(daemon.log.contains(sentence))
    }
}
