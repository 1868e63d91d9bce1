// Serving selectors with the client, while connections end at the worst moments. A script is one
// connection; it checks each command of the worker.

import Kernel
import Support
import Testing
import WorkerClient

@Suite(.timeLimit(.minutes(2)))
struct `A worker in Swift with odd servers` {
    private static func take(_ milliseconds: Int) -> [String] {
        ["TAKE", "AS", "w", "WAIT", "\(milliseconds)", "STOPS", "TRACE", "FROM", "turn"]
    }
    private static let waiting = take(60_000)
    private static let looking = take(0)
    private static let fused = ["DONE", "5", "token", "THEN"] + waiting + ["r"]

    private static func job(_ id: Int, _ token: String) -> String {
        "*8\r\n:\(id)\r\n$\(token.utf8.count)\r\n\(token)\r\n$6\r\nimages\r\n$4\r\nturn\r\n:1\r\n"
            + "_\r\n_\r\n$1\r\np\r\n"
    }
    private static let stale = "-STALE job 5 is not held under this token\r\n"

    private static func serve(
        _ server: FakeServer, _ own: OwnThread,
        _ handler: @escaping @Sendable (ServedJob) async throws -> [UInt8]
    ) -> Task<Void, any Error> {
        own.start {
            var options = ClientOptions()
            options.reconnectPause = .milliseconds(1)
            // The greeting of this one is the first script of each server.
            let client = try WorkerClient(server.address, options: options)
            try await client.serve("turn", as: "w", handler: handler)
        }
    }

    /// The connection of the client that is asked to serve.
    private static let first: FakeServer.Script = { session in try session.greet() }

    @Test func `repeats a TAKE whose reply was lost`() async throws {
        try await onOwnThread { own in
            let server = try FakeServer(
                Self.first,
                { session in
                    try session.greet()
                    #expect(try session.command() == Self.waiting)
                },
                { session in
                    try session.greet()
                    #expect(try session.command() == Self.waiting)
                    try session.send("_\r\n")
                    #expect(try session.command() == Self.waiting)
                    try session.send("-SHUTTINGDOWN the daemon is going down\r\n")
                    #expect(try session.command() == Self.waiting)
                    try session.send(Self.job(5, "token"))
                    #expect(try session.command() == Self.fused)
                    try session.send("-NOSELECTOR no selector turn\r\n")
                    #expect(try session.command() == ["DONE", "5", "token", "r"])
                    try session.send("+OK\r\n")
                    #expect(try session.command() == Self.waiting)
                    try session.send("-NOSELECTOR no selector turn\r\n")
                    session.readToEnd()
                })
            let worker = Self.serve(server, own) { _ in [UInt8(ascii: "r")] }
            let error = await #expect(throws: WorkerClientError.self) { try await worker.value }
            #expect(word(error) == "NOSELECTOR")
            try server.finish()
        }
    }

    @Test func `repeats an end whose reply was lost, and gets the same next job`() async throws {
        try await onOwnThread { own in
            let server = try FakeServer(
                Self.first,
                { session in
                    try session.greet()
                    #expect(try session.command() == Self.waiting)
                    try session.send(Self.job(5, "token"))
                    #expect(try session.command() == Self.fused)
                },
                { session in
                    try session.greet()
                    #expect(try session.command() == Self.fused)
                    try session.send(Self.job(6, "next"))
                    #expect(try session.command() == ["FAIL", "6", "next", "FINAL", "no paper"])
                    try session.send(Self.stale)
                    #expect(try session.command() == Self.waiting)
                    try session.send("-NOAUTH no\r\n")
                    session.readToEnd()
                })
            let worker = Self.serve(server, own) { job in
                if job.id == 6 { throw ServedJobFailure("no paper", next: .final) }
                return [UInt8(ascii: "r")]
            }
            let error = await #expect(throws: WorkerClientError.self) { try await worker.value }
            #expect(word(error) == "NOAUTH")
            try server.finish()
        }
    }

