// Serving selectors with the client, against the real daemon.

import Kernel
import Support
import Testing
import WorkerClient

@Suite(.timeLimit(.minutes(2)))
struct `A worker in Swift` {
    private static let selectors = "turn: { worker: true, retries: 3 }, other: { worker: true },"

    private static func options() -> ClientOptions {
        var options = ClientOptions()
        options.reconnectPause = .milliseconds(5)
        return options
    }

    @Test func `takes jobs in order, and ends them with results`() async throws {
        try await onOwnThread { own in
            let daemon = try TestDaemon(selectors: Self.selectors)
            let client = try await AsyncWorkerClient.connect(to: daemon.address)
            let worker = own.start {
                try await client.serve("turn", "other", as: "turner") { job in
                    #expect(job.thread == "images")
                    #expect(job.attempt == 1)
                    try await job.report(0.5, "half")
                    return [UInt8](job.payload.reversed()) + Array(job.selector.utf8)
                }
            }
            for number in UInt8(0)..<50 {
                let selector = number.isMultiple(of: 2) ? "turn" : "other"
                let result = try await client.performAndWait(
                    onThread: "images", selector: selector, payload: [number, 1, 2],
                    options: PerformOptions(label: "n"))
                #expect(result == [2, 1, number] + Array(selector.utf8))
            }
            worker.cancel()
            try await worker.value
            // Its connection ends a moment later.
            while try await client.command(["WORKERS"]) != .list([]) {}
        }
    }

