// Clients that believe in transactions: what they see fail has handed in nothing.

import RESP
import Support
import Testing

@Suite struct `MULTI, which there is not` {
    @Test(.timeLimit(.minutes(2)))
    func `a pipeline between MULTI and EXEC hands in no job`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let replies = try client.callTogether(
                ["MULTI"], ["PERFORM", "images", "echo", "one"],
                ["PERFORM", "images", "echo", "two"], ["PAUSE", "images"], ["EXEC"], ["PING"])
            #expect(
                replies.map { $0.errorWord ?? $0.text } == [
                    "OK", "QUEUED", "QUEUED", "QUEUED", "EXECABORT", "PONG",
                ])
            #expect(replies[4].errorMessage?.contains("transaction=False") == true)
            #expect(try client.figure("total_jobs_accepted") == 0)
            #expect(try client.call("THREADS").elements?.first?["state"]?.text == "idle")
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["DISCARD", "RESET"])
    func `DISCARD and RESET go on as before`(_ end: String) throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            #expect(try client.call("MULTI").text == "OK")
            #expect(try client.call("PING").text == "QUEUED")
            #expect(try client.call("MULTI").errorMessage == "MULTI calls can not be nested")
            #expect(try client.call("PING", "1", "2").errorWord == "ERR")
            #expect(try client.call("GET", "key").errorWord == "ERR")
            #expect(try client.call("PING").text == "QUEUED")
            #expect(try client.call(.text(end)).errorWord == nil)
            #expect(try client.call("PING") == .simpleString("PONG"))
        }
    }

    // phpredis looks at no reply before EXEC's, and never sends DISCARD.
    @Test(.timeLimit(.minutes(2)))
    func `a refused one leaves the connection as it was`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            for _ in 1...2 {
                #expect(try client.call("MULTI").text == "OK")
                #expect(try client.call("PERFORM", "images", "echo", "x").text == "QUEUED")
                #expect(try client.call("EXEC").errorWord == "EXECABORT")
                #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            }
            #expect(try client.figure("total_jobs_accepted") == 2)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `its commands are counted and not kept`() throws {
        try withDaemon(Setup(limits: "payload: \"1MB\"")) { daemon in
            let (client, other) = (try daemon.connect(), try daemon.connect())
            #expect(try client.call("MULTI").text == "OK")
            let payload = CommandArgument.bytes([UInt8](repeating: 65, count: 1 << 20))
            let before = try other.figure("used_memory_rss")
            for _ in 1...256 {
                #expect(try client.call("PERFORM", "images", "echo", payload).text == "QUEUED")
            }
            // Far less than the 256 MiB that were sent.
            #expect(try other.figure("used_memory_rss") - before < 64 << 20)
            let id = try #require(try other.call("CLIENT", "ID").integer) - 1
            let line = try other.call("CLIENT", "LIST", "ID", .integer(id)).text ?? ""
            #expect(line.contains(" multi=256 ") && line.contains(" flags=xU "), "\(line)")
            #expect(try client.call("EXEC").errorWord == "EXECABORT")
            #expect(try client.call("CLIENT", "INFO").text?.contains(" multi=-1 ") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `QUIT leaves one, and nothing ends none`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            #expect(try client.call("EXEC").errorMessage == "EXEC without MULTI")
            #expect(try client.call("DISCARD").errorMessage == "DISCARD without MULTI")
            _ = try client.call("MULTI")
            try client.send("QUIT")
            #expect(try client.repliesUntilClosed() == [.simpleString("OK")])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a password is asked for all the same`() throws {
        let scratch = try Scratch()
        let (door, address) = try freeLoopbackAddress()
        var setup = Setup()
        setup.listen = try scratch.passwordDoor(at: door, password: "secret")
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        let client = try TestClient(address)
        #expect(try client.call("MULTI").errorWord == "NOAUTH")
        #expect(try client.call("EXEC").errorWord == "NOAUTH")
        #expect(try client.call("AUTH", "secret") == .simpleString("OK"))
        #expect(try client.call("MULTI").text == "OK")
        #expect(try client.call("RESET") == .simpleString("RESET"))
        #expect(try client.call("PING").errorWord == "NOAUTH")
    }
}
