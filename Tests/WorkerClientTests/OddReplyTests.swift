// The blocking client against a server that does not behave.

import Kernel
import Synchronization
import Testing
import WorkerClient

@Suite(.timeLimit(.minutes(2)))
struct `Blocking client and odd servers` {
    private static let answersPing: FakeServer.Script = { session in
        try session.greet()
        #expect(try session.command() == ["PING"])
        try session.send("+PONG\r\n")
        try session.expectEnd()
    }

    @Test func `a server without HELLO is spoken to in version 2`() throws {
        let server = try FakeServer({ session in
            #expect(try session.command() == ["HELLO", "3"])
            try session.send("-ERR unknown command 'HELLO'\r\n")
            #expect(try session.command() == ["JOB", "5"])
            try session.send(
                "*18\r\n+id\r\n:5\r\n+thread\r\n+t\r\n+selector\r\n+s\r\n+state\r\n+done\r\n"
                    + "+priority\r\n+low\r\n+attempt\r\n:2\r\n+accepted-at\r\n:17\r\n"
                    + "+payload-bytes\r\n:0\r\n+due-at\r\n$-1\r\n")
            try session.expectEnd()
        })
        let client = try WorkerClient(server.address)
        let job = try client.job(5)
        #expect(job.summary.attempt == 2)
        #expect(job.acceptedAt == 17)
        #expect(job.dueAt == nil)
        client.close()
        try server.finish()
    }

    @Test func `a refused greeting is no connection, and says what the server said`() throws {
        for (reply, reason) in [
            ("-ERR max number of clients reached\r\n", "max number of clients reached"),
            ("", "hung up"), ("%1\r\n$5\r\npro", "in the middle"),
        ] {
            let server = try FakeServer({ session in
                _ = try session.command()
                try session.send(reply)
            })
            let error = clientError {
                _ = try WorkerClient(server.address)
            }
            guard case .notConnected(_, let said, _) = error else {
                Issue.record("\(reply): \(String(describing: error))")
                continue
            }
            #expect(said.contains(reason))
            try server.finish()
        }
    }

    @Test func `a server that speaks something else is found out`() throws {
        let server = try FakeServer({ session in
            try session.send("HTTP/1.1 400 Bad Request\r\n\r\n")
        })
        let error = clientError {
            _ = try WorkerClient(server.address)
        }
        guard case .protocolFault = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try server.finish()
    }

    @Test func `a server that is silent is given up, at the greeting and later`() throws {
        let silent = try FakeServer({ session in
            _ = try session.command()
            try session.expectEnd()
        })
        var options = ClientOptions(connectTimeout: .milliseconds(30))
        let error = clientError {
            _ = try WorkerClient(silent.address, options: options)
        }
        guard case .notConnected(_, let reason, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("did not greet"))
        try silent.finish()

        let late = try FakeServer(
            { session in
                try session.greet()
                _ = try session.command()
                try session.expectEnd()
            },
            { session in
                try session.greet()
                #expect(try session.command() == ["RESULT", "2", "WAIT"])
                try session.send("$1\r\nb\r\n")
                try session.expectEnd()
            })
        options = ClientOptions(replyTimeout: .milliseconds(30))
        let client = try WorkerClient(late.address, options: options)
        let timeout = clientError { _ = try client.fire("a") }
        #expect(timeout == .timedOut(after: .milliseconds(30)))
        // The reply to the first command can't be taken for this one's: it is another connection.
        // A wait for a job takes as long as the job, so no limit is over on a busy machine.
        #expect(try client.result(of: 2, wait: .forever) == Array("b".utf8))
        client.close()
        try late.finish()
    }

    @Test func `a reply that is cut off or garbage ends its command only`() throws {
        let server = try FakeServer(
            { session in
                try session.greet()
                _ = try session.command()
                try session.send("$100\r\nonly a part")
            },
            { session in
                try session.greet()
                _ = try session.command()
                try session.send("?what\r\n")
                try session.expectEnd()
            },
            { session in
                try session.greet()
                _ = try session.command()
            },
            Self.answersPing)
        let client = try WorkerClient(server.address)
        let cut = clientError { _ = try client.result(of: 1) }
        #expect(cut == .closed("the daemon hung up in the middle of it"))
        let garbage = clientError { _ = try client.result(of: 1) }
        guard case .protocolFault = garbage else {
            Issue.record("\(String(describing: garbage))")
            return
        }
        let hungUp = clientError { _ = try client.result(of: 1) }
        #expect(hungUp == .closed("the daemon hung up"))
        try client.ping()
        client.close()
        try server.finish()
    }

