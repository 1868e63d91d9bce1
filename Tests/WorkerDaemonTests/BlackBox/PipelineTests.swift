// Many commands on one connection: replies keep the order of the commands, whatever ends first.

import RESP
import Support
import Testing

@Suite struct `Pipelines` {
    @Test(.timeLimit(.minutes(2)))
    func `a slow answer holds back the replies behind it and nothing else`() throws {
        try withDaemon(Setup(threads: "images: {}, ledger: {}")) { daemon in
            let client = try daemon.connect()
            let other = try daemon.connect()
            _ = try other.call("PAUSE", "images")
            try client.send("PERFORM", "images", "echo", "WAIT", "slow")
            try client.send("PERFORM", "ledger", "echo", "WAIT", "fast")
            try client.send("PING")
            try client.send("PERFORM", "ledger", "echo", "no wait")
            try client.send("NONSENSE")
            // All of it has been done, only the replies wait.
            #expect(try other.call("RESULT", 3, "WAIT", 100_000).errorWord != "TIMEOUT")
            try eventually("the jobs behind have run") { try other.figure("total_jobs_done") == 2 }
            #expect(try client.isSilent())
            _ = try other.call("RESUME", "images")
            #expect(try client.reply().text == "slow")
            #expect(try client.reply().text == "fast")
            #expect(try client.reply() == .simpleString("PONG"))
            #expect(try client.reply() == .integer(3))
            #expect(try client.reply().errorWord == "ERR")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `ten thousand commands in one write get ten thousand replies in order`() throws {
        try withDaemon(Setup(threads: "mail: { count: 2 }")) { daemon in
            let client = try daemon.connect()
            let count = 10_000
            var bytes: [UInt8] = []
            for number in 0..<count {
                CommandWriter.write(
                    ["PERFORM", "mail", "echo", "WAIT", .integer(number)], to: &bytes)
            }
            try client.send(bytes)
            for number in 0..<count {
                let reply = try client.reply()
                guard reply.integer == number else { throw Unexpected("\(number): \(reply)") }
            }
            #expect(try client.figure("total_jobs_done") == count)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `more commands than replies may be outstanding are taken as replies leave`() throws {
        try withDaemon(Setup(limits: "pipeline: 10")) { daemon in
            let client = try daemon.connect()
            let other = try daemon.connect()
            _ = try other.call("PAUSE", "images")
            var bytes: [UInt8] = []
            for number in 0..<500 {
                CommandWriter.write(
                    ["PERFORM", "images", "echo", "WAIT", .integer(number)], to: &bytes)
            }
            try client.send(bytes)
            try eventually("ten are taken") { try other.figure("total_jobs_accepted") == 10 }
            #expect(try other.call("PING") == .simpleString("PONG"))
            #expect(try other.figure("total_jobs_accepted") == 10)
            _ = try other.call("RESUME", "images")
            for number in 0..<500 { #expect(try client.reply().integer == number) }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a client that stops sending still gets everything it asked for`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let other = try daemon.connect()
            _ = try other.call("PAUSE", "images")
            try client.send("PERFORM", "images", "echo", "WAIT", "last")
            try client.send("PING")
            try client.endSending()
            #expect(try client.isSilent())
            _ = try other.call("RESUME", "images")
            #expect(
                try client.repliesUntilClosed() == [
                    .bulk(Array("last".utf8)), .simpleString("PONG"),
                ])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `stopping to send behind many commands loses none of their replies`() throws {
        try withDaemon(Setup(limits: "pipeline: 10")) { daemon in
            let client = try daemon.connect()
            var bytes: [UInt8] = []
            for number in 0..<2_000 {
                CommandWriter.write(
                    ["PERFORM", "images", "echo", "WAIT", .integer(number)], to: &bytes)
            }
            try client.send(bytes)
            try client.endSending()
            #expect(try client.repliesUntilClosed().map(\.integer) == (0..<2_000).map { $0 })
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `QUIT is answered behind what was asked before it, and nothing is done after it`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let other = try daemon.connect()
            _ = try other.call("PAUSE", "images")
            try client.send("PERFORM", "images", "echo", "WAIT", "last")
            try client.send("QUIT")
            try client.send("PERFORM", "images", "echo", "too late")
            #expect(try client.isSilent())
            _ = try other.call("RESUME", "images")
            #expect(
                try client.repliesUntilClosed() == [.bulk(Array("last".utf8)), .simpleString("OK")])
            #expect(try other.figure("total_jobs_accepted") == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `large results keep their place among small replies`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let large = [UInt8](repeating: 0x2a, count: 3 << 20)
            for _ in 0..<5 {
                try client.send("PERFORM", "images", "echo", "WAIT", "small")
                try client.send("PERFORM", "images", "echo", "WAIT", .bytes(large))
                try client.send("PING")
                #expect(try client.reply().text == "small")
                #expect(try client.reply().bytes == large)
                #expect(try client.reply() == .simpleString("PONG"))
            }
        }
    }
}
