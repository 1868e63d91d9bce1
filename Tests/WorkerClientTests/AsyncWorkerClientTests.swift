// The asynchronous client against the real daemon.

import Support
import Testing
import WorkerClient
import WorkerThreads

@Suite(.timeLimit(.minutes(2)))
struct `Asynchronous client` {
    @Test func `many jobs under way at once get their own results`() async throws {
        try await onOwnThread { own in
            let daemon = try TestDaemon()
            let client = try await AsyncWorkerClient.connect(to: daemon.address)
            let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<500 {
                    group.addTask {
                        let payload = Array("payload \(index)".utf8)
                        let result = try await client.performAndWait(
                            onThread: "images", selector: "echo", payload: payload)
                        return result != payload
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(wrong == 0)
            #expect(client.outstandingCount == 0)
        }
    }

    @Test func `large payloads and results pass among small ones`() async throws {
        try await onOwnThread { own in
            let daemon = try TestDaemon()
            let client = try await AsyncWorkerClient.connect(to: daemon.address)
            let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<24 {
                    let payload = [UInt8](
                        repeating: UInt8(index), count: index % 3 == 0 ? 1 << 20 : 9)
                    group.addTask {
                        try await client.performAndWait(
                            onThread: "images", selector: "echo", payload: payload) != payload
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(wrong == 0)
        }
    }

    @Test func `every command has its method`() async throws {
        try await onOwnThread { own in
            let daemon = try TestDaemon()
            let client = try await AsyncWorkerClient.connect(to: daemon.address)
            try await client.ping()
            let options = PerformOptions(schedule: .after(.seconds(3_600)))
            let id = try await client.perform(
                onThread: "images", selector: "echo", payload: [1], options: options)
            #expect(try await client.job(id).summary.state == .delayed)
            #expect(try await client.jobs(state: .delayed).map(\.id) == [id])
            #expect(try await client.result(of: id) == nil)
            #expect(try await client.payload(of: id) == [1])
            let named = try await client.performOnce(
                as: [1], onThread: "images", selector: "echo", payload: [1], options: options)
            #expect(named.isNew)
            #expect(try await client.cancel(named.id) == .cancelled)
            #expect(try await client.cancel(id) == .cancelled)
            #expect(try await client.cancel(onThread: "images", selector: "echo") == 0)
            let buffered = try await client.buffer(
                onThread: "images", selector: "echo", payload: [2])
            #expect(try await client.fire("images") == 1)
            #expect(try await client.result(of: buffered, wait: .forever) == [2])
            #expect(try await client.threads().count == 3)
            guard case .pool = try await client.thread("mail") else {
                Issue.record("mail is a pool")
                return
            }
            #expect(try await client.selectors().count == 5)
            try await client.pause("images")
            try await client.resume("images")
            try await client.stop("images")
            #expect(try await client.info("server").contains("workerd_version"))
            #expect(try await client.command(["ECHO", "hi"]) == .bytes(Array("hi".utf8)))
            #expect(try await client.reload(isDry: true) == [])
            #expect(try await client.reload() == [])
            let inMemory = await #expect(throws: WorkerClientError.self) {
                try await client.backup("monday", replaces: true)
            }
            #expect(word(inMemory) == "ERR")
            let refused = await #expect(throws: WorkerClientError.self) {
                try await client.perform(onThread: "images", selector: "echo")
            }
            #expect(word(refused) == "NOTHREAD")
            try await client.shutdown(.now)
            #expect(try daemon.end() == "exit status 0")
            await #expect(throws: WorkerClientError.self) { try await client.ping() }
            await #expect(throws: WorkerClientError.self) { try await client.shutdown() }
        }
    }

    @Test func `clients may share one thread with other work`() async throws {
        try await onOwnThread { own in
            let daemon = try TestDaemon()
            let thread = try WorkerThread(name: "shared")
            let first = try await AsyncWorkerClient.connect(to: daemon.address, on: thread)
            let second = try await AsyncWorkerClient.connect(to: daemon.address, on: thread)
            async let one = first.performAndWait(onThread: "images", selector: "echo", payload: [1])
            async let two = second.performAndWait(
                onThread: "images", selector: "echo", payload: [2])
            #expect(try await one == [1])
            #expect(try await two == [2])
            first.close()
            await #expect(throws: WorkerClientError.closed("the client was closed")) {
                try await first.ping()
            }
            #expect(try await thread.submit { 7 } == 7)
            try await second.ping()
            thread.stop()
        }
    }

    @Test func `a daemon that is not there is told at once`() async throws {
        try await onOwnThread { own in
            let scratch = try Scratch()
            let error = await #expect(throws: WorkerClientError.self) {
                try await AsyncWorkerClient.connect(to: .unix(scratch.file("none")))
            }
            guard case .notConnected(scratch.file("none"), _, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }
}
