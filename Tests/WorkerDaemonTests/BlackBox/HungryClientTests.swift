// Clients that ask for much and do not read: they cost the daemon a bounded amount of memory, and
// other clients no more than a turn of the store.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Hungry clients` {
    private static let jobCount = 1_000
    private static let listingCount = 100

    /// The most memory that the daemon ever had, in bytes.
    private func peak(_ daemon: TestDaemon) throws -> Int {
        let status = try File.read("/proc/\(daemon.processID)/status", atMost: 1 << 16)
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix("VmHWM:")
        }
        let words = try #require(line).split { $0 == " " || $0 == "\t" }
        return try #require(Int(words[1])) << 10
    }

    /// Waits until no client is answered while others ask many times: one is in a pass.
    private func untilNothingIsAnswered(_ client: TestClient) throws {
        var (backlog, sameCount) = (-1, 0)
        while sameCount < 50 {
            let now = try client.figure("client_output_backlog")
            sameCount = now == backlog ? sameCount + 1 : 0
            backlog = now
        }
    }

    private func handIn(_ count: Int, _ client: TestClient) throws {
        try client.send(
            (0..<count).flatMap { _ in TestClient.bytes(["PERFORM", "images", "echo", "x"]) })
        for _ in 0..<count { #expect(try client.reply().integer != nil) }
        try eventually("all have run") {
            try client.figure("waiting_jobs") == 0 && client.figure("running_jobs") == 0
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a client that reads gets all its answers while others leave theirs unread`() throws {
        try withDaemon(Setup(store: Setup.memory)) { daemon in
            let client = try daemon.connect()
            let result = [UInt8](repeating: UInt8(ascii: "x"), count: 8 << 20)
            let id = try client.perform("images", "echo", .bytes(result))
            try client.waitUntil(id, is: "done")
            let questions = (0..<4).flatMap { _ in TestClient.bytes(["RESULT", .integer(id)]) }
            let hungry = try (0..<11).map { _ in try daemon.connect() }
            for other in hungry { try other.send(questions) }
            try eventually("all have more than their room") {
                try client.figure("client_output_backlog") > 64 << 20
            }
            let reader = try daemon.connect()
            try reader.send(questions)
            for _ in 0..<4 { #expect(try reader.reply() == .bulk(result)) }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `listings that nobody reads take bounded memory and hold up no job`() throws {
        try withDaemon(.durable) { daemon in
            let client = try daemon.connect()
            try handIn(Self.jobCount, client)
            let before = try peak(daemon)
            let hungry = try daemon.connect()
            let listing = TestClient.bytes(["JOBS", "LIMIT", 10_000])
            try hungry.send((0..<Self.listingCount).flatMap { _ in listing })
            // Accepted, run and recorded while the listings are made.
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "y").text == "y")
            #expect(try client.figure("client_output_backlog") < 8 << 20)
            #expect(try peak(daemon) - before < 32 << 20)
            // The client that reads after all gets every answer.
            for _ in 0..<Self.listingCount {
                let count = try #require(hungry.reply().elements?.count)
                #expect((Self.jobCount...Self.jobCount + 1).contains(count))
            }
            #expect(try peak(daemon) - before < 32 << 20)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `what is in memory, asked for behind what is stored, is all answered`() throws {
        let scratch = try Scratch()
        do {
            let daemon = try TestDaemon(.durable, in: scratch)
            defer { daemon.kill() }
            try handIn(1, daemon.connect())
            try daemon.send(.terminate)
            #expect(try daemon.end() == "exit status 0")
        }
        let daemon = try TestDaemon(.durable, in: scratch, logName: "log2")
        defer { daemon.kill() }
        let client = try daemon.connect()
        let id = try client.perform("images", "echo", "x")
        // Some are granted at once, others wait in line while the answers behind them fill their
        // room.
        let ids = Array(repeating: 1, count: 15) + Array(repeating: id, count: 3_000)
        try client.send(ids.flatMap { TestClient.bytes(["JOB", .integer($0)]) })
        for id in ids { #expect(try client.reply()["id"]?.integer == id) }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["RESULT", "PAYLOAD"])
    func `stored results and payloads that nobody reads take bounded memory`(
        command: String
    ) throws {
        let scratch = try Scratch()
        var setup = Setup.durable
        setup.limits = "payload: \"2MB\", outputBacklog: \"4MB\""
        let size = 1 << 20
        do {
            let daemon = try TestDaemon(setup, in: scratch)
            defer { daemon.kill() }
            let payload = String(repeating: "r", count: size)
            let client = try daemon.connect()
            if command == "RESULT" {
                let reply = try client.call("PERFORM", "images", "echo", "WAIT", .text(payload))
                #expect(reply.text?.utf8.count == size)
            } else {
                let reply = try client.call("BUFFER", "images", "echo", .text(payload))
                #expect(reply == .integer(1))
            }
            try daemon.send(.terminate)
            #expect(try daemon.end() == "exit status 0")
        }
        let daemon = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { daemon.kill() }
        let client = try daemon.connect()
        #expect(try client.call("PING") == .simpleString("PONG"))
        let before = try peak(daemon)
        let hungry = try (0..<4).map { _ in try daemon.connect() }
        for hungry in hungry {
            try hungry.send((0..<30).flatMap { _ in TestClient.bytes([.text(command), 1]) })
        }
        #expect(try client.call(.text(command), 1).text?.utf8.count == size)
        #expect(try peak(daemon) - before < 48 << 20)
        for hungry in hungry {
            for _ in 0..<30 { #expect(try hungry.reply().text?.utf8.count == size) }
        }
        #expect(try peak(daemon) - before < 48 << 20)
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["/jobView.js", "/api/threads"])
    func `many small answers that HTTP clients do not read take bounded memory`(
        path: String
    ) throws {
        let threads = (0..<60).map { "unit\($0): {}" }.joined(separator: ", ")
        try withDaemon(Setup(threads: threads, listen: Setup.http.listen)) { daemon in
            let before = try peak(daemon)
            let hungry = try (0..<150).map { _ in try daemon.connectHTTP() }
            for one in hungry {
                let request = one.request("GET", path)
                try one.raw.send(text: String(repeating: request, count: 64))
            }
            let other = try daemon.connectHTTP()
            #expect(try other.get("/api/threads").status == 200)
            try untilNothingIsAnswered(daemon.connect())
            #expect(try peak(daemon) - before < 48 << 20)
            // A client that reads after all gets every answer.
            for _ in 0..<64 { #expect(try hungry[149].response().status == 200) }
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            ("result", 1 << 20, 160), ("payload", 1 << 20, 160),
            // The kernel takes most of it, and the answer is held until it has all.
            ("result", 300 << 10, 450),
        ])
    func `results in memory that HTTP clients do not read take bounded memory`(
        part: String, size: Int, clientCount: Int
    ) throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connect()
            let payload = String(repeating: "r", count: size)
            if part == "result" {
                let reply = try client.call("PERFORM", "images", "echo", "WAIT", .text(payload))
                #expect(reply.text?.utf8.count == size)
            } else {
                let reply = try client.call("BUFFER", "images", "echo", .text(payload))
                #expect(reply == .integer(1))
            }
            let before = try peak(daemon)
            var hungry = try (0..<clientCount).map { _ in try daemon.connectHTTP() }
            for one in hungry { try one.raw.send(text: one.request("GET", "/api/jobs/1/\(part)")) }
            // It waits for room: a small answer does not.
            let patient = try daemon.connectHTTP()
            try patient.raw.send(text: patient.request("GET", "/api/jobs/1/\(part)"))
            #expect(try daemon.connectHTTP().get("/api/jobs/1").status == 200)
            try untilNothingIsAnswered(client)
            #expect(try peak(daemon) - before < 100 << 20)
            hungry = []
            #expect(try patient.response().text.utf8.count > size)
            #expect(try peak(daemon) - before < 100 << 20)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `clients that hang up behind their questions leave nothing to do`() throws {
        try withDaemon(.durable) { daemon in
            let client = try daemon.connect()
            try handIn(Self.jobCount, client)
            for _ in 0..<20 {
                let hungry = try daemon.connect()
                let listing = TestClient.bytes(["JOBS", "LIMIT", 10_000])
                try hungry.send((0..<50).flatMap { _ in listing })
            }
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "y").text == "y")
            try eventually("they are gone") { try client.figure("connected_clients") == 1 }
            #expect(try client.figure("client_output_backlog") == 0)
        }
    }

    /// HUNGRY_CLIENTS and HUNGRY_JOBS in the environment say how many.
    @Test(.timeLimit(.minutes(20)))
    func `many hungry clients cost bounded memory, and other clients lose no job`() throws {
        let clientCount = askedNumber("HUNGRY_CLIENTS") ?? 20
        let jobCount = askedNumber("HUNGRY_JOBS") ?? 100
        let keptCount = askedNumber("HUNGRY_CLIENTS") == nil ? Self.jobCount : 12_000
        var setup = Setup.durable
        setup.threads = "images: {}, ledger: {}"
        setup.limits = "connections: \(clientCount + 10)"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            for _ in 0..<keptCount / 1_000 { try handIn(1_000, client) }
            let before = try peak(daemon)
            let listings = [[UInt8]](
                repeating: TestClient.bytes(["JOBS", "LIMIT", 10_000]), count: 10
            ).flatMap { $0 }
            func hungryClient() throws -> TestClient {
                let hungry = try daemon.connect()
                try hungry.send(listings)
                return hungry
            }
            var hungry = try (0..<clientCount).map { _ in try hungryClient() }
            var (ids, waits): ([Int], [Duration]) = ([], [])
            for number in 0..<jobCount {
                if number % 10 == 0 { hungry[number / 10 % clientCount] = try hungryClient() }
                let begun = ContinuousClock.now
                ids.append(
                    try #require(client.call("PERFORM", "ledger", "echo", "x").integer))
                waits.append(begun.duration(to: .now))
            }
            let grown = try peak(daemon) - before
            for id in ids.suffix(100) { _ = try client.call("RESULT", .integer(id), "WAIT") }
            #expect(ids == ids.sorted() && Set(ids).count == jobCount)
            #expect(try client.figure("total_jobs_done") == keptCount / 1_000 * 1_000 + jobCount)
            #expect(grown < 256 << 20)
            waits.sort()
            print(
                "\(clientCount) hungry clients: \(grown >> 20) MB more; \(jobCount) jobs accepted,",
                "p50", waits[jobCount / 2], "p99", waits[jobCount * 99 / 100], "longest",
                waits[jobCount - 1])
            withExtendedLifetime(hungry) {}
        }
    }
}
