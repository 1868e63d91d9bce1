// Commands that all nodes execute, and the work of workers that take jobs of any node.

import Jobs
import Kernel
import RESP
import Support
import Testing

@testable import WorkerDaemon

@Suite struct `The answer of all nodes` {
    @Test(.timeLimit(.minutes(2)), arguments: [2, 3])
    func `shows each thread as its owner does`(version: Int) throws {
        try withLinkedNodes { nodes in
            let (client, other) = (try nodes.connect(0), try nodes.connect(1))
            if version == 3 { _ = try client.call("HELLO", 3) }
            _ = try other.call("PAUSE", "two")
            let rows = try client.call("THREADS").elements ?? []
            #expect(rows.map { $0["name"]?.text } == ["one", "two", "pool/1", "pool/2"])
            #expect(rows.map { $0["node"]?.text } == ["a", "b", "a", "a"])
            #expect(rows[1]["state"]?.text == "paused")
            #expect(rows[0]["state"]?.text == "idle")
            let seen = try other.call("THREADS").elements ?? []
            #expect(seen.map { $0["node"]?.text } == ["a", "b", "a", "a"])
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [2, 3])
    func `lists the jobs of all by their numbers`(version: Int) throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["pool": 2])
            let client = try nodes.connect(0)
            if version == 3 { _ = try client.call("HELLO", 3) }
            for thread: CommandArgument in ["one", "two", "pool", "two", "one"] {
                _ = try client.call("PERFORM", thread, "echo", "WAIT", "x")
            }
            func numbers(_ arguments: CommandArgument...) throws -> [Int?] {
                try client.send(TestClient.bytes(["JOBS"] + arguments))
                return (try client.reply().elements ?? []).map { $0["id"]?.integer }
            }
            let all = [2_000_001, 1_000_002, 1_000_001, 2, 1]
            #expect(try numbers() == all)
            #expect(try numbers("OLDEST") == all.reversed())
            #expect(try numbers("LIMIT", 3) == Array(all.prefix(3)))
            #expect(try numbers("OLDEST", "AFTER", 1, "LIMIT", 2) == [2, 1_000_001])
            #expect(try numbers("two") == [1_000_002, 1_000_001])
            #expect(try client.call("JOBS", "nowhere").errorWord == "NOTHREAD")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `adds up what all have done`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            for thread: CommandArgument in ["one", "two", "two"] {
                _ = try client.call("PERFORM", thread, "fail", "WAIT", "x")
            }
            #expect(try client.call("DROP", "ALL", "fail") == .integer(3))
            #expect(try client.call("DROP", "ALL", "fail") == .integer(0))
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [2, 3])
    func `groups the failed jobs of all`(version: Int) throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            if version == 3 { _ = try client.call("HELLO", 3) }
            for (thread, reason): (CommandArgument, CommandArgument) in [
                ("one", "no paper 1"), ("two", "no ink"), ("two", "no paper 22"),
                ("one", "no paper 3"),
            ] {
                _ = try client.call("PERFORM", thread, "fail", "WAIT", reason)
                nodes.advance(by: .seconds(1))
            }
            let groups = try client.call("FAILURES").elements ?? []
            #expect(groups.map { $0["reason"]?.text } == ["no paper #", "no ink"])
            #expect(groups.map { $0["count"]?.integer } == [3, 1])
            #expect(groups.map { $0["newest"]?.integer } == [2, 1_000_001])
            #expect(groups.first?["failure"]?.text == "no paper 3")
            let times = try ["first", "last"].map { try #require(groups.first?[$0]?.integer) }
            #expect(times[1] - times[0] == 3_000)
            let other = try nodes.connect(1).call("FAILURES").elements ?? []
            #expect(other.map { $0["count"]?.integer } == [3, 1])
            let ofThread = try client.call("FAILURES", "two").elements ?? []
            #expect(ofThread.map { $0["newest"]?.integer } == [1_000_002, 1_000_001])
            #expect(try client.call("FAILURES", "nowhere").errorWord == "NOTHREAD")
            #expect(try client.call("FAILURES", "waiting").errorWord == "ERR")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `has the schedules of all, each with the owner of its thread`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            for (name, thread): (CommandArgument, CommandArgument) in [
                ("s2", "one"), ("s1", "two"),
            ] {
                #expect(
                    try client.call("SCHEDULE", name, "EVERY", 3_600_000, thread, "echo", "x").text
                        == "OK")
            }
            let names = try client.call("SCHEDULES").elements?.map { $0["name"]?.text }
            #expect(names == ["s1", "s2"])
            #expect(try nodes.figure(1) { $0.schedules.entries.count } == 1)
            #expect(try client.call("UNSCHEDULE", "s1") == .integer(1))
            #expect(try client.call("UNSCHEDULE", "s2") == .integer(1))
            #expect(try client.call("SCHEDULES").elements?.isEmpty == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `has no part in BULK, which is about the node's own threads`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            for thread: CommandArgument in ["one", "one", "pool"] {
                _ = try client.call("PAUSE", thread)
                _ = try client.perform(thread, "echo", "x")
            }
            // As with a store that lists the jobs of all nodes.
            _ = try nodes.figure(0) { service in
                service.driver.isOpen = { $0 == "one" }
                return 0
            }
            let count = try client.call("BULK", "CANCEL", "DRY", "SELECTOR", "echo")
            #expect(count["count"] == .integer(2))
            // The newest job is not its own, and takes no place among them.
            let run = try client.call("BULK", "CANCEL", "LIMIT", 1, "SELECTOR", "echo")
            let id = try #require(run["id"]?.integer)
            let end = try client.call("BULK", "STATUS", .integer(id), "WAIT", 60_000)
            #expect(end["found"] == .integer(1) && end["done"] == .integer(1))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is an error if a node does not answer within two seconds`() throws {
        try withLinkedNodes { nodes in
            // It takes connections and says nothing.
            let silent = try freeLoopbackAddress()
            let listener = try Listener(at: silent.address)
            try nodes.describe(1) { $0.commands = "redis://\(silent.text)" }
            let client = try nodes.connect(0)
            try client.send("THREADS")
            #expect(try client.isSilent())
            nodes.advance(by: .milliseconds(1_999))
            #expect(try client.isSilent())
            nodes.advance(by: .milliseconds(1))
            let reply = try client.reply()
            #expect(reply.errorWord == "BUSY")
            #expect(reply.errorMessage?.contains("node b") == true)
            withExtendedLifetime(listener) {}
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is BUSY if another node is going down`() throws {
        try withLinkedNodes { nodes in
            _ = try nodes.figure(1) { service in
                service.driver.input { $0.refuse() }
                return 0
            }
            let client = try nodes.connect(0)
            let reply = try client.call("RETRY", "ALL", "echo")
            #expect(reply.errorWord == "BUSY")
            #expect(reply.errorMessage?.contains("node b is going down") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `comes in its turn, behind answers that take longer`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            try client.send(
                TestClient.bytes(["PERFORM", "two", "hold", "WAIT", "x"])
                    + TestClient.bytes(["THREADS"]) + TestClient.bytes(["PING"]))
            try eventually("it has come") { try nodes.jobCount(1) == 1 }
            nodes.advance(by: .seconds(60))
            #expect(try client.isSilent())
            nodes.gate.open()
            #expect(try client.reply().text == "x")
            #expect(try client.reply().elements?.count == 4)
            #expect(try client.reply().text == "PONG")
        }
    }
}

@Suite struct `A worker at any node` {
    @Test(.timeLimit(.minutes(2)))
    func `takes the jobs of all nodes and ends them`() throws {
        try withLinkedNodes { nodes in
            let (client, worker) = (try nodes.connect(1), try nodes.connect(0))
            for thread: CommandArgument in ["two", "one", "two"] {
                try worker.send("TAKE", "WAIT", 60_000, "FROM", "turn")
                try client.send("PERFORM", thread, "turn", "WAIT", thread)
                let taken = try Taken(try worker.reply())
                #expect(taken.thread == (thread == "two" ? "two" : "one"))
                #expect(
                    try worker.call("REPORT", .integer(taken.id), .text(taken.token), 50, "")
                        .text == "go")
                #expect(try taken.ended(worker, "done").text == "OK")
                #expect(try client.reply().text == "done")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `goes on from a job of one node to one of the other`() throws {
        try withLinkedNodes { nodes in
            let (client, worker) = (try nodes.connect(1), try nodes.connect(0))
            try client.send("PERFORM", "two", "turn", "WAIT", "x")
            let first = try Taken.take(worker, "turn")
            try worker.send(
                "DONE", .integer(first.id), .text(first.token), "THEN", "TAKE", "WAIT", 60_000,
                "FROM", "turn", "result")
            #expect(try client.reply().text == "result")
            try client.send("PERFORM", "one", "turn", "WAIT", "y")
            let second = try Taken(try worker.reply())
            #expect(second.thread == "one")
            #expect(
                try worker.call(
                    "DONE", .integer(first.id), "wrong", "THEN", "TAKE", "FROM", "turn", "x"
                ).errorWord == "STALE")
            #expect(try second.ended(worker, "last").text == "OK")
            #expect(try client.reply().text == "last")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `gets null when its time is over, or an operator says so`() throws {
        try withLinkedNodes { nodes in
            let (client, worker) = (try nodes.connect(0), try nodes.connect(0))
            let number = try worker.call("CLIENT", "ID").integer ?? 0
            try worker.send("TAKE", "WAIT", 1_000, "FROM", "turn")
            try eventually("it waits") { try nodes.sessionCount(1) == 1 }
            var isOver = false
            while !isOver {
                nodes.advance(by: .milliseconds(500))
                isOver = try !worker.isSilent()
            }
            #expect(try worker.reply() == .null)
            try worker.send("TAKE", "WAIT", 60_000, "FROM", "turn")
            try eventually("it is ended") {
                try client.call("CLIENT", "UNBLOCK", .integer(number)) == .integer(1)
            }
            #expect(try worker.reply() == .null)
            // Nothing waits for it any more at either node.
            try client.send("PERFORM", "two", "turn", "WAIT", "x")
            let taken = try Taken.take(worker, "turn")
            #expect(try taken.ended(worker, "y").text == "OK")
            #expect(try client.reply().text == "y")
            #expect(try worker.call("TAKE", "FROM", "echo").errorWord == "ERR")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `gives a second job back that comes at the same moment`() throws {
        try withLinkedNodes { nodes in
            let worker = try nodes.connect(0)
            for (index, thread): (Int, CommandArgument) in [(0, "one"), (1, "two")] {
                _ = try nodes.connect(index).perform(thread, "turn", "x")
                try eventually("it waits for a worker") {
                    try nodes.figure(index) { $0.driver.exchange.ready.count } == 1
                }
            }
            let first = try Taken.take(worker, "turn")
            try worker.send("TAKE", "WAIT", 60_000, "FROM", "turn")
            while try worker.isSilent() { nodes.advance(by: .milliseconds(10)) }
            let second = try Taken(try worker.reply())
            #expect(Set([first.id, second.id]) == [1, 1_000_001])
            #expect(first.attempt == 1 && second.attempt == 1)
            #expect(try first.ended(worker, "x").text == "OK")
            #expect(try second.ended(worker, "x").text == "OK")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [0, 1], [0, 1])
    func `gets its job again at any door, under its name`(first: Int, second: Int) throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(1)
            try client.send("PERFORM", "two", "turn", "WAIT", "x")
            let held = try Taken.take(nodes.connect(first), as: "w", "turn")
            defer { _ = try? held.ended(nodes.connect(1), "") }
            try eventually("it has left") {
                try nodes.figure(1) {
                    $0.driver.exchange.deliveries.values.count { $0.lease != nil }
                }
                    == 1
            }
            let worker = try nodes.connect(second)
            try worker.send("TAKE", "AS", "w", "WAIT", 100, "FROM", "turn")
            while try worker.isSilent() { nodes.advance(by: .milliseconds(10)) }
            let job = try Taken(try worker.reply())
            #expect(job.token == held.token && job.attempt == 1)
            #expect(try job.ended(worker, "y").text == "OK")
            #expect(try client.reply().text == "y")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is told by another node that another worker has its name`() throws {
        try withLinkedNodes { nodes in
            let (first, second) = (try nodes.connect(0), try nodes.connect(0))
            try first.send("TAKE", "AS", "w", "OWN", "two", "WAIT", 60_000, "FROM", "turn")
            try eventually("it waits there") {
                try nodes.figure(1) { $0.driver.exchange.takers.count } == 1
            }
            let answer = try second.call("TAKE", "AS", "w", "WAIT", 60_000, "FROM", "turn")
            #expect(answer.errorWord == "INUSE")
            // Nothing of it waits at either node.
            #expect(try nodes.figure(0) { $0.driver.exchange.takers.count } == 0)
            #expect(try nodes.figure(1) { $0.driver.exchange.takers.count } == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [0, 1])
    func `knows whether its job has ended when a node refuses it the next one`(
        refusing: Int
    ) throws {
        try withLinkedNodes { nodes in
            let (worker, other) = (try nodes.connect(0), try nodes.connect(refusing))
            let id = try nodes.connect(1 - refusing).perform(
                refusing == 0 ? "two" : "one", "turn", "x")
            let job = try Taken.take(worker, "turn")
            #expect(job.id == id)
            try other.send(
                "TAKE", "AS", "w", "OWN", refusing == 0 ? "one" : "two", "WAIT", 60_000, "FROM",
                "turn")
            try eventually("it waits there") {
                try nodes.figure(refusing) { $0.driver.exchange.takers.count } == 1
            }
            let answer = try worker.call(
                "DONE", .integer(id), .text(job.token), "THEN", "TAKE", "AS", "w", "WAIT", 60_000,
                "FROM", "turn", "turned")
            if refusing == 0 {
                // Its own node refuses before anything ends.
                #expect(answer.errorWord == "INUSE")
                #expect(try worker.call("RESULT", .integer(id)) == .null)
                #expect(try job.ended(worker, "turned").text == "OK")
            } else {
                #expect(answer == .null)
                let next = try worker.call("TAKE", "AS", "w", "FROM", "turn")
                #expect(next.errorWord == "INUSE")
            }
            #expect(try worker.call("RESULT", .integer(id)).text == "turned")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `asks again when a node joins`() throws {
        try withLinkedNodes(3) { nodes in
            try nodes.forget(2)
            let worker = try nodes.connect(0)
            try worker.send("TAKE", "WAIT", 60_000, "FROM", "turn")
            try eventually("it waits") {
                try nodes.figure(1) { $0.driver.exchange.takers.count } == 1
            }
            #expect(try worker.isSilent())
            try nodes.describe(2) { _ in }
            try nodes.own(["pool": 2])
            #expect(try worker.reply() == .null)
            _ = try nodes.connect(2).perform("pool", "turn", "x")
            let taken = try Taken.take(worker, "turn")
            #expect(taken.thread?.hasPrefix("pool/") == true)
            #expect(try taken.ended(worker, "x").text == "OK")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `leaves the other node when it leaves this one`() throws {
        try withLinkedNodes { nodes in
            var worker: TestClient? = try nodes.connect(0)
            try worker?.send("TAKE", "OWN", "two", "WAIT", 60_000, "FROM", "turn")
            try eventually("it waits there") {
                try nodes.figure(1) { $0.driver.exchange.takers.count } == 1
            }
            worker = nil
            try eventually("it is gone there") { try nodes.sessionCount(1) == 0 }
            #expect(try nodes.figure(1) { $0.driver.exchange.takers.count } == 0)
        }
    }
}

@Suite struct `A request of HTTP at the wrong node` {
    @Test(.timeLimit(.minutes(2)))
    func `is told where the thread or the job is`() throws {
        try withLinkedNodes(http: true) { nodes in
            let id = try nodes.connect(1).perform("two", "echo", "x")
            let client = try nodes.connectHTTP(0)
            for target in ["/api/threads/two", "/api/jobs/\(id)", "/api/jobs/\(id)/result?wait=5"] {
                let response = try client.get(target)
                #expect(response.status == 307)
                #expect(response.fields["location"] == "http://10.0.0.1:7712\(target)")
            }
            let body = #"{"thread":"two","selector":"echo","payload":"x"}"#
            #expect(try client.post("/api/jobs", body).status == 307)
            let own = #"{"thread":"one","selector":"echo","payload":"x"}"#
            #expect(try client.post("/api/jobs", own).status == 202)
            #expect(try client.get("/api/threads").status == 200)
            try nodes.describe(1) { $0.requests = nil }
            let refusal = try client.get("/api/threads/two")
            #expect(refusal.status == 503)
            #expect(try refusal.word() == "BUSY")
            #expect(refusal.text.contains("node b"))
        }
    }
}