    @Test func `a reply of another type is a fault, and the connection goes on`() throws {
        let server = try FakeServer({ session in
            try session.greet()
            for reply in ["+fine\r\n", ":-1\r\n", "*0\r\n", "%0\r\n", "$2\r\nno\r\n", "_\r\n"] {
                _ = try session.command()
                try session.send(reply)
            }
            _ = try session.command()
            try session.send("+PONG\r\n")
            try session.expectEnd()
        })
        let client = try WorkerClient(server.address)
        let calls: [() throws -> Void] = [
            { _ = try client.perform(onThread: "a", selector: "b") },
            { _ = try client.perform(onThread: "a", selector: "b") },
            { _ = try client.result(of: 1) },
            { _ = try client.job(1) },
            { _ = try client.threads() },
            { try client.pause("a") },
        ]
        for (index, call) in calls.enumerated() {
            guard case .protocolFault = clientError(call) else {
                Issue.record("call \(index)")
                continue
            }
        }
        try client.ping()
        client.close()
        try server.finish()
    }

    @Test func `replies may come byte by byte, and pushes between them`() throws {
        let server = try FakeServer({ session in
            try session.greet()
            _ = try session.command()
            for byte in ">2\r\n+news\r\n:1\r\n$7\r\npay\r\nld\r\n" { try session.send("\(byte)") }
            try session.expectEnd()
        })
        let client = try WorkerClient(server.address)
        #expect(try client.result(of: 1) == Array("pay\r\nld".utf8))
        client.close()
        try server.finish()
    }

    @Test func `news of a job may come before the reply to its watch`() throws {
        let delayed = ">4\r\n+job\r\n:5\r\n+delayed\r\n%1\r\n+attempt\r\n:0\r\n"
        let done = ">4\r\n+job\r\n:5\r\n+done\r\n%1\r\n+attempt\r\n:1\r\n"
        for parts in [[done, ":1\r\n"], [delayed, ":1\r\n", done], [":1\r\n", delayed, done]] {
            let server = try FakeServer(
                { session in try session.greet() },
                { session in
                    try session.greet()
                    #expect(try session.command() == ["OBSERVE", "5"])
                    // In one piece: what is read behind a reply is not lost either.
                    try session.send(parts.joined())
                    try session.expectEnd()
                })
            let client = try WorkerClient(server.address)
            var states: [JobSummary.State] = []
            try client.observe(5) { news in
                states.append(news.state)
                return true
            }
            #expect(states == (parts.contains(delayed) ? [.delayed, .done] : [.done]))
            client.close()
            try server.finish()
        }
    }

    @Test func `a second reply to a watch is a fault`() throws {
        let server = try FakeServer(
            { session in try session.greet() },
            { session in
                try session.greet()
                _ = try session.command()
                try session.send(":1\r\n:1\r\n")
                try session.expectEnd()
            })
        let client = try WorkerClient(server.address)
        let error = clientError { try client.observe(5) { _ in true } }
        #expect(error == .protocolFault("a number came where a push was expected"))
        client.close()
        try server.finish()
    }

    @Test func `limits beyond what can be counted are as far as it goes`() throws {
        let server = try FakeServer({ session in
            try session.greet()
            let command = try session.command()
            #expect(command == ["PERFORM", "a", "b", "DELAY", "3153600000000", ""])
            try session.send(":1\r\n")
            #expect(try session.command() == ["RESULT", "1", "WAIT", "3153600000000"])
            try session.send("$1\r\nb\r\n")
            try session.expectEnd()
        })
        let forever = Duration(attoseconds: .max)
        let client = try WorkerClient(
            server.address,
            options: ClientOptions(
                connectTimeout: forever, replyTimeout: forever, replyByteCountMax: .max))
        let options = PerformOptions(schedule: .after(forever))
        #expect(try client.perform(onThread: "a", selector: "b", options: options) == 1)
        #expect(try client.result(of: 1, wait: .atMost(forever)) == Array("b".utf8))
        client.close()
        try server.finish()
    }

    @Test func `a small limit for strings is none for lists`() throws {
        let server = try FakeServer({ session in
            try session.greet()
            _ = try session.command()
            try session.send("*5\r\n" + String(repeating: "$4\r\n1234\r\n", count: 5))
            _ = try session.command()
            try session.send("$9\r\n123456789\r\n")
            try session.expectEnd()
        })
        let options = ClientOptions(replyByteCountMax: 8)
        let client = try WorkerClient(server.address, options: options)
        let words = try client.command(["THREADS"])
        #expect(words == .list(Array(repeating: .bytes(Array("1234".utf8)), count: 5)))
        let tooLarge = clientError { _ = try client.result(of: 1) }
        // The daemon has done nothing wrong: the client's limit has to change.
        #expect(tooLarge == .closed("it has 9 bytes, and replyByteCountMax of this client is 8"))
        client.close()
        try server.finish()
    }

