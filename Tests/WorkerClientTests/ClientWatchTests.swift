// Watching jobs with the clients.

import Kernel
import Support
import Testing
import WorkerClient

@Suite struct `Watching with a client` {
    @Test(.timeLimit(.minutes(2)))
    func `ends with the job's end`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        let other = try WorkerClient(daemon.address)
        let id = try client.buffer(onThread: "images", selector: "echo")
        var states: [JobSummary.State] = []
        try client.observe(id) { news in
            states.append(news.state)
            // Not before it was seen to wait.
            if states.count == 1 { #expect((try? other.fire("images")) == 1) }
            return true
        }
        #expect(states.first == .buffered)
        #expect(states.last == .done)
        try client.observe(id) { news in
            #expect(news.isFinal)
            #expect(news.attempt == 1)
            return true
        }
        let error = #expect(throws: WorkerClientError.self) { try client.observe(77) { _ in true } }
        guard case .daemon("NOJOB", _) = error else {
            Issue.record("\(error as Any)")
            return
        }
        let printed = try daemon.workerctl("observe", "\(id)")
        #expect(printed.text == "done\n")
        let document = try daemon.workerctl("--json", "observe", "\(id)").json()
        #expect(document["state"]?.text == "done")
    }

    @Test(.timeLimit(.minutes(2)))
    func `sleeps beside a command that waits, and close ends both`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        let id = try client.perform(
            onThread: "images", selector: "echo",
            options: PerformOptions(schedule: .after(.seconds(3_600))))
        let isWatched = Latch()
        let closed = WorkerClientError.closed("the client was closed")
        let watcher = try TestThread(name: "watcher") {
            let error = clientError {
                try client.observe(id) { _ in
                    isWatched.open()
                    return true
                }
            }
            #expect(error == closed)
        }
        isWatched.wait()
        let waiter = try TestThread(name: "waiter") {
            #expect(clientError { _ = try client.result(of: id, wait: .forever) } == closed)
        }
        // A thread that is woken in vain looks around and sleeps again: some look would find it
        // awake.
        while client.sleepingThreadCount < 2 {}
        let restlessCount = (0..<100_000).count { _ in client.sleepingThreadCount != 2 }
        #expect(restlessCount == 0)
        client.close()
        watcher.join()
        waiter.join()
        #expect(client.sleepingThreadCount == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `is a sequence for tasks`() async throws {
        let daemon = try TestDaemon()
        let client = try await AsyncWorkerClient.connect(to: daemon.address)
        let options = PerformOptions(schedule: .after(.milliseconds(100)))
        let id = try await client.perform(
            onThread: "images", selector: "echo", options: options)
        var last: JobNews?
        for try await news in client.observe(id) { last = news }
        #expect(last?.state == .done)
        await #expect(throws: WorkerClientError.self) {
            for try await _ in client.observe(77) {}
        }
        // Two watch, one leaves, the other is still told.
        let later = try await client.perform(
            onThread: "images", selector: "echo",
            options: PerformOptions(schedule: .after(.seconds(3_600))))
        var stays = client.observe(later).makeAsyncIterator()
        #expect(try await stays.next()?.state == .delayed)
        for try await news in client.observe(later) {
            #expect(news.state == .delayed)
            break
        }
        #expect(try await client.cancel(later) == .cancelled)
        var end: JobNews?
        while let news = try await stays.next() { end = news }
        #expect(end?.state == .cancelled)
    }

    @Test(.timeLimit(.minutes(2)))
    func `ends when the client does`() async throws {
        let daemon = try TestDaemon()
        let client = try await AsyncWorkerClient.connect(to: daemon.address)
        let id = try await client.perform(
            onThread: "images", selector: "echo",
            options: PerformOptions(schedule: .after(.seconds(3_600))))
        var news = client.observe(id).makeAsyncIterator()
        #expect(try await news.next()?.state == .delayed)
        client.close()
        await #expect(throws: WorkerClientError.self) {
            while try await news.next() != nil {}
        }
    }
}
