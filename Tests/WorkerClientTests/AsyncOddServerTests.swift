// The asynchronous client against a server that does not behave: order, cancellation, limits, ends.

import Kernel
import Testing
import WorkerClient
import WorkerThreads

@Suite(.timeLimit(.minutes(2)))
struct `Asynchronous client and odd servers` {
    @Test func `a task that is cancelled leaves the others their own replies`() async throws {
        try await onOwnThread { own in
            let (commands, read) = AsyncStream.makeStream(of: [String].self)
            let isCancelled = Latch()
            let server = try FakeServer({ session in
                try session.greet()
                for _ in 0..<3 { read.yield(try session.command()) }
                isCancelled.wait()
                try session.send(":1\r\n:2\r\n:3\r\n")
                try session.expectEnd()
            })
            let client = try await AsyncWorkerClient.connect(to: server.address)
            var arrived = commands.makeAsyncIterator()
            var tasks: [Task<Int, any Error>] = []
            for name in ["a", "b", "c"] {
                tasks.append(own.start { try await client.fire(name) })
                #expect(await arrived.next() == ["FIRE", name])
            }
            tasks[1].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[1].value }
            #expect(client.outstandingCount == 3)
            isCancelled.open()
            #expect(try await tasks[0].value == 1)
            #expect(try await tasks[2].value == 3)
            client.close()
            try server.finish()
        }
    }

    @Test func `a task that is cancelled before it begins sends nothing`() async throws {
        try await onOwnThread { own in
            let server = try FakeServer({ session in
                try session.greet()
                #expect(try session.command() == ["PING"])
                try session.send("+PONG\r\n")
                try session.expectEnd()
            })
            let client = try await AsyncWorkerClient.connect(to: server.address)
            let task = own.start {
                unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
                return try await client.fire("never")
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            try await client.ping()
            client.close()
            try server.finish()
        }
    }

    @Test func `closing tells every task that waits, and every later one`() async throws {
        try await onOwnThread { own in
            let (commands, read) = AsyncStream.makeStream(of: [String].self)
            let server = try FakeServer({ session in
                try session.greet()
                for _ in 0..<20 { read.yield(try session.command()) }
                try session.expectEnd()
            })
            let client = try await AsyncWorkerClient.connect(to: server.address)
            let tasks = (0..<20).map { index in own.start { try await client.fire("\(index)") } }
            var arrived = commands.makeAsyncIterator()
            for _ in 0..<20 { _ = await arrived.next() }
            client.close()
            let closed = WorkerClientError.closed("the client was closed")
            for task in tasks { await #expect(throws: closed) { try await task.value } }
            await #expect(throws: closed) { try await client.ping() }
            #expect(client.endReason == closed)
            client.close()
            try server.finish()
        }
    }

    @Test func `letting go of a client closes its connection`() async throws {
        try await onOwnThread { own in
            let server = try FakeServer({ session in
                try session.greet()
                _ = try session.command()
                try session.send("+PONG\r\n")
                try session.expectEnd()
            })
            let thread = try WorkerThread(name: "shared")
            try await AsyncWorkerClient.connect(to: server.address, on: thread).ping()
            try server.finish()
            thread.stop()
        }
    }

    @Test func `the end of the serving thread is the end of what waits`() async throws {
        try await onOwnThread { own in
            let (commands, read) = AsyncStream.makeStream(of: [String].self)
            let server = try FakeServer({ session in
                try session.greet()
                read.yield(try session.command())
                try session.expectEnd()
            })
            let thread = try WorkerThread(name: "shared")
            let client = try await AsyncWorkerClient.connect(to: server.address, on: thread)
            let task = own.start { try await client.fire("a") }
            var arrived = commands.makeAsyncIterator()
            _ = await arrived.next()
            thread.stop()
            let ended = WorkerClientError.closed("the thread that serves the client has ended")
            await #expect(throws: ended) { try await task.value }
            #expect(client.endReason == ended)
            await #expect(
                throws: Self.notSent("the thread that serves the client has ended", client)
            ) {
                try await client.ping()
            }
            try server.finish()
        }
    }

    @Test func `only what may have been sent when the daemon went is not known`() async throws {
        try await onOwnThread { own in
            let (commands, read) = AsyncStream.makeStream(of: [String].self)
            let isQueued = Latch()
            let server = try FakeServer({ session in
                try session.greet()
                read.yield(try session.command())
                // Of more than a socket holds, a part is sent, and the rest waits at the client.
                try session.waitForBytes()
                read.yield([])
                isQueued.wait()
            })
            let thread = try WorkerThread(name: "shared")
            let client = try await AsyncWorkerClient.connect(to: server.address, on: thread)
            let sent = own.start { try await client.fire("a") }
            var arrived = commands.makeAsyncIterator()
            #expect(await arrived.next() == ["FIRE", "a"])
            let large = [UInt8](repeating: 1, count: 8 << 20)
            let begun = own.start {
                try await client.perform(onThread: "a", selector: "b", payload: large)
            }
            #expect(await arrived.next() == [])
            let queued = own.start { try await client.fire("b") }
            while client.outstandingCount < 3 { await Task.yield() }
            // Behind the command, which the thread then has.
            try await thread.submit {}
            isQueued.open()
            let error = await #expect(throws: WorkerClientError.self) { try await sent.value }
            guard case .closed(let reason) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            let notSent = Self.notSent(reason, client)
            await #expect(throws: notSent) { try await begun.value }
            await #expect(throws: notSent) { try await queued.value }
            await #expect(throws: notSent) { try await client.ping() }
            #expect(client.outstandingCount == 0)
            thread.stop()
            try server.finish()
        }
    }

    private static func notSent(_ reason: String, _ client: AsyncWorkerClient) -> WorkerClientError
    {
        .notConnected(
            address: client.address.description, reason: "\(reason), which ended this client",
            advice: "make a new one")
    }

    @Test func `a daemon is not down because the client's own thread has ended`() async throws {
        try await onOwnThread { own in
            let (commands, read) = AsyncStream.makeStream(of: [String].self)
            let server = try FakeServer({ session in
                try session.greet()
                read.yield(try session.command())
                try session.expectEnd()
            })
            let thread = try WorkerThread(name: "shared")
            let client = try await AsyncWorkerClient.connect(to: server.address, on: thread)
            let task = own.start { try await client.shutdown() }
            var arrived = commands.makeAsyncIterator()
            #expect(await arrived.next() == ["SHUTDOWN"])
            thread.stop()
            let ended = WorkerClientError.closed("the thread that serves the client has ended")
            await #expect(throws: ended) { try await task.value }
            try server.finish()
        }
    }

    @Test func `a daemon is not down because a reply was too large for the client`() async throws {
        try await onOwnThread { own in
            let (commands, read) = AsyncStream.makeStream(of: [String].self)
            let server = try FakeServer({ session in
                try session.greet()
                for _ in 0..<2 { read.yield(try session.command()) }
                try session.send("$9\r\n")
                try session.expectEnd()
            })
            let client = try await AsyncWorkerClient.connect(
                to: server.address, options: ClientOptions(replyByteCountMax: 8))
            var arrived = commands.makeAsyncIterator()
            let result = own.start { try await client.result(of: 1) }
            #expect(await arrived.next() == ["RESULT", "1"])
            let task = own.start { try await client.shutdown() }
            let reason = "it has 9 bytes, and replyByteCountMax of this client is 8"
            await #expect(throws: WorkerClientError.closed(reason)) { try await result.value }
            await #expect(throws: WorkerClientError.closed(reason)) { try await task.value }
            try server.finish()
        }
    }

    @Test func `replies before a hang-up are delivered, and the rest is told`() async throws {
        try await onOwnThread { own in
            let (commands, read) = AsyncStream.makeStream(of: [String].self)
            let server = try FakeServer({ session in
                try session.greet()
                for _ in 0..<3 { read.yield(try session.command()) }
                try session.send(":1\r\n$9\r\nhalf")
            })
            let client = try await AsyncWorkerClient.connect(to: server.address)
            var arrived = commands.makeAsyncIterator()
            let first = own.start { try await client.fire("a") }
            _ = await arrived.next()
            let others = ["b", "c"].map { name in own.start { try await client.fire(name) } }
            #expect(try await first.value == 1)
            let cut = WorkerClientError.closed("the daemon hung up in the middle of it")
            for task in others { await #expect(throws: cut) { try await task.value } }
            #expect(client.outstandingCount == 0)
            #expect(client.endReason == cut)
            try server.finish()
        }
    }

    @Test func `garbage, and replies that nobody asked for, end the client`() async throws {
        try await onOwnThread { own in
            for (reply, isOurs) in [("?\r\n", true), (":1\r\n:2\r\n", false)] {
                let server = try FakeServer({ session in
                    try session.greet()
                    _ = try session.command()
                    try session.send(reply)
                    try session.expectEnd()
                })
                let client = try await AsyncWorkerClient.connect(to: server.address)
                let error = await own.start { try await client.fire("a") }.result
                if isOurs {
                    #expect(throws: WorkerClientError.self) { try error.get() }
                } else {
                    #expect(try error.get() == 1)
                }
                // The server sees the end before it is done.
                try server.finish()
                guard case .protocolFault = client.endReason else {
                    Issue.record("\(String(describing: client.endReason))")
                    continue
                }
            }
        }
    }

    @Test func `more commands than the limit are refused, until replies come`() async throws {
        try await onOwnThread { own in
            let (commands, read) = AsyncStream.makeStream(of: [String].self)
            let isRefused = Latch()
            let server = try FakeServer({ session in
                try session.greet()
                for _ in 0..<2 { read.yield(try session.command()) }
                isRefused.wait()
                try session.send(":1\r\n:2\r\n")
                #expect(try session.command() == ["FIRE", "d"])
                try session.send(":4\r\n")
                try session.expectEnd()
            })
            let options = ClientOptions(outstandingCountMax: 2)
            let client = try await AsyncWorkerClient.connect(to: server.address, options: options)
            let tasks = ["a", "b"].map { name in own.start { try await client.fire(name) } }
            var arrived = commands.makeAsyncIterator()
            for _ in 0..<2 { _ = await arrived.next() }
            await #expect(throws: WorkerClientError.tooManyOutstanding(limit: 2)) {
                try await client.fire("c")
            }
            isRefused.open()
            #expect(try await tasks[0].value + tasks[1].value == 3)
            #expect(try await client.fire("d") == 4)
            client.close()
            try server.finish()
        }
    }

    @Test func `more bytes than the limit are refused while others wait to be sent`() async throws {
        try await onOwnThread { own in
            let (commands, read) = AsyncStream.makeStream(of: [String].self)
            let isRefused = Latch()
            let server = try FakeServer({ session in
                try session.greet()
                // More is announced than a socket holds: the rest waits at the client.
                try session.waitForBytes()
                read.yield(["bytes"])
                isRefused.wait()
                _ = try session.command()
                try session.send(":1\r\n")
                #expect(try session.command().count == 4)
                try session.send(":2\r\n")
                try session.expectEnd()
            })
            let options = ClientOptions(unsentByteCountMax: 100_000)
            let client = try await AsyncWorkerClient.connect(to: server.address, options: options)
            let large = [UInt8](repeating: 1, count: 8 << 20)
            let task = own.start {
                try await client.perform(onThread: "a", selector: "b", payload: large)
            }
            var arrived = commands.makeAsyncIterator()
            _ = await arrived.next()
            await #expect(throws: WorkerClientError.tooManyOutstanding(limit: 100_000)) {
                try await client.perform(onThread: "a", selector: "b", payload: [1])
            }
            isRefused.open()
            #expect(try await task.value == 1)
            #expect(try await client.perform(onThread: "a", selector: "b", payload: large) == 2)
            client.close()
            try server.finish()
        }
    }

    @Test func `a thread that takes nothing serves no client`() async throws {
        let thread = try WorkerThread(name: "over")
        thread.stop()
        thread.join()
        let error = await #expect(throws: WorkerClientError.self) {
            try await AsyncWorkerClient.connect(to: .unix("unused"), on: thread)
        }
        guard case .notConnected("unused", "thread over has been stopped", _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