    @Test func `behind the reply to a broken command comes a new connection`() throws {
        let refused: FakeServer.Script = { session in
            try session.greet()
            _ = try session.command()
            try session.send("-ERR Protocol error: invalid multibulk length 2000\r\n")
            // Not hung up yet: the client can't see it, and has to know.
            try session.expectEnd()
        }
        let server = try FakeServer(
            refused,
            Self.answersPing)
        let client = try WorkerClient(server.address)
        #expect(word(clientError { _ = try client.command(["ECHO"]) }) == "ERR")
        try client.ping()
        client.close()
        try server.finish()
    }

    @Test func `a server that hangs up during a large payload is heard first`() throws {
        let server = try FakeServer({ session in
            try session.greet()
            try session.waitForBytes()
            try session.send("-ERR argument 3 is too large\r\n")
        })
        let client = try WorkerClient(server.address)
        let error = clientError {
            _ = try client.perform(
                onThread: "a", selector: "b", payload: [UInt8](repeating: 0, count: 8 << 20))
        }
        #expect(error == .daemon(word: "ERR", message: "argument 3 is too large"))
        client.close()
        try server.finish()
    }

    @Test func `close ends a command that another thread waits for`() throws {
        let box = Mutex<WorkerClient?>(nil)
        let shared = Shared(box)
        let server = try FakeServer({ session in
            try session.greet()
            #expect(try session.command() == ["RESULT", "1", "WAIT"])
            shared.client?.close()
            try session.expectEnd()
        })
        let client = try WorkerClient(server.address)
        shared.set(client)
        let error = clientError {
            _ = try client.result(of: 1, wait: .forever)
        }
        #expect(error == .closed("the client was closed"))
        let later = clientError { try client.ping() }
        #expect(later == .closed("the client was closed"))
        let shutdown = clientError { try client.shutdown() }
        #expect(shutdown == .closed("the client was closed"))
        #expect(client.isClosed)
        try server.finish()
    }

    @Test func `who closes a client is told that, also by a connection that is being made`() throws
    {
        let box = Mutex<WorkerClient?>(nil)
        let shared = Shared(box)
        let server = try FakeServer(
            { session in try session.greet() },
            { session in
                _ = try session.command()
                shared.client?.close()
                try session.expectEnd()
            })
        let client = try WorkerClient(server.address)
        shared.set(client)
        let closed = WorkerClientError.closed("the client was closed")
        #expect(clientError { try client.observe(5) { _ in true } } == closed)
        try server.finish()
        // There is no server any more, and it is not looked for.
        #expect(clientError { try client.observe(5) { _ in true } } == closed)
    }

    @Test func `a command of which nothing could be sent goes over a new connection`() throws {
        let server = try FakeServer(
            { session in try session.greet() }, { session in try session.greet() },
            Self.answersPing)
        var options = ClientOptions()
        // Nothing looks at the connection first, as if it had just been used.
        options.idleBeforeLook = .seconds(3_600)
        let client = try WorkerClient(server.address, options: options)
        // The server takes this one when it has let go of the first.
        let other = try WorkerClient(server.address)
        try client.ping()
        client.close()
        other.close()
        try server.finish()
    }

    @Test func `a command that did not go out whole goes over a new connection`() throws {
        let server = try FakeServer(
            { session in
                try session.greet()
                try session.waitForBytes()
            },
            { session in
                try session.greet()
                #expect(try session.command().count == 4)
                try session.send(":1\r\n")
                try session.expectEnd()
            })
        let client = try WorkerClient(server.address)
        // More than a socket holds.
        let payload = [UInt8](repeating: 7, count: 8 << 20)
        let job = try client.perform(onThread: "ledger", selector: "book", payload: payload)
        #expect(job == 1)
        client.close()
        try server.finish()
    }

    @Test func `why a command was not taken whole is told`() throws {
        let server = try FakeServer({ session in
            try session.greet()
            try session.waitForBytes()
            try session.send("-BUSY no room\r\n")
        })
        let client = try WorkerClient(server.address)
        let payload = [UInt8](repeating: 7, count: 8 << 20)
        let error = clientError {
            _ = try client.perform(onThread: "ledger", selector: "book", payload: payload)
        }
        #expect(word(error) == "BUSY")
        client.close()
        try server.finish()
    }

    @Test func `a command is not sent a second time when its connection breaks`() throws {
        let server = try FakeServer(
            { session in
                try session.greet()
                _ = try session.command()
            },
            Self.answersPing)
        let client = try WorkerClient(server.address)
        let error = clientError {
            _ = try client.perform(onThread: "ledger", selector: "book")
        }
        #expect(error == .closed("the daemon hung up"))
        try client.ping()
        client.close()
        try server.finish()
    }
}

/// Lets a server's script reach the client that a test makes after it.
private final class Shared: Sendable {
    private let box: Mutex<WorkerClient?>

    init(_ box: consuming sending Mutex<WorkerClient?>) { self.box = box }

    func set(_ client: WorkerClient) { box.withLock { $0 = client } }

    var client: WorkerClient? { box.withLock { $0 } }
}
