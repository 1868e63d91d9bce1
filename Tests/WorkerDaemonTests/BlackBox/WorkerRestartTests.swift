// Workers that outlive the daemon: they keep their jobs and their tokens.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Workers that outlive the daemon` {
    private static var setup: Setup {
        var setup = Setup.durable
        setup.threads = "images: {}, mail: { count: 2 }"
        setup.selectors = """
            resize: { worker: true, lease: "1m" },
            crop: { worker: true, lease: "50ms", leaseAfterRestart: "50ms" },
            slow: { worker: true, retries: 2, retry: "block" },
            aside: { worker: true, retries: 2 },
            """
        return setup
    }

    enum End: CaseIterable { case crash, shutdown, shutdownNow }

    /// Runs a test over two lives of a daemon.
    private func withTwoLives(
        endedBy end: End, _ setup: Setup = Self.setup, then next: Setup? = nil,
        _ first: (TestDaemon) throws -> Void, _ second: (TestDaemon) throws -> Void
    ) throws {
        let scratch = try Scratch()
        let before = try TestDaemon(setup, in: scratch)
        defer { before.kill() }
        try first(before)
        switch end {
        case .crash: try before.crash()
        case .shutdown:
            try before.send(.terminate)
            #expect(try before.end() == "exit status 0")
        case .shutdownNow:
            try before.connect().send("SHUTDOWN", "NOW")
            #expect(try before.end() == "exit status 0")
        }
        let after = try TestDaemon(next ?? setup, in: scratch, logName: "log2")
        defer { after.kill() }
        try second(after)
    }

    @Test(.timeLimit(.minutes(2)), arguments: End.allCases)
    func `end their jobs under the token of before`(end: End) throws {
        var held: Taken?
        var (ended, behind) = (0, 0)
        try withTwoLives(endedBy: end) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            ended = try client.perform("images", "resize", "0")
            #expect(try Taken.take(worker, "resize").ended(worker, "zero").text == "OK")
            _ = try client.perform("images", "resize", "1")
            // Its thread has it: from now on no priority goes before it.
            try eventually("it waits for a worker") {
                try client.figure("jobs_awaiting_workers") == 1
            }
            behind = try client.perform("images", "echo", "PRIORITY", "high", "2")
            held = try Taken.take(worker, "resize")
        } _: { daemon in
            let client = try daemon.connect()
            let held = try #require(held)
            #expect(try client.call("RESULT", .integer(ended)).text == "zero")
            // It is in its worker's hands: no other worker gets it, and nothing overtakes it.
            #expect(try client.call("TAKE", "WAIT", 100, "FROM", "resize") == .null)
            #expect(try client.job(behind, "state").text == "waiting")
            try eventually("its thread has it") {
                try client.job(held.id, "state").text == "running"
            }
            #expect(try client.job(held.id, "attempt") == .integer(1))
            #expect(
                try client.call("REPORT", .integer(held.id), .text(held.token), 50, "half").text
                    == "go")
            #expect(
                try client.call("DONE", .integer(held.id), "00", "no").errorWord == "STALE")
            #expect(try held.ended(client, "one").text == "OK")
            #expect(try held.ended(client, "one").text == "OK")
            #expect(try client.call("RESULT", .integer(held.id)).text == "one")
            #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "2")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [End.crash, .shutdown])
    func `lose a job whose selector is a program then`(end: End) throws {
        var next = Self.setup
        next.selectors = """
            resize: { program: ["sh", "-c", "echo $WORKERD_ATTEMPT"] },
            """
        var held: Taken?
        try withTwoLives(endedBy: end, then: next) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            _ = try client.perform("images", "resize", "1")
            held = try Taken.take(worker, "resize")
            try eventually("the store has its attempt") {
                try client.job(try #require(held).id, "state").text == "running"
            }
        } _: { daemon in
            let client = try daemon.connect()
            let held = try #require(held)
            // It is told that it runs again, as its worker may be at it still.
            #expect(try client.call("RESULT", .integer(held.id), "WAIT").text == "2\n")
            #expect(try held.ended(client, "one").errorWord == "STALE")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [End.crash, .shutdown])
    func `lose a job whose selector is missing then`(end: End) throws {
        var next = Self.setup
        next.selectors = "crop: { worker: true },"
        var held: Taken?
        try withTwoLives(endedBy: end, then: next) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            _ = try client.perform("images", "resize", "1")
            held = try Taken.take(worker, "resize")
        } _: { daemon in
            let client = try daemon.connect()
            let held = try #require(held)
            #expect(try held.ended(client, "one").errorWord == "STALE")
            try eventually("its attempt counts") {
                try client.job(held.id, "attempt") == .integer(1)
            }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["DONE", "FAIL", "GIVEBACK"])
    func `end their jobs while the thread is paused`(word: String) throws {
        var held: Taken?
        var behind = 0
        try withTwoLives(endedBy: .crash) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            _ = try client.perform("images", "resize", "1")
            held = try Taken.take(worker, "resize")
            behind = try client.perform("images", "echo", "2")
            #expect(try client.call("PAUSE", "images").text == "OK")
        } _: { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let held = try #require(held)
            #expect(try client.call("JOB", .integer(held.id))["waits-for"]?.text == "its worker")
            let end: [CommandArgument] = word == "GIVEBACK" ? ["AFTER", 0] : ["one"]
            let command = [.text(word), .integer(held.id), .text(held.token)] + end
            for _ in 0..<2 {
                try worker.send(TestClient.bytes(command))
                #expect(try worker.reply().text == "OK")
            }
            #expect(try client.job(behind, "state").text == "waiting")
            switch word {
            case "DONE": #expect(try client.call("RESULT", .integer(held.id)).text == "one")
            case "FAIL": #expect(try client.job(held.id, "state").text == "failed")
            default: #expect(try client.job(held.id, "state").text == "waiting")
            }
            #expect(try client.call("RESUME", "images").text == "OK")
            if word == "GIVEBACK" {
                let again = try Taken.take(worker, "resize")
                #expect(again.id == held.id && again.attempt == 1)
                #expect(try again.ended(worker, "one").text == "OK")
            }
            #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "2")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [End.shutdown, .shutdownNow])
    func `keep their jobs when the daemon goes down while the thread is paused`(end: End) throws {
        let scratch = try Scratch()
        var held: Taken?
        do {
            let daemon = try TestDaemon(Self.setup, in: scratch)
            defer { daemon.kill() }
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            _ = try client.perform("mail", "slow", "KEY", "k", "1")
            held = try Taken.take(worker, "slow")
            #expect(try client.call("PAUSE", "mail").text == "OK")
            try daemon.crash()
        }
        let job = try #require(held)
        do {
            // Another job runs on, so that the daemon is there as it goes down.
            let daemon = try TestDaemon(Self.setup, in: scratch, logName: "log2")
            defer { daemon.kill() }
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let running = try client.perform("images", "sleep", "VOLATILE", 60_000)
            try eventually("another job runs") {
                try client.job(running, "state").text == "running"
            }
            if end == .shutdown {
                try daemon.send(.terminate)
                // Nothing has told the worker that the job is another one's.
                try eventually("it goes down") { daemon.log.contains("going down") }
                #expect(try job.report(worker).text == "go")
                _ = try client.call("CANCEL", .integer(running))
            } else {
                try daemon.connect().send("SHUTDOWN", "NOW")
            }
            #expect(try daemon.end() == "exit status 0")
            #expect(daemon.log.contains("1 job left to the workers that hold them"))
        }
        let daemon = try TestDaemon(Self.setup, in: scratch, logName: "log3")
        defer { daemon.kill() }
        let worker = try daemon.connect()
        #expect(try job.report(worker).text == "go")
        #expect(try job.ended(worker, "one").text == "OK")
    }

    @Test(.timeLimit(.minutes(2)))
    func `are waited for by a drain while the thread is paused`() throws {
        var held: Taken?
        try withTwoLives(endedBy: .crash) { daemon in
            let client = try daemon.connect()
            _ = try client.perform("images", "slow", "1")
            held = try Taken.take(try daemon.connect(), "slow")
            #expect(try client.call("PAUSE", "images").text == "OK")
        } _: { daemon in
            let worker = try daemon.connect()
            let held = try #require(held)
            try daemon.connect().send("SHUTDOWN", "DRAIN")
            try eventually("the daemon drains") { daemon.log.contains("going down") }
            #expect(try held.report(worker).text == "go")
            #expect(try held.ended(worker, "one").text == "OK")
            #expect(try daemon.end() == "exit status 0")
        }
    }

    @Test(
        .timeLimit(.minutes(2)), arguments: ["FAIL", "GIVEBACK", "DONE", "vanishes"])
    func `are asked to stop by a cancel while the thread is paused`(word: String) throws {
        var held: Taken?
        try withTwoLives(endedBy: .crash) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let selector: CommandArgument = word == "vanishes" ? "crop" : "resize"
            _ = try client.perform("images", selector, "KEY", "k", "1")
            held = try Taken.take(worker, selector)
            #expect(try client.call("PAUSE", "images").text == "OK")
        } _: { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let held = try #require(held)
            if word != "vanishes" {
                #expect(try client.call("CANCEL", .integer(held.id)).text == "requested")
                #expect(try held.report(worker).text == "stop")
                let end: [CommandArgument] = word == "GIVEBACK" ? [] : ["one"]
                try worker.send(
                    TestClient.bytes([.text(word), .integer(held.id), .text(held.token)] + end))
                #expect(try worker.reply().text == "OK")
            } else {
                // Its lease of 50 ms is over soon, before or after the cancel.
                _ = try client.call("CANCEL", .integer(held.id))
            }
            let state = word == "DONE" ? "done" : "cancelled"
            try eventually("the job is \(state)") {
                try client.job(held.id, "state").text == state
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `lose a job whose thread is missing when they end it`() throws {
        let scratch = try Scratch()
        var missing = Self.setup
        missing.threads = "mail: { count: 2 }"
        var held: Taken?
        for (life, setup) in [Self.setup, missing, Self.setup].enumerated() {
            let daemon = try TestDaemon(setup, in: scratch, logName: "log\(life)")
            defer { daemon.kill() }
            let worker = try daemon.connect()
            switch (life, held) {
            case (0, _):
                _ = try worker.perform("images", "slow", "1")
                held = try Taken.take(worker, "slow")
            case (1, let held?):
                // The thread may be there again before that.
                #expect(try held.report(worker).text == "go")
                #expect(try held.ended(worker, "one").errorWord == "STALE")
            default:
                let again = try Taken.take(worker, "slow")
                #expect(again.id == held?.id)
                #expect(again.attempt == 2)
                #expect(try again.ended(worker, "one").text == "OK")
            }
            try daemon.crash()
        }
    }

    /// Has workers hold a job of each thread of a pool, with jobs of a higher priority behind them.
    private func holdPool(
        _ daemon: TestDaemon, before selector: CommandArgument
    ) throws -> (held: [Taken], waiting: [Int]) {
        let client = try daemon.connect()
        let held = try (0..<2).map { _ in
            _ = try client.perform("mail", "resize", "PRIORITY", "low", "1")
            return try Taken.take(try daemon.connect(), "resize")
        }
        let waiting = try (0..<2).map { _ in
            try client.perform("mail", selector, "PRIORITY", "high", "2")
        }
        return (held, waiting)
    }

    @Test(.timeLimit(.minutes(2)))
    func `keep the threads of their pool, and end their jobs if it has others`() throws {
        var held: [Taken] = []
        var waiting: [Int] = []
        try withTwoLives(endedBy: .crash) { daemon in
            (held, waiting) = try holdPool(daemon, before: "crop")
            // Each thread's own jobs go before those of its pool.
            let client = try daemon.connect()
            for thread: CommandArgument in ["mail/1", "mail/2"] {
                _ = try client.perform(thread, "crop", "3")
            }
        } _: { daemon in
            let client = try daemon.connect()
            for held in held { #expect(try held.ended(client, "one").text == "OK") }
            for _ in 0..<4 {
                let next = try Taken.take(client, "crop")
                #expect(try next.ended(client, "").text == "OK")
            }
            for id in waiting { #expect(try client.job(id, "state").text == "done") }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `keep the threads of their pool before jobs of a higher priority`() throws {
        var held: [Taken] = []
        var waiting: [Int] = []
        try withTwoLives(endedBy: .crash) { daemon in
            (held, waiting) = try holdPool(daemon, before: "echo")
        } _: { daemon in
            let client = try daemon.connect()
            for held in held {
                try eventually("a thread has it") {
                    try client.job(held.id, "state").text == "running"
                }
            }
            for id in waiting { #expect(try client.job(id, "state").text == "waiting") }
            for held in held { #expect(try held.ended(client, "one").text == "OK") }
            for id in waiting { _ = try client.call("RESULT", .integer(id), "WAIT") }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: End.allCases)
    func `get their job again under their name`(end: End) throws {
        var held: Taken?
        try withTwoLives(endedBy: end) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            _ = try client.perform("mail", "resize", "KEY", "k", "1")
            held = try Taken.take(worker, as: "w1", "resize")
            _ = try client.perform("mail", "resize", "2")
        } _: { daemon in
            let worker = try daemon.connect()
            let again = try Taken.take(worker, as: "w1", "resize")
            #expect(again.id == held?.id)
            #expect(again.token == held?.token)
            #expect(again.attempt == 1)
            #expect(try again.ended(worker, "one").text == "OK")
            let next = try Taken.take(worker, as: "w1", "resize")
            #expect(next.payload == "2")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: End.allCases)
    func `lose their job when the lease after the restart is over`(end: End) throws {
        var held: Taken?
        try withTwoLives(endedBy: end) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            _ = try client.perform("images", "crop", "1")
            held = try Taken.take(worker, "crop")
        } _: { daemon in
            let worker = try daemon.connect()
            let again = try Taken.take(worker, "crop")
            #expect(again.id == held?.id)
            #expect(again.token != held?.token)
            // It is told that this is not the first beginning.
            #expect(again.attempt == 2)
            #expect(try held?.ended(worker, "late").errorWord == "STALE")
            #expect(try again.ended(worker, "one").text == "OK")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `that give back, fail or block, do so after a crash too`() throws {
        var held: [Taken] = []
        try withTwoLives(endedBy: .crash) { daemon in
            let client = try daemon.connect()
            for number in 1...2 {
                _ = try client.perform("mail", "slow", "KEY", .integer(number), .integer(number))
                held.append(try Taken.take(try daemon.connect(), "slow"))
            }
            _ = try client.perform("mail", "slow", "KEY", 1, "3")
        } _: { daemon in
            let worker = try daemon.connect()
            let (first, second) = (held[0], held[1])
            #expect(
                try worker.call("FAIL", .integer(first.id), .text(first.token), "AGAIN", 1, "x")
                    .text == "OK")
            let again = try Taken.take(worker, "slow")
            #expect(again.id == first.id)
            #expect(again.attempt == 2)
            #expect(
                try worker.call("GIVEBACK", .integer(second.id), .text(second.token), "AFTER", 0)
                    .text == "OK")
            let back = try Taken.take(try daemon.connect(), "slow")
            #expect(back.id == second.id)
            #expect(back.attempt == 1)
            #expect(try again.ended(worker, "").text == "OK")
            #expect(try Taken.take(worker, "slow").payload == "3")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `that fail step aside for the jobs behind`() throws {
        var held: Taken?
        var behind = 0
        try withTwoLives(endedBy: .crash) { daemon in
            let client = try daemon.connect()
            _ = try client.perform("images", "aside", "1")
            held = try Taken.take(try daemon.connect(), "aside")
            behind = try client.perform("images", "echo", "2")
        } _: { daemon in
            let client = try daemon.connect()
            let held = try #require(held)
            #expect(try client.job(behind, "state").text == "waiting")
            #expect(
                try client.call(
                    "FAIL", .integer(held.id), .text(held.token), "AGAIN", 3_600_000, "x"
                ).text == "OK")
            #expect(try client.call("RESULT", .integer(behind), "WAIT").text == "2")
            #expect(try client.job(held.id, "state").text == "delayed")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `keep their job over several crashes`() throws {
        let scratch = try Scratch()
        var held: Taken?
        for life in 1...4 {
            let daemon = try TestDaemon(Self.setup, in: scratch, logName: "log\(life)")
            defer { daemon.kill() }
            let client = try daemon.connect()
            if life == 1 {
                _ = try client.perform("images", "slow", "x")
                held = try Taken.take(client, "slow")
                for number in 1...100 { _ = try client.perform("mail", "echo", .integer(number)) }
            }
            if life == 4 { #expect(try held?.ended(client, "y").text == "OK") }
            if life == 3 {
                try eventually("its thread has it") {
                    try client.job(held?.id ?? 0, "state").text == "running"
                }
            }
            try daemon.crash()
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `are asked to stop by a shutdown only if their job is volatile`() throws {
        let scratch = try Scratch()
        let daemon = try TestDaemon(Self.setup, in: scratch)
        defer { daemon.kill() }
        let (client, worker) = (try daemon.connect(), try daemon.connect())
        let volatile = try client.perform("images", "slow", "VOLATILE", "x")
        try eventually("its thread has it") { try client.figure("jobs_awaiting_workers") == 1 }
        let durable = try client.perform("mail", "slow", "y")
        let (first, second) = (
            try Taken.take(worker, "slow"), try Taken.take(try daemon.connect(), "slow")
        )
        #expect([first.id, second.id] == [volatile, durable])
        try client.send("RESULT", .integer(durable), "WAIT")
        #expect(try client.isSilent())
        // Without the grace: `NOW` asks at once.
        try daemon.connect().send("SHUTDOWN", "NOW")
        #expect(try client.reply().errorWord == "SHUTTINGDOWN")
        #expect(try daemon.end() == "exit status 0")
        #expect(daemon.log.contains("1 job left to the workers that hold them"))
    }
}
