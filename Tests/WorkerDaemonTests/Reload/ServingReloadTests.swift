// Threads and selectors of the real daemon that come, go and change at a reload.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Threads and selectors at a reload` {
    private static let setup = Setup(
        threads: "images: {}, mail: { count: 2 }, ledger: {}",
        selectors: "shout: { program: [\"tr\", \"a-z\", \"A-Z\"] }", store: "\"$DIR/jobs.sqlite\"")

    @Test(.timeLimit(.minutes(2)))
    func `a selector comes, changes and goes, and its durable jobs wait for it`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "shout", "WAIT", "a").text == "A")
            _ = try client.call("PAUSE", "images")
            let early = try client.perform("images", "shout", "early")
            try daemon.rewrite(
                section: "selectors: { shout: { program: [\"tr\", \"a-z\", \"b-zA\"] } }")
            #expect(
                try client.reload() == [
                    "selector shout: program /usr/bin/tr a-z A-Z → "
                        + "/usr/bin/tr a-z b-zA"
                ])
            let later = try client.perform("images", "shout", "later")
            _ = try client.call("RESUME", "images")
            // A job that was offered before keeps its program.
            #expect(try client.call("RESULT", .integer(early), "WAIT").text == "EARLY")
            #expect(try client.call("RESULT", .integer(later), "WAIT").text == "mbufs")

            _ = try client.call("PAUSE", "images")
            let kept = try client.perform("images", "shout", "kept")
            let behind = try client.perform("images", "echo", "behind")
            let volatile = try client.perform("images", "shout", "VOLATILE", "x")
            try daemon.rewrite(section: "selectors: { }")
            #expect(try client.reload() == ["selector shout: removed"])
            #expect(try client.call("PERFORM", "images", "shout", "x").errorWord == "NOSELECTOR")
            #expect(try client.call("JOB", .integer(volatile))["state"]?.text == "cancelled")
            _ = try client.call("RESUME", "images")
            #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "behind")
            #expect(try client.call("JOB", .integer(kept))["state"]?.text == "waiting")

            try daemon.rewrite(section: "selectors: { shout: { program: [\"tr\", \"k\", \"K\"] } }")
            #expect(try client.reload() == ["selector shout: added"])
            #expect(try client.call("RESULT", .integer(kept), "WAIT").text == "Kept")
            try checkCounts(client)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a thread goes after its running job, and comes back with its jobs in order`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let other = try daemon.connect()
            let running = try client.perform("ledger", "sleep", "3600000")
            try client.waitUntil(running, is: "running")
            let waiting = try (0..<20).map { try client.perform("ledger", "echo", .text("\($0)")) }
            let volatile = try client.perform("ledger", "echo", "VOLATILE", "x")
            try client.send("RESULT", .integer(waiting[3]), "WAIT")
            try daemon.rewrite(section: "threads: { images: {}, mail: { count: 2 } }")
            try other.send("RELOAD")
            #expect(try client.reply().errorWord == "NOTHREAD")
            #expect(try client.call("PERFORM", "ledger", "echo", "x").errorWord == "NOTHREAD")
            #expect(try client.call("JOB", .integer(volatile))["state"]?.text == "cancelled")
            #expect(try client.call("JOB", .integer(running))["state"]?.text == "running")
            #expect(daemon.log.contains("the reload waits for job \(running)"))
            // Others are served meanwhile.
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(try client.call("CANCEL", .integer(running)).text == "requested")
            #expect(try other.reply().elements?.map(\.text) == ["thread ledger: removed"])
            let threads = try client.call("THREADS").elements ?? []
            let missing = threads.first { $0["name"]?.text == "ledger" }
            #expect(missing?["state"]?.text == "orphaned")
            #expect(missing?["waiting"]?.integer == 20)
            #expect(try client.call("JOBS", "ledger", "waiting").elements?.count == 20)
            #expect(try client.call("CANCEL", .integer(waiting[7])).text == "cancelled")

            try daemon.rewrite(section: "threads: { images: {}, mail: { count: 2 }, ledger: {} }")
            #expect(try client.reload() == ["thread ledger: added, count 1"])
            for (number, id) in waiting.enumerated() where number != 7 {
                #expect(try client.call("RESULT", .integer(id), "WAIT").text == "\(number)")
            }
            let started = try waiting.compactMap {
                try client.call("JOB", .integer($0))["started-at"]?.integer
            }
            #expect(started == started.sorted() && started.count == 19)
            try checkCounts(client)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `threads are listed in the order of the configuration`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            func names() throws -> [String?] {
                (try client.call("THREADS").elements ?? []).map { $0["name"]?.text }
            }
            try daemon.rewrite(
                section: "threads: { first: {}, images: {}, second: {}, mail: { count: 2 } }")
            #expect(try client.reload().count == 3)
            #expect(try names() == ["first", "images", "second", "mail/1", "mail/2"])
            // Only their order changes.
            try daemon.rewrite(
                section: "threads: { mail: { count: 2 }, second: {}, images: {}, first: {} }")
            #expect(try client.reload() == [])
            #expect(try names() == ["mail/1", "mail/2", "second", "images", "first"])
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [1, 2, 4])
    func `the count of a pool changes, and no job is lost or overtaken`(_ count: Int) throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "mail")
            var jobs: [Int] = []
            for number in 0..<30 {
                jobs.append(
                    try client.perform("mail", "echo", "KEY", "k", .text("durable \(number)")))
                jobs.append(
                    try client.perform(
                        "mail", "echo", "KEY", "k", "VOLATILE", .text("volatile \(number)")))
            }
            let own = try client.perform("mail/2", "echo", "own")
            try daemon.rewrite(
                section: "threads: { images: {}, ledger: {}, mail: { count: \(count) } }")
            let lines = try client.reload()
            #expect(lines == (count == 2 ? [] : ["thread mail: count 2 → \(count)"]))
            let state = try client.call("THREAD", "mail")
            #expect(state["state"]?.text == "paused" || count > 1)
            #expect(try client.call("JOB", .integer(jobs[0]))["state"]?.text == "waiting")
            _ = try client.call("RESUME", "mail")
            for (place, id) in jobs.enumerated() {
                let text = place % 2 == 0 ? "durable \(place / 2)" : "volatile \(place / 2)"
                #expect(try client.call("RESULT", .integer(id), "WAIT").text == text)
            }
            let ended = try jobs.compactMap {
                try client.call("JOB", .integer($0))["started-at"]?.integer
            }
            #expect(ended == ended.sorted() && ended.count == jobs.count)
            if count == 1 {
                #expect(try client.call("JOB", .integer(own))["state"]?.text == "waiting")
                #expect(try client.call("PERFORM", "mail/2", "echo", "x").errorWord == "NOTHREAD")
                try daemon.rewrite(
                    section: "threads: { images: {}, ledger: {}, mail: { count: 2 } }")
                #expect(try client.reload() == ["thread mail: count 1 → 2"])
            }
            #expect(try client.call("RESULT", .integer(own), "WAIT").text == "own")
            try checkCounts(client)
        }
    }

    @Test(
        .timeLimit(.minutes(2)), arguments: [(1, 3), (3, 1), (2, 3)],
        [Setup.memory, Setup.durable.store])
    func `a job that waits for a worker goes to the threads of another count`(
        counts: (before: Int, after: Int), store: String
    ) throws {
        let setup = Setup(
            threads: "mail: { count: \(counts.before) }", selectors: "resize: { worker: true }",
            store: store)
        try withDaemon(setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            func awaitWait() throws {
                try eventually("it waits for a worker") {
                    try client.call("JOB", 1)["waits-for"]?.text == "worker resize"
                }
            }
            let id = try client.perform("mail", "resize", "x")
            try awaitWait()
            // As new, and given back by a worker.
            for count in [counts.after, counts.before] {
                try daemon.rewrite(section: "threads: { mail: { count: \(count) } }")
                #expect(try client.reload().count == 1)
                let taken = try Taken.take(worker, "resize")
                #expect(taken.id == id)
                #expect(
                    try worker.call("GIVEBACK", .integer(id), .text(taken.token)).text == "OK")
                try awaitWait()
            }
            let taken = try Taken.take(worker, "resize")
            #expect(try taken.ended(worker, "y").text == "OK")
            #expect(try client.call("RESULT", .integer(id)).text == "y")
            try checkCounts(client)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `jobs that wait for workers run when their selector is a program`() throws {
        let setup = Setup(
            threads: "images: {}, mail: { count: 2 }, post: {}",
            selectors: "shout: { worker: true }", store: Setup.durable.store)
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let ids = try ["images", "mail", "post"].map {
                try client.perform(.text($0), "shout", "a")
            }
            let behind = try client.perform("images", "echo", "b")
            for id in ids {
                try eventually("it waits for a worker") {
                    try client.call("JOB", .integer(id))["waits-for"]?.text == "worker shout"
                }
            }
            try daemon.rewrite(
                section: "selectors: { shout: { program: [\"tr\", \"a-z\", \"A-Z\"] } }")
            try daemon.rewrite(section: "threads: { images: {}, mail: { count: 3 } }")
            #expect(try client.reload().isEmpty == false)
            for id in ids.dropLast() {
                #expect(try client.call("RESULT", .integer(id), "WAIT").text == "A")
            }
            #expect(try client.call("PERFORM", "post", "echo", "x").errorWord == "NOTHREAD")
            try daemon.rewrite(section: "threads: { images: {}, mail: { count: 3 }, post: {} }")
            #expect(try client.reload() == ["thread post: added, count 1"])
            #expect(try client.call("RESULT", .integer(ids[2]), "WAIT").text == "A")
            #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "b")
            try checkCounts(client)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["images", "mail"], [1, 2])
    func `jobs for workers behind running jobs run when their selector is a program`(
        thread: String, offerCount: Int
    ) throws {
        let setup = Setup(
            threads: "images: {}, mail: { count: 2 }", selectors: "shout: { worker: true }",
            store: Setup.durable.store)
        let name = CommandArgument.text(thread)
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let running = try (0..<(thread == "mail" ? 2 : 1)).map { _ in
                try client.perform(name, "sleep", "3600000")
            }
            for id in running { try client.waitUntil(id, is: "running") }
            let id = try client.perform(name, "shout", "KEY", "k", "a")
            let behind = try client.perform(name, "echo", "KEY", "k", "b")
            // It hands a pool's job to the members, which are busy.
            if offerCount == 2 { #expect(try client.call("TAKE", "FROM", "shout") == .null) }
            try daemon.rewrite(
                section: "selectors: { shout: { program: [\"tr\", \"a-z\", \"A-Z\"] } }")
            #expect(try client.reload().isEmpty == false)
            for id in running { _ = try client.call("CANCEL", .integer(id)) }
            #expect(try client.call("RESULT", .integer(id), "WAIT").text == "A")
            #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "b")
            #expect(try client.call("PERFORM", name, "echo", "WAIT", "x").text == "x")
            try checkCounts(client)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["images", "mail"], ["GIVEBACK", "vanishes"])
    func `a job in a worker's hands runs when it comes back to a selector that is a program`(
        thread: String, word: String
    ) throws {
        let setup = Setup(
            threads: "images: {}, mail: { count: 2 }",
            selectors: "shout: { worker: true, lease: \"50ms\" }", store: Setup.durable.store)
        let name = CommandArgument.text(thread)
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let id = try client.perform(name, "shout", "KEY", "k", "a")
            let behind = try client.perform(name, "echo", "KEY", "k", "b")
            let last = try client.perform(name, "shout", "KEY", "k", "c")
            do {
                let worker = try daemon.connect()
                let job = try Taken.take(worker, "shout")
                #expect(job.id == id)
                try daemon.rewrite(
                    section: "selectors: { shout: { program: [\"tr\", \"a-z\", \"A-Z\"] } }")
                #expect(try client.reload().isEmpty == false)
                #expect(try client.job(id, "state").text == "running")
                if word == "GIVEBACK" {
                    let back = try worker.call(
                        "GIVEBACK", .integer(id), .text(job.token), "AFTER", 0)
                    #expect(back.text == "OK")
                } else {
                    #expect(try worker.call("PING").text == "PONG")
                }
            }
            #expect(try client.call("RESULT", .integer(id), "WAIT").text == "A")
            #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "b")
            #expect(try client.call("RESULT", .integer(last), "WAIT").text == "C")
            let started = try [id, behind, last].compactMap {
                try client.call("JOB", .integer($0))["started-at"]?.integer
            }
            #expect(started == started.sorted() && started.count == 3)
            try checkCounts(client)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a new thread of a pool goes on although each of the others is paused`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            func reload(_ count: Int) throws {
                try daemon.rewrite(
                    section: "threads: { images: {}, ledger: {}, mail: { count: \(count) } }")
                #expect(try client.reload().count == 1)
            }
            try reload(1)
            try reload(2)
            for name in ["mail/1", "mail/2"] { _ = try client.call("PAUSE", .text(name)) }
            try reload(3)
            let states = try ["mail/1", "mail/2", "mail/3"].map {
                try client.call("THREAD", .text($0))["state"]?.text
            }
            #expect(states == ["paused", "paused", "idle"])
            #expect(try client.call("PERFORM", "mail", "echo", "WAIT", "x").text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [1, 3])
    func `a stopped pool stays stopped when its count changes, its waiting jobs run`(
        count: Int
    ) throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let running = try (1...2).map {
                try client.perform(.text("mail/\($0)"), "sleep", "3600000")
            }
            for id in running { try client.waitUntil(id, is: "running") }
            let waiting = [
                try client.perform("mail", "echo", "x"),
                try client.perform("mail", "echo", "VOLATILE", "x"),
            ]
            #expect(try client.call("STOP", "mail").text == "OK")
            try daemon.rewrite(
                section: "threads: { images: {}, ledger: {}, mail: { count: \(count) } }")
            let other = try daemon.connect()
            try other.send("RELOAD")
            try eventually("the reload waits") { daemon.log.contains("the reload waits for") }
            for id in running { _ = try client.call("CANCEL", .integer(id)) }
            #expect(
                try other.reply().elements?.map(\.text) == ["thread mail: count 2 → \(count)"])
            for id in waiting {
                #expect(try client.call("RESULT", .integer(id), "WAIT").text == "x")
            }
            let refused = try client.call("PERFORM", "mail", "echo", "x")
            #expect(refused.errorMessage?.contains("mail has been stopped") == true)
            try eventually("all have ended") {
                try client.call("THREADS").elements?.count {
                    $0["name"]?.text?.hasPrefix("mail") == true && $0["state"]?.text == "stopped"
                } == count
            }
            try checkCounts(client)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a stopped thread of a pool stays stopped when the count changes`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("STOP", "mail/2").text == "OK")
            try daemon.rewrite(section: "threads: { images: {}, ledger: {}, mail: { count: 3 } }")
            #expect(try client.reload().count == 1)
            for name in ["mail", "mail/1", "mail/3"] {
                #expect(try client.call("PERFORM", .text(name), "echo", "WAIT", "x").text == "x")
            }
            let refused = try client.call("PERFORM", "mail/2", "echo", "x")
            #expect(refused.errorMessage?.contains("mail/2 has been stopped") == true)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `threads that were replaced leave nothing behind`() throws {
        var setup = Self.setup
        setup.selectors += ", turn: { worker: true }"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let worker = try daemon.connect()
            let files = "/proc/\(daemon.processID)/fd"
            func reload(_ count: Int) throws {
                try daemon.rewrite(
                    section: "threads: { images: {}, ledger: {}, mail: { count: \(count) } }")
                #expect(try client.reload().count == 1)
                // Its loop watches descriptors from then on.
                #expect(try client.call("PERFORM", "mail", "shout", "WAIT", "x").text == "X")
                // And a worker in another process has had a job of it.
                _ = try client.perform("mail", "turn", "x")
                #expect(try Taken.take(worker, "turn").ended(worker, "x").errorWord == nil)
            }
            try reload(1)
            let before = try Directory.names(in: files).count
            for round in 0..<20 { try reload(2 - round % 2) }
            try eventually("their descriptors are closed") {
                try Directory.names(in: files).count <= before + 6
            }
        }
    }

    @Test(.timeLimit(.minutes(2))) func `settings of a thread change without a pause`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let running = try client.perform("ledger", "sleep", "3600000")
            try client.waitUntil(running, is: "running")
            try daemon.rewrite(
                section: "threads: { images: {}, mail: { count: 2 }, ledger: { maxQueued: 2 } }")
            #expect(try client.reload() == ["thread ledger: maxQueued 1,000,000 → 2"])
            #expect(try client.call("THREAD", "ledger")["max-queued"]?.integer == 2)
            for _ in 0..<2 { _ = try client.perform("ledger", "echo", "x") }
            #expect(try client.call("PERFORM", "ledger", "echo", "x").errorWord == "BUSY")
            _ = try client.call("CANCEL", .integer(running))
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `reloads under load and a kill lose and double no job`() throws {
        let scratch = try Scratch()
        var setup = Self.setup
        setup.log = "level: \"notice\""
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        let clients = try (0..<3).map { _ in try daemon.connect() }
        let operators = try daemon.connect()
        var accepted: Set<Int> = []
        let counts = [1, 3, 2, 4]
        for round in 0..<40 {
            for (number, client) in clients.enumerated() {
                try client.send(
                    "PERFORM", number == 0 ? "ledger" : "mail", round % 3 == 0 ? "shout" : "echo",
                    "KEY", .text("k\(number)"), .text("\(round)"))
            }
            if round % 8 == 4 {
                let ledger = round % 16 == 4 ? "" : ", ledger: {}"
                try daemon.rewrite(
                    section: "threads: { images: {}, mail: { count: \(counts[round / 8 % 4]) }"
                        + "\(ledger) }")
                try daemon.rewrite(
                    section: round % 16 == 4
                        ? "selectors: { }"
                        : "selectors: { shout: { program: [\"tr\", \"a-z\", \"A-Z\"] } }")
                try operators.send("RELOAD")
            }
            for client in clients {
                let answer = try client.reply()
                if let id = answer.integer {
                    #expect(accepted.insert(id).inserted)
                } else {
                    #expect(["NOTHREAD", "NOSELECTOR"].contains(answer.errorWord), "\(answer)")
                }
            }
        }
        // In the middle of a last one.
        try daemon.rewrite(section: "threads: { images: {}, mail: {} }")
        try operators.send("RELOAD")
        try daemon.send(.kill)
        _ = try daemon.end()

        let after = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { after.kill() }
        let client = try after.connect()
        for id in accepted.sorted() {
            let result = try client.call("RESULT", .integer(id), "WAIT")
            #expect(result.text != nil, "job \(id): \(result)")
        }
        #expect(accepted.count > 60)
        try checkCounts(client)
    }

    /// Checks that the daemon has found no fault of its own.
    private func checkCounts(_ client: TestClient) throws {
        let information = try client.call("INFO").text ?? ""
        #expect(information.contains("miscounts:0\r\n"))
        #expect(information.contains("stalled_queues:0\r\n"))
        #expect(information.contains("orphaned_jobs:0\r\n"))
    }
}

extension TestClient {
    /// The lines of a reload.
    fileprivate func reload() throws -> [String] {
        let answer = try call("RELOAD")
        guard let lines = answer.elements else { throw Unexpected("RELOAD: \(answer)") }
        return lines.compactMap(\.text)
    }
}
