// JOBS with a cursor and conditions, and with the failures of the jobs.

import Kernel
import RESP
import Support
import Testing

@Suite struct `A listing of jobs` {
    private static func setup(isDurable: Bool) -> Setup {
        var setup = isDurable ? Setup.durable : Setup()
        setup.threads = "images: {}, mail: {}"
        return setup
    }

    private func ids(_ client: TestClient, _ options: CommandArgument...) throws -> [Int] {
        try client.send(TestClient.bytes(["JOBS"] + options))
        let reply = try client.reply()
        guard let rows = reply.elements else { throw Unexpected("\(reply)") }
        return rows.compactMap { $0["id"]?.integer }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `goes on behind the last row of a page`(isDurable: Bool) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            // Some have ended, some are parked, some wait in memory.
            for _ in 0..<100 { _ = try client.call("PERFORM", "images", "echo", "WAIT", "x") }
            _ = try client.call("PAUSE", "images")
            for number in 0..<600 {
                let isBuffered = number % 2 == 0
                _ = try client.call(
                    isBuffered ? "BUFFER" : "PERFORM", "images", "echo", .integer(number))
            }
            let all = try ids(client, "LIMIT", 10_000)
            #expect(all.count == 700 && all == all.sorted(by: >))
            var paged: [Int] = []
            var page = try ids(client, "LIMIT", 90)
            while let last = page.last {
                #expect(page.count <= 90)
                paged += page
                page = try ids(client, "LIMIT", 90, "BEFORE", .integer(last))
            }
            #expect(paged == all)
            #expect(try ids(client, "BEFORE", 1) == [])
            #expect(try ids(client, "OLDEST", "LIMIT", 10_000) == all.reversed())
            paged = []
            page = try ids(client, "OLDEST", "LIMIT", 90)
            while let last = page.last {
                #expect(page.count <= 90)
                paged += page
                page = try ids(client, "LIMIT", 90, "AFTER", .integer(last), "OLDEST")
            }
            #expect(paged == all.reversed())
            #expect(try ids(client, "AFTER", 5, "BEFORE", 9) == [8, 7, 6])
            #expect(try ids(client, "AFTER", 95, "BEFORE", 106, "OLDEST") == Array(96...105))
            #expect(try ids(client, "OLDEST", "LIMIT", 2, "images", "buffered") == [101, 103])
            #expect(try ids(client, "OLDEST", "LIMIT", 2, "waiting") == [102, 104])
            #expect(try ids(client, "OLDEST", "LIMIT", 2, "done") == [1, 2])
            #expect(try ids(client, "OLDEST", "LIMIT", 2, "mail") == [])
            #expect(try ids(client, "OLDEST", "stuck") == [])
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `shows the jobs for which all conditions hold`(isDurable: Bool) throws {
        try withDaemon(Self.setup(isDurable: isDurable)) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            var (rare, keyed): ([Int], [Int]) = ([], [])
            // More than a slice of others lie between two of them.
            for number in 0..<900 {
                let isRare = number % 300 == 7
                let options: [CommandArgument] = number % 100 == 7 ? ["KEY", "k"] : []
                try client.send(
                    TestClient.bytes(
                        ["PERFORM", "images", isRare ? "sha256" : "echo"] + options + ["x"]))
                let id = try #require(try client.reply().integer)
                if isRare { rare.insert(id, at: 0) }
                if number % 100 == 7 { keyed.insert(id, at: 0) }
            }
            #expect(try ids(client, "SELECTOR", "sha256") == rare)
            #expect(try ids(client, "KEY", "k") == keyed)
            #expect(try ids(client, "KEY", "k", "SELECTOR", "sha256") == rare)
            #expect(try ids(client, "SELECTOR", "sha256", "LIMIT", 2) == Array(rare.prefix(2)))
            let rest = try ids(
                client, "SELECTOR", "sha256", "BEFORE", .integer(rare[1]), "images", "waiting")
            #expect(rest == Array(rare.dropFirst(2)))
            let oldest = try ids(client, "SELECTOR", "sha256", "OLDEST", "LIMIT", 2)
            #expect(oldest == Array(rare.reversed().prefix(2)))
            let next = try ids(client, "SELECTOR", "sha256", "OLDEST", "AFTER", .integer(oldest[1]))
            #expect(next == [rare[0]])
            #expect(try ids(client, "SELECTOR", "none") == [])
            #expect(try ids(client, "mail", "KEY", "k") == [])
            #expect(try ids(client, "OLDER", 3_600_000) == [])
            #expect(try ids(client, "NEWER", 3_600_000, "LIMIT", 10_000).count == 900)
            #expect(try ids(client, "OLDER", 0, "LIMIT", 10_000).count == 900)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tells failures if that is asked for, also after a crash`() throws {
        let scratch = try Scratch()
        let setup = Self.setup(isDurable: true)
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        _ = try client.call("PERFORM", "images", "fail", "WAIT", "no paper")
        _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
        let long = String(repeating: "é", count: 5_000)
        _ = try client.call("PERFORM", "images", "fail", "WAIT", .text(long))
        let ended = try client.job(1, "ended-at")
        func check(_ client: TestClient) throws {
            let plain = try client.call("JOBS", "failed").elements ?? []
            #expect(plain.count == 2 && plain.allSatisfy { $0["failure"] == nil })
            let rows = try client.call("JOBS", "FAILURES").elements ?? []
            let reasons = rows.map { $0["failure"]?.text }
            #expect(reasons == [String(repeating: "é", count: 256), nil, "no paper"])
            #expect(rows.last?["ended-at"] == ended)
        }
        try check(client)
        try first.send(.terminate)
        _ = try first.end()
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        try check(try second.connect())
    }

    @Test(.timeLimit(.minutes(2)))
    func `refuses options that are none`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            for options in [
                ["BEFORE"], ["BEFORE", "0"], ["BEFORE", "x"], ["SELECTOR"], ["KEY"], ["KEY", ""],
                ["OLDER", "soon"], ["NEWER"], ["AFTER"], ["AFTER", "0"], ["OLDEST", "OLDEST"],
                ["FAILURES", "FAILURES"], ["LIMIT", "1", "LIMIT", "1"],
            ] {
                try client.send(
                    TestClient.bytes(["JOBS"] + options.map { CommandArgument.text($0) }))
                #expect(try client.reply().errorWord == "ERR", "\(options)")
            }
        }
    }
}
