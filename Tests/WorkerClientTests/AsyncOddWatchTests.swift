// Watching with the asynchronous client, and who holds what: the sequence its client, and nothing
// either of them when it is over. A script waits for the client's end, so one that is held hangs
// it.

import Testing
import WorkerClient

@Suite(.timeLimit(.minutes(2)))
struct `Watching with the asynchronous client and odd servers` {
    private static let delayed = ">4\r\n+job\r\n:5\r\n+delayed\r\n%1\r\n+attempt\r\n:0\r\n"
    private static let done = ">4\r\n+job\r\n:5\r\n+done\r\n%1\r\n+attempt\r\n:1\r\n"

    @Test func `a sequence keeps its client until the job's end, and no longer`() async throws {
        try await onOwnThread { _ in
            let server = try FakeServer({ session in
                try session.greet()
                #expect(try session.command() == ["OBSERVE", "5"])
                try session.send(":1\r\n" + Self.delayed + Self.done)
                try session.expectEnd()
            })
            var last: JobNews?
            for try await news in try await AsyncWorkerClient.connect(to: server.address).observe(5)
            {
                last = news
            }
            #expect(last?.state == .done)
            try server.finish()
        }
    }

    @Test func `a sequence keeps its client until it is refused`() async throws {
        try await onOwnThread { _ in
            let server = try FakeServer({ session in
                try session.greet()
                _ = try session.command()
                try session.send("-NOJOB no job 5\r\n")
                session.readToEnd()
            })
            let error = await #expect(throws: WorkerClientError.self) {
                let client = try await AsyncWorkerClient.connect(to: server.address)
                for try await _ in client.observe(5) {}
            }
            #expect(word(error) == "NOJOB", "\(String(describing: error))")
            try server.finish()
        }
    }

    @Test func `who is refused learns why, though the daemon goes a moment later`() async throws {
        try await onOwnThread { _ in
            let count = 20
            let scripts = Array(
                repeating: { (session: FakeSession) in
                    try session.greet()
                    _ = try session.command()
                    try session.send("-NOJOB no job 5\r\n")
                } as FakeServer.Script, count: count)
            let server = try FakeServer(scripts)
            for _ in 0..<count {
                let error = await #expect(throws: WorkerClientError.self) {
                    let client = try await AsyncWorkerClient.connect(to: server.address)
                    for try await _ in client.observe(5) {}
                }
                #expect(word(error) == "NOJOB", "\(String(describing: error))")
            }
            try server.finish()
        }
    }

    @Test func `a sequence keeps its client until it is let go of`() async throws {
        try await onOwnThread { _ in
            let server = try FakeServer({ session in
                try session.greet()
                _ = try session.command()
                try session.send(":1\r\n" + Self.delayed)
                session.readToEnd()
            })
            for try await news in try await AsyncWorkerClient.connect(to: server.address).observe(5)
            {
                #expect(news.state == .delayed)
                break
            }
            try server.finish()
        }
    }

    @Test func `letting go ends the watch at the limit too, and a refused one sends nothing`()
        async throws
    {
        try await onOwnThread { own in
            let (commands, read) = AsyncStream.makeStream(of: [String].self)
            let server = try FakeServer({ session in
                try session.greet()
                #expect(try session.command() == ["OBSERVE", "5"])
                try session.send(":1\r\n" + Self.delayed)
                read.yield(try session.command())
                #expect(try session.command() == ["UNOBSERVE", "5"])
                try session.send(":7\r\n:1\r\n")
                try session.expectEnd()
            })
            let client = try await AsyncWorkerClient.connect(
                to: server.address, options: ClientOptions(outstandingCountMax: 1))
            var fired: Task<Int, any Error>?
            for try await news in client.observe(5) {
                #expect(news.state == .delayed)
                let task = own.start { try await client.fire("a") }
                var arrived = commands.makeAsyncIterator()
                #expect(await arrived.next() == ["FIRE", "a"])
                await #expect(throws: WorkerClientError.tooManyOutstanding(limit: 1)) {
                    for try await _ in client.observe(6) {}
                }
                fired = task
                break
            }
            #expect(try await fired?.value == 7)
            client.close()
            try server.finish()
        }
    }

    @Test func `a watch that is let go of at once is sent before its end`() async throws {
        try await onOwnThread { _ in
            let roundCount = 500
            let server = try FakeServer({ session in
                try session.greet()
                for _ in 0..<roundCount {
                    #expect(try session.command() == ["OBSERVE", "5"])
                    #expect(try session.command() == ["UNOBSERVE", "5"])
                    try session.send(":1\r\n:1\r\n")
                }
                #expect(try session.command() == ["PING"])
                try session.send("+PONG\r\n")
                try session.expectEnd()
            })
            let client = try await AsyncWorkerClient.connect(to: server.address)
            for _ in 0..<roundCount { _ = client.observe(5) }
            try await client.ping()
            client.close()
            try server.finish()
        }
    }
}