    @Test func `keeps its job while the handler runs and the connection ends`() async throws {
        try await onOwnThread { own in
            let kept = AsyncStream<Void>.makeStream()
            let server = try FakeServer(
                Self.first,
                { session in
                    try session.greet()
                    #expect(try session.command() == Self.waiting)
                    try session.send(Self.job(5, "token"))
                },
                { session in
                    try session.greet()
                    #expect(try session.command() == Self.looking)
                    try session.send("-INUSE the name w belongs to client 3\r\n")
                    #expect(try session.command() == Self.looking)
                    try session.send("_\r\n")
                    #expect(try session.command() == ["REPORT", "5", "token", "0.0", ""])
                    try session.send("$2\r\ngo\r\n")
                    #expect(try session.command() == Self.looking)
                    try session.send(Self.job(5, "token"))
                    kept.continuation.finish()
                    #expect(try session.command() == Self.fused)
                    try session.send("-NOAUTH no\r\n")
                    #expect(try session.command() == ["DONE", "5", "token", "r"])
                    try session.send("+OK\r\n")
                    #expect(try session.command() == Self.waiting)
                    try session.send("-NOAUTH no\r\n")
                    session.readToEnd()
                })
            let worker = Self.serve(server, own) { _ in
                for await _ in kept.stream {}
                return [UInt8(ascii: "r")]
            }
            await #expect(throws: WorkerClientError.self) { try await worker.value }
            try server.finish()
        }
    }

    @Test func `cancels a job that is another worker's by then`() async throws {
        try await onOwnThread { own in
            let server = try FakeServer(
                Self.first,
                { session in
                    try session.greet()
                    #expect(try session.command() == Self.waiting)
                    try session.send(Self.job(5, "token"))
                },
                { session in
                    try session.greet()
                    #expect(try session.command() == Self.looking)
                    try session.send(Self.job(7, "other"))
                    #expect(
                        try session.command() == ["GIVEBACK", "7", "other", "AFTER", "0"])
                    try session.send("+OK\r\n")
                    #expect(try session.command() == ["REPORT", "5", "token", "0.0", ""])
                    try session.send(Self.stale)
                    let end = try session.command()
                    #expect(end.prefix(3) == ["FAIL", "5", "token"])
                    try session.send(Self.stale)
                    #expect(try session.command() == Self.waiting)
                    try session.send("-NOAUTH no\r\n")
                    session.readToEnd()
                })
            let worker = Self.serve(server, own) { _ in
                try await Task.sleep(for: .seconds(3_600))
                return []
            }
            await #expect(throws: WorkerClientError.self) { try await worker.value }
            try server.finish()
        }
    }

    @Test func `hears of a stop by a report, and by a push before its job`() async throws {
        try await onOwnThread { own in
            let server = try FakeServer(
                Self.first,
                { session in
                    try session.greet()
                    #expect(try session.command() == Self.waiting)
                    try session.send(Self.job(5, "token"))
                    #expect(try session.command() == ["REPORT", "5", "token", "50.0", "half"])
                    try session.send("$2\r\ngo\r\n")
                    #expect(try session.command() == ["REPORT", "5", "token", "100.0", ""])
                    try session.send("$4\r\nstop\r\n")
                    #expect(try session.command().prefix(3) == ["FAIL", "5", "token"])
                    try session.send("+OK\r\n")
                    #expect(try session.command() == Self.waiting)
                    try session.send(
                        ">4\r\n$4\r\nstop\r\n:6\r\n$4\r\nnext\r\n$9\r\ncancelled\r\n"
                            + Self.job(6, "next"))
                    #expect(try session.command().prefix(3) == ["FAIL", "6", "next"])
                    try session.send("+OK\r\n")
                    #expect(try session.command() == Self.waiting)
                    try session.send("-NOAUTH no\r\n")
                    session.readToEnd()
                })
            let worker = Self.serve(server, own) { job in
                if job.id == 5 {
                    try await job.report(0.5, "half")
                    try await job.report(2)
                    Issue.record("it goes on after a stop")
                }
                try await Task.sleep(for: .seconds(3_600))
                return []
            }
            await #expect(throws: WorkerClientError.self) { try await worker.value }
            try server.finish()
        }
    }

    @Test func `gives a job back that came as it was cancelled`() async throws {
        try await onOwnThread { own in
            let isWaiting = AsyncStream<Void>.makeStream()
            let server = try FakeServer(
                Self.first,
                { session in
                    try session.greet()
                    #expect(try session.command() == Self.waiting)
                    isWaiting.continuation.finish()
                    try session.expectEnd()
                },
                { session in
                    try session.greet()
                    #expect(try session.command() == Self.looking)
                    try session.send("-INUSE the name w belongs to client 3\r\n")
                    #expect(try session.command() == Self.looking)
                    try session.send(Self.job(5, "token"))
                    #expect(
                        try session.command() == ["GIVEBACK", "5", "token", "AFTER", "0"])
                    try session.send("+OK\r\n")
                    try session.expectEnd()
                })
            let worker = Self.serve(server, own) { _ in [] }
            for await _ in isWaiting.stream {}
            worker.cancel()
            try await worker.value
            try server.finish()
        }
    }
}
