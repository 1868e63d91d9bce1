// TAKEs that wait, of connections that say something else, close or are told to wait no longer: no
// job goes to a connection that has not asked for it any more.

import RESP
import Support
import Testing

@Suite struct `A TAKE that waits` {
    private static let setup = Setup(
        threads: "one: {}, mail: { count: 2 }",
        selectors: "resize: { worker: true, lease: \"100s\" }")

    private func waiting(_ client: TestClient, _ count: Int) throws {
        try eventually("\(count) wait") { try client.figure("waiting_takes") == count }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["", "TIMEOUT", "ERROR"])
    func `is ended by another connection, and takes nothing then`(how: String) throws {
        try withDaemon(Self.setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let number = try #require(try worker.call("CLIENT", "ID").integer)
            try worker.send("TAKE", "WAIT", 60_000, "FROM", "resize")
            try waiting(client, 1)
            let more: [CommandArgument] = how.isEmpty ? [] : [.text(how)]
            try client.send(
                TestClient.bytes(["CLIENT", "UNBLOCK", .integer(number)] + more))
            #expect(try client.reply() == .integer(1))
            let reply = try worker.reply()
            if how == "ERROR" {
                #expect(reply.errorWord == "UNBLOCKED")
                #expect(reply.errorMessage == "client unblocked via CLIENT UNBLOCK")
            } else {
                #expect(reply == .null)
            }
            #expect(try client.figure("waiting_takes") == 0)
            // It waits no more: a job stays where it is.
            let id = try client.perform("one", "resize", "x")
            #expect(try client.call("CLIENT", "UNBLOCK", .integer(number)) == .integer(0))
            #expect(try client.job(id, "state").text == "waiting")
            #expect(try Taken.take(worker, "resize").id == id)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is ended also behind a DONE, and by no wrong command`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            let number = try #require(try worker.call("CLIENT", "ID").integer)
            let id = try client.perform("one", "resize", "x")
            let job = try Taken.take(worker, "resize")
            try worker.send(
                "DONE", .integer(id), .text(job.token), "THEN", "TAKE", "WAIT", 60_000, "FROM",
                "resize", "r")
            try waiting(client, 1)
            #expect(try client.call("CLIENT", "UNBLOCK", "x").errorWord == "ERR")
            #expect(try client.call("CLIENT", "UNBLOCK").errorWord == "ERR")
            let odd = try client.call("CLIENT", "UNBLOCK", .integer(number), "NOW")
            #expect(odd.errorWord == "ERR")
            #expect(try client.call("CLIENT", "UNBLOCK", -1) == .integer(0))
            #expect(try client.figure("waiting_takes") == 1)
            #expect(try client.call("CLIENT", "UNBLOCK", .integer(number)) == .integer(1))
            #expect(try worker.reply() == .null)
            #expect(try client.call("RESULT", .integer(id)).text == "r")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["one", "mail"])
    func `is forgotten when its connection closes or is killed`(thread: String) throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let killed = try daemon.connect()
            let number = try #require(try killed.call("CLIENT", "ID").integer)
            try killed.send("TAKE", "WAIT", 60_000, "FROM", "resize")
            do {
                let closed = try daemon.connect()
                try closed.send("TAKE", "WAIT", 60_000, "FROM", "resize")
                try waiting(client, 2)
            }
            try waiting(client, 1)
            #expect(try client.call("CLIENT", "KILL", "ID", .integer(number)) == .integer(1))
            #expect(try client.figure("waiting_takes") == 0)
            let id = try client.perform(.text(thread), "resize", "x")
            let job = try Taken.take(try daemon.connect(), "resize")
            #expect(job.id == id)
            #expect(job.attempt == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `gives way to the job of a connection that has said more since`() throws {
        try withDaemon(Self.setup) { daemon in
            let (client, worker) = (try daemon.connect(), try daemon.connect())
            // Commands behind a TAKE are answered behind it, a second TAKE with an error.
            try worker.send("TAKE", "WAIT", 60_000, "FROM", "resize")
            try waiting(client, 1)
            try worker.send("PING")
            try worker.send("TAKE", "FROM", "resize")
            let id = try client.perform("one", "resize", "x")
            #expect(try Taken(try worker.reply()).id == id)
            #expect(try worker.reply().text == "PONG")
            #expect(try worker.reply().errorWord == "ERR")
        }
    }
}