    @Test func `fails a job with the text of the error, and says what follows`() async throws {
        try await onOwnThread { own in
            let daemon = try TestDaemon(selectors: Self.selectors)
            let client = try await AsyncWorkerClient.connect(to: daemon.address)
            let worker = own.start {
                try await client.serve("turn", "other") { job in
                    if job.attempt == 1, job.selector == "turn" {
                        throw ServedJobFailure("not yet", next: .again(after: .milliseconds(1)))
                    }
                    if job.selector == "other" { throw Unexpected("no paper") }
                    throw ServedJobFailure("no printer", next: .final)
                }
            }
            for (selector, reason) in [("turn", "no printer"), ("other", "no paper")] {
                let id = try await client.perform(onThread: "images", selector: selector)
                let error = await #expect(throws: WorkerClientError.self) {
                    _ = try await client.result(of: id, wait: .forever)
                }
                #expect(error == .daemon(word: "FAILED", message: "job \(id): \(reason)"))
                let attempt = try await client.job(id).summary.attempt
                #expect(attempt == (selector == "turn" ? 2 : 1))
            }
            worker.cancel()
            try await worker.value
        }
    }

    @Test func `has the task of a job cancelled when the job is`() async throws {
        try await onOwnThread { own in
            let daemon = try TestDaemon(selectors: Self.selectors)
            let client = try await AsyncWorkerClient.connect(to: daemon.address)
            let begun = AsyncStream<UInt64>.makeStream()
            let worker = own.start {
                try await client.serve("turn") { job in
                    begun.continuation.yield(job.id)
                    try await Task.sleep(for: .seconds(3_600))
                    return []
                }
            }
            let id = try await client.perform(onThread: "images", selector: "turn")
            for await _ in begun.stream { break }
            #expect(try await client.cancel(id) == .requested)
            let error = await #expect(throws: WorkerClientError.self) {
                _ = try await client.result(of: id, wait: .forever)
            }
            #expect(word(error) == "CANCELLED")
            worker.cancel()
            try await worker.value
        }
    }

    @Test func `gives its job back when its task is cancelled`() async throws {
        try await onOwnThread { own in
            let daemon = try TestDaemon(selectors: Self.selectors)
            let client = try await AsyncWorkerClient.connect(to: daemon.address)
            let begun = AsyncStream<UInt64>.makeStream()
            let first = own.start {
                try await client.serve("turn") { job in
                    begun.continuation.yield(job.id)
                    try await Task.sleep(for: .seconds(3_600))
                    return []
                }
            }
            let id = try await client.perform(onThread: "images", selector: "turn", payload: [7])
            for await _ in begun.stream { break }
            first.cancel()
            try await first.value
            let second = own.start {
                try await client.serve("turn") { job in job.payload + [UInt8(job.attempt)] }
            }
            #expect(try await client.result(of: id, wait: .forever) == [7, 1])
            second.cancel()
            try await second.value
            #expect(try await client.info().contains("total_vanished_workers:0"))
        }
    }

    @Test func `says a result that comes after its task was cancelled`() async throws {
        try await onOwnThread { own in
            let daemon = try TestDaemon(selectors: Self.selectors)
            let client = try await AsyncWorkerClient.connect(to: daemon.address)
            let begun = AsyncStream<UInt64>.makeStream()
            let worker = own.start {
                try await client.serve("turn") { job in
                    begun.continuation.yield(job.id)
                    try? await Task.sleep(for: .seconds(3_600))
                    return [1]
                }
            }
            let id = try await client.perform(onThread: "images", selector: "turn")
            for await _ in begun.stream { break }
            worker.cancel()
            try await worker.value
            #expect(try await client.result(of: id, wait: .forever) == [1])
        }
    }

    @Test func `throws what does not pass`() async throws {
        try await onOwnThread { _ in
            let daemon = try TestDaemon(selectors: Self.selectors)
            let client = try WorkerClient(daemon.address)
            for (selector, expected) in [("none", "NOSELECTOR"), ("echo", "ERR")] {
                let error = await #expect(throws: WorkerClientError.self) {
                    try await client.serve(selector) { _ in [] }
                }
                #expect(word(error) == expected)
            }
        }
    }

    @Test func `goes on after a crash of the daemon`() async throws {
        try await onOwnThread { own in
            let scratch = try Scratch()
            let store = scratch.file("jobs.sqlite")
            let first = try TestDaemon(in: scratch, store: store, selectors: Self.selectors)
            let client = try await AsyncWorkerClient.connect(
                to: first.address, options: Self.options())
            let troubles = Counter()
            let worker = own.start {
                try await client.serve(
                    "turn", as: "turner", onTrouble: { _ in troubles.increment() }
                ) { $0.payload }
            }
            let before = try await client.performAndWait(
                onThread: "images", selector: "turn", payload: [1])
            #expect(before == [1])
            try first.kill()
            let second = try TestDaemon(in: scratch, store: store, selectors: Self.selectors)
            let again = try await AsyncWorkerClient.connect(to: second.address)
            let after = try await again.performAndWait(
                onThread: "images", selector: "turn", payload: [2])
            #expect(after == [2])
            #expect(troubles.count > 0)
            worker.cancel()
            try await worker.value
            try second.kill()
        }
    }

    @Test func `keeps the job that it runs over a crash of the daemon`() async throws {
        try await onOwnThread { own in
            let scratch = try Scratch()
            let store = scratch.file("jobs.sqlite")
            let first = try TestDaemon(in: scratch, store: store, selectors: Self.selectors)
            let client = try await AsyncWorkerClient.connect(
                to: first.address, options: Self.options())
            let begun = AsyncStream<UInt64>.makeStream()
            let over = AsyncStream<Void>.makeStream()
            let runs = Counter()
            let worker = own.start {
                try await client.serve("turn", as: "turner") { job in
                    runs.increment()
                    begun.continuation.yield(job.id)
                    for await _ in over.stream {}
                    return job.payload
                }
            }
            let id = try await client.perform(onThread: "images", selector: "turn", payload: [3])
            for await _ in begun.stream { break }
            try first.kill()
            let second = try TestDaemon(in: scratch, store: store, selectors: Self.selectors)
            over.continuation.finish()
            let again = try await AsyncWorkerClient.connect(to: second.address)
            #expect(try await again.result(of: id, wait: .forever) == [3])
            #expect(try await again.job(id).summary.attempt == 1)
            #expect(runs.count == 1)
            worker.cancel()
            try await worker.value
            try second.kill()
        }
    }

    @Test func `owns a thread, and no other`() async throws {
        try await onOwnThread { own in
            let daemon = try TestDaemon(selectors: Self.selectors)
            let client = try await AsyncWorkerClient.connect(to: daemon.address)
            let owner = own.start {
                try await client.serve("turn", as: "owner", owning: "mail/1") { job in
                    Array("owner of \(job.thread)".utf8)
                }
            }
            // The thread that it owns is shown once its TAKE is there.
            while try await client.command(["THREAD", "mail/1"])["owner"]?.text != "owner" {}
            let other = own.start {
                try await client.serve("turn", as: "other") { _ in Array("other".utf8) }
            }
            for (thread, expected) in [("mail/1", "owner of mail/1"), ("images", "other")] {
                let result = try await client.performAndWait(onThread: thread, selector: "turn")
                #expect(String(decoding: result, as: UTF8.self) == expected)
            }
            for worker in [owner, other] {
                worker.cancel()
                try await worker.value
            }
        }
    }

    @Test func `is listed with the job that it holds, and a job without one waits`() async throws {
        try await onOwnThread { own in
            let daemon = try TestDaemon(selectors: Self.selectors)
            let client = try await AsyncWorkerClient.connect(to: daemon.address)
            let id = try await client.perform(onThread: "mail/1", selector: "turn")
            while try await client.job(id).waitsFor != "worker turn" {}
            while try daemon.workerctl("thread", "mail/1").text.contains("worker turn") == false {}
            #expect(try daemon.workerctl("job", "\(id)").text.contains("worker turn"))
            let document = try daemon.workerctl("--json", "thread", "mail/1").json()
            #expect(document["waits_for"]?.text == "worker turn")
            #expect(try daemon.workerctl("--json", "workers").json().elements?.isEmpty == true)

            let begun = AsyncStream<UInt64>.makeStream()
            let worker = own.start {
                try await client.serve("turn", as: "turner", owning: "mail/1") { job in
                    begun.continuation.yield(job.id)
                    try await Task.sleep(for: .seconds(3_600))
                    return []
                }
            }
            for await _ in begun.stream { break }
            let listed = try await client.workers()
            #expect(listed.map(\.name) == ["turner"])
            #expect(listed.first?.isConnected == true)
            #expect(listed.first?.processID == ProcessStatistics.processID)
            #expect(listed.first?.selectors == ["turn"])
            #expect(listed.first?.ownThreads == ["mail/1"])
            #expect(listed.first?.jobs == [id])
            #expect(try await client.job(id).waitsFor == nil)
            let shown = try daemon.workerctl("workers").text
            #expect(shown.contains("turner") && shown.contains("connected"), "\(shown)")
            #expect(shown.contains("mail/1  \(id)"), "\(shown)")
            #expect(try daemon.workerctl("thread", "mail/1").text.contains("owner"))
            worker.cancel()
            try await worker.value
        }
    }
}
