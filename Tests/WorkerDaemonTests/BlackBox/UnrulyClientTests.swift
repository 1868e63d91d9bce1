// Clients that are slow, deaf, gone or too many: the daemon bounds them, and the others do not
// notice.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Unruly clients` {
    /// How much the daemon computes until it has answered a client.
    private func costOfPing(of client: TestClient, _ daemon: TestDaemon) throws -> Duration {
        let before = try processorTime(of: daemon.processID)
        _ = try client.call("PING")
        return try processorTime(of: daemon.processID) - before
    }

    @Test(.timeLimit(.minutes(2)))
    func `a client that sends one byte at a time is served like any other`() throws {
        try withDaemon { daemon in
            let slow = try daemon.connect()
            let healthy = try daemon.connect()
            for byte in TestClient.bytes(["PERFORM", "images", "echo", "WAIT", "a\r\nb"]) {
                try slow.send([byte])
                #expect(try healthy.call("PING") == .simpleString("PONG"))
            }
            #expect(try slow.reply().text == "a\r\nb")
            for byte in "PERFORM images echo WAIT c\r\n".utf8 { try slow.send([byte]) }
            #expect(try slow.reply().text == "c")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a client that never reads is held back and costs a bounded amount of memory`() throws {
        try withDaemon { daemon in
            let healthy = try daemon.connect()
            let deaf = try daemon.connect()
            let before = try residentBytes(of: daemon.processID)
            let one = TestClient.bytes(["ECHO", .bytes([UInt8](repeating: 1, count: 100_000))])
            var many: [UInt8] = []
            for _ in 0..<600 { many += one }
            let sent = deaf.sendUntilRefused(many, quietMilliseconds: 300)
            #expect(sent < 10 << 20, "it took \(sent) bytes")
            #expect(try residentBytes(of: daemon.processID) - before < 32 << 20)
            #expect(try healthy.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            // It is slow, not lost: once it reads, it goes on.
            let replies = sent / one.count
            for _ in 0..<replies { #expect(try deaf.reply().bytes?.count == 100_000) }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a client that hands in more than the disk takes is held back, and others are not`() throws
    {
        try withDaemon(.durable) { daemon in
            let (greedy, healthy) = (try daemon.connect(), try daemon.connect())
            _ = try greedy.call("PAUSE", "images")
            let before = try residentBytes(of: daemon.processID)
            let payload = [UInt8](repeating: 1, count: 4 << 20)
            for _ in 0..<50 {
                try greedy.send("PERFORM", "images", "echo", .bytes(payload))
                #expect(try healthy.call("PING") == .simpleString("PONG"))
            }
            for id in 1...50 { #expect(try greedy.reply() == .integer(id)) }
            #expect(try residentBytes(of: daemon.processID) - before < 110 << 20)
            // Jobs of a client that sends and leaves without waiting for replies are accepted.
            do {
                let hasty = try daemon.connect()
                for _ in 0..<3 { try hasty.send("PERFORM", "images", "echo", .bytes(payload)) }
            }
            try eventually("three more jobs") { try healthy.figure("waiting_jobs") == 53 }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `results beyond the output backlog cost the client its connection only`() throws {
        try withDaemon(Setup(limits: "outputBacklog: \"1MB\"")) { daemon in
            let healthy = try daemon.connect()
            let deaf = try daemon.connect()
            _ = try healthy.call("PAUSE", "images")
            let payload = [UInt8](repeating: 1, count: 700_000)
            for _ in 0..<4 { try deaf.send("PERFORM", "images", "echo", "WAIT", .bytes(payload)) }
            try eventually("four jobs") { try healthy.figure("waiting_jobs") == 4 }
            _ = try healthy.call("RESUME", "images")
            #expect(try healthy.call("RESULT", 4, "WAIT").bytes?.count == 700_000)
            try eventually("the deaf client is disconnected") {
                try healthy.figure("connected_clients") == 1
            }
            #expect(daemon.log.contains("limits.outputBacklog"))
            #expect(try healthy.figure("total_jobs_done") == 4)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `results that wait for an earlier answer count as backlog`() throws {
        let setup = Setup(threads: "slow: {}, images: {}", limits: "outputBacklog: \"1MB\"")
        try withDaemon(setup) { daemon in
            let healthy = try daemon.connect()
            let greedy = try daemon.connect()
            _ = try healthy.call("PAUSE", "images")
            try greedy.send("PERFORM", "slow", "sleep", "WAIT", "3600000")
            let payload = [UInt8](repeating: 1, count: 300_000)
            for _ in 0..<6 { try greedy.send("PERFORM", "images", "echo", "WAIT", .bytes(payload)) }
            try eventually("six jobs") { try healthy.figure("waiting_jobs") == 6 }
            _ = try healthy.call("RESUME", "images")
            #expect(try healthy.call("RESULT", 7, "WAIT").bytes?.count == 300_000)
            try eventually("the greedy client is disconnected") {
                try healthy.figure("connected_clients") == 1
            }
            #expect(try healthy.figure("total_jobs_done") == 6)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `lists that wait for an earlier answer hold their client back`() throws {
        try withDaemon(Setup(threads: "slow: {}, images: {}")) { daemon in
            let healthy = try daemon.connect()
            let greedy = try daemon.connect()
            let sleeper = try healthy.perform("slow", "sleep", "3600000")
            for _ in 0..<1_000 {
                _ = try healthy.perform("images", "echo", "DELAY", 3_600_000, "x")
            }
            let count = 60
            let list = TestClient.bytes(["JOBS", "images", "LIMIT", 1_000])
            try greedy.send("RESULT", .integer(sleeper), "WAIT")
            // In one piece, so that one read finds all of them.
            try greedy.send([[UInt8]](repeating: list, count: count).flatMap { $0 })
            var shown: Substring?
            try eventually("it has asked for lists") {
                shown = try healthy.call("CLIENT", "LIST").text?.split(separator: "\n")
                    .first { $0.contains("cmd=jobs") }
                return shown != nil
            }
            // One takes more than 100 KB, and 1 MB may be held.
            let pending = shown?.split(separator: " ").first { $0.hasPrefix("pending=") }
            #expect(try #require(pending.flatMap { Int($0.dropFirst(8)) }) < 20)
            // It is held back, not lost.
            #expect(try healthy.call("CANCEL", .integer(sleeper)).text == "requested")
            #expect(try greedy.reply().errorWord == "CANCELLED")
            for _ in 0..<count { #expect(try greedy.reply().elements?.count == 1_000) }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [Setup(), .durable])
    func `clients that vanish while they wait for a while are not kept`(setup: Setup) throws {
        try withDaemon(setup) { daemon in
            let healthy = try daemon.connect()
            // With a file, it is not in memory.
            let job = try #require(try healthy.call("BUFFER", "images", "echo", "x").integer)
            let come = { (count: Int) throws in
                for _ in 0..<count {
                    let gone = try daemon.connect()
                    try gone.send("RESULT", .integer(job), "WAIT", 3_600_000)
                }
                try eventually("they have left") { try healthy.figure("connected_clients") == 1 }
            }
            try come(1_000)
            let before = try residentBytes(of: daemon.processID)
            try come(7_000)
            #expect(try residentBytes(of: daemon.processID) - before < 8 << 20)
            // A client that is connected gets its reply.
            let patient = try daemon.connect()
            try patient.send("RESULT", .integer(job), "WAIT", 3_600_000)
            #expect(try healthy.call("FIRE", "images") == .integer(1))
            #expect(try patient.reply().text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `many who have waited long enough at one moment keep nobody waiting`() throws {
        try withDaemon { daemon in
            let healthy = try daemon.connect()
            let job = try healthy.perform("images", "echo", "DELAY", 3_600_000, "x")
            let crowd = [try daemon.connect(), try daemon.connect(), try daemon.connect()]
            let count = 9_000
            let one = TestClient.bytes(["RESULT", .integer(job), "WAIT", 3_000])
            for client in crowd {
                try client.send([[UInt8]](repeating: one, count: count).flatMap { $0 })
            }
            let last = try daemon.connect()
            try last.send("RESULT", .integer(job), "WAIT")
            var highest = Duration.zero
            for client in crowd {
                while try client.isSilent(forMilliseconds: 10) {
                    highest = max(highest, try costOfPing(of: healthy, daemon))
                }
                highest = max(highest, try costOfPing(of: healthy, daemon))
                for _ in 0..<count { #expect(try client.reply().errorWord == "TIMEOUT") }
            }
            #expect(highest < .seconds(3))
            // A client with more patience is answered when the job ends.
            #expect(try healthy.call("CANCEL", .integer(job)).text == "cancelled")
            #expect(try last.reply().errorWord == "CANCELLED")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a client that vanishes while it waits leaves its job running`() throws {
        try withDaemon { daemon in
            let healthy = try daemon.connect()
            _ = try healthy.call("PAUSE", "images")
            do {
                let gone = try daemon.connect()
                try gone.send("PERFORM", "images", "echo", "WAIT", "orphan")
                try eventually("the job is accepted") {
                    try healthy.figure("total_jobs_accepted") == 1
                }
            }
            try eventually("it has left") { try healthy.figure("connected_clients") == 1 }
            _ = try healthy.call("RESUME", "images")
            #expect(try healthy.call("RESULT", 1, "WAIT").text == "orphan")
            #expect(try healthy.job(1, "state").text == "done")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `what was sent before the client hung up is executed`() throws {
        try withDaemon { daemon in
            let healthy = try daemon.connect()
            for number in 1...20 {
                // Replies are not read: written and closed at once.
                let client = try daemon.connect()
                try client.send("PERFORM", "images", "echo", .text("\(number)"))
            }
            try eventually("all jobs have run") { try healthy.figure("total_jobs_done") == 20 }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `one client too many is told so, and a place that gets free is given away`() throws {
        try withDaemon(Setup(limits: "connections: 3")) { daemon in
            let first = try daemon.connect()
            var others = [try daemon.connect(), try daemon.connect()]
            for client in [first] + others { _ = try client.call("PING") }
            let replies = try daemon.connect().repliesUntilClosed()
            #expect(replies == [.error("ERR max number of clients reached")])
            #expect(try first.figure("rejected_connections") == 1)
            others.removeLast()
            try eventually("a place is free") { try first.figure("connected_clients") == 2 }
            #expect(try daemon.connect().call("PING") == .simpleString("PONG"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `one job more than may wait is BUSY, beside the one that runs`() throws {
        try withDaemon(Setup(threads: "images: { maxQueued: 3 }, ledger: {}")) { daemon in
            let client = try daemon.connect()
            let running = try client.perform("images", "sleep", "3600000")
            // THREADS asks the thread itself and does not tell the store.
            try eventually("it runs") {
                try client.call("THREAD", "images")["state"]?.text == "running"
            }
            for _ in 0..<2 { _ = try client.perform("images", "echo", "x") }
            _ = try client.perform("images", "echo", "DELAY", 3_600_000, "x")
            for command: [CommandArgument] in [
                ["PERFORM", "images", "echo", "x"], ["BUFFER", "images", "echo", "x"],
                ["PERFORM", "images", "echo", "DELAY", "5", "x"],
            ] {
                try client.send(TestClient.bytes(command))
                let reply = try client.reply()
                #expect(reply.errorWord == "BUSY")
                #expect(reply.errorMessage?.contains("holds 3 waiting jobs") == true, "\(reply)")
            }
            #expect(try client.call("PERFORM", "ledger", "echo", "WAIT", "x").text == "x")
            #expect(try client.call("CANCEL", .integer(running)).text == "requested")
            try eventually("there is room") { try client.figure("waiting_jobs") == 0 }
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `clients beyond the open files that are allowed wait, and the log says so once`() throws {
        let daemon = try TestDaemon(Setup(), in: Scratch(), limited: "ulimit -n 40")
        defer { daemon.kill() }
        try daemon.check { try checkCrowd(at: daemon) }
    }

    private func checkCrowd(at daemon: TestDaemon) throws {
        let healthy = try daemon.connect()
        #expect(try healthy.call("PING") == .simpleString("PONG"))
        var crowd: [TestClient] = []
        for _ in 0..<40 { crowd.append(try daemon.connect()) }
        try eventually("it is told") { daemon.log.contains("no descriptor left") }
        let last = try #require(crowd.last)
        try last.send("PING")
        // The door looks again ten times a second.
        #expect(try last.isSilent(forMilliseconds: 400))
        #expect(try healthy.call("PING") == .simpleString("PONG"))
        crowd.removeFirst(30)
        #expect(try last.reply() == .simpleString("PONG"))
        try eventually("that is told too") { daemon.log.contains("have come in or left") }
        #expect(daemon.log.split(separator: "no descriptor left").count == 2)
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            "POST / HTTP/1.1\r\n", "post /x HTTP/1.0\r\n", "GET / HTTP/1.1\r\n",
            "OPTIONS * HTTP/1.1\r\n", "host: 127.0.0.1:7711\r\n", "PRI * HTTP/2.0\r\n",
        ])
    func `a browser is disconnected at its first line and runs no command`(line: String) throws {
        try withDaemon { daemon in
            let browser = try daemon.connect()
            try browser.send(
                text: line + "Content-Length: 30\r\n\r\nPERFORM images echo harm\r\nQUIT\r\n")
            #expect(try browser.repliesUntilClosed() == [])
            let client = try daemon.connect()
            #expect(try client.figure("total_jobs_accepted") == 0)
            #expect(daemon.log.contains("warning: HTTP"))
            // No second line of the log within the minute.
            let other = try daemon.connect()
            try other.send(text: line + "QUIT\r\n")
            #expect(try other.repliesUntilClosed() == [])
            #expect(daemon.log.split(separator: "\n").count { $0.contains("HTTP") } == 1)
            // An argument of a command is data.
            #expect(try client.call("ECHO", "HTTP/1.1").text == "HTTP/1.1")
            let refused = try client.call("PERFORM", "nowhere", "echo", "HTTP/1.1")
            #expect(refused.errorWord == "NOTHREAD")
        }
    }
}
