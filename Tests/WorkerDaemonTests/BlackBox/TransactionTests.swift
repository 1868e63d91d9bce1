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
                replies.map(\.errorWord) == ["ERR", "ERR", "ERR", "ERR", "EXECABORT", nil])
            #expect(replies[0].errorMessage?.contains("transaction=False") == true)
            #expect(replies[1].errorMessage?.contains("not executed") == true)
            #expect(try client.figure("total_jobs_accepted") == 0)
            #expect(try client.call("THREADS").elements?.first?["state"]?.text == "idle")
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["DISCARD", "RESET"])
    func `DISCARD and RESET go on as before`(_ end: String) throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            #expect(try client.call("MULTI").errorWord == "ERR")
            #expect(try client.call("PING").errorWord == "ERR")
            #expect(try client.call("MULTI").errorWord == "ERR")
            #expect(try client.call(.text(end)).errorWord == nil)
            #expect(try client.call("PING") == .simpleString("PONG"))
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
        #expect(try client.call("MULTI").errorWord == "ERR")
        #expect(try client.call("RESET") == .simpleString("RESET"))
        #expect(try client.call("PING").errorWord == "NOAUTH")
    }
}
