// The blocking client against the real daemon.

import Kernel
import Support
import Synchronization
import Testing
import WorkerClient

@Suite(.timeLimit(.minutes(2)))
struct `Blocking client` {
    @Test func `a job's result comes back, of any bytes and of any size`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        #expect(try client.performAndWait(onThread: "images", selector: "echo") == [])
        let every = (0..<70_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(
            try client.performAndWait(onThread: "images", selector: "echo", payload: every) == every
        )
        let large = [UInt8](repeating: 0xFF, count: 5 << 20)
        let result = try client.performAndWait(
            onThread: "mail/2", selector: "echo", payload: large)
        #expect(result == large)
        let shout = try client.performAndWait(
            onThread: "mail", selector: "shout", payload: Array("hello".utf8))
        #expect(String(decoding: shout, as: UTF8.self) == "HELLO")
    }

    @Test func `a job has a number, a description, and a result once it has ended`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        try client.pause("images")
        let options = PerformOptions(priority: .high, timeLimit: .seconds(100))
        let id = try client.perform(
            onThread: "images", selector: "echo", payload: [1, 2, 3], options: options)
        #expect(try client.result(of: id) == nil)
        let early = try client.job(id)
        #expect(early.summary.id == id)
        #expect(early.summary.thread == "images")
        #expect(early.summary.selector == "echo")
        #expect(early.summary.state == .waiting)
        #expect(early.summary.priority == "high")
        #expect(early.payloadByteCount == 3)
        #expect(early.endedAt == nil)
        #expect(early.failure == nil)
        #expect(try client.payload(of: id) == [1, 2, 3])
        let shown = try daemon.workerctl("job", "\(id)", "--payload")
        #expect(shown.output == [1, 2, 3])
        try client.resume("images")
        #expect(try client.result(of: id, wait: .forever) == [1, 2, 3])
        #expect(try client.result(of: id) == [1, 2, 3])
        let late = try client.job(id)
        #expect(late.summary.state == .done)
        #expect(late.worker == "images")
        #expect(word(clientError { _ = try client.payload(of: id) }) == "ERR")
        let ended = try #require(late.endedAt)
        #expect(ended >= late.acceptedAt)
        #expect(try client.jobs(thread: "images", state: .done, limit: 5) == [late.summary])
        #expect(try client.jobs(state: .running).isEmpty)
    }

    @Test func `jobs are listed page by page, and with their failures`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        try client.pause("images")
        let ids = try (0..<3).map { _ in
            try client.perform(
                onThread: "images", selector: "echo", options: PerformOptions(key: [107]))
        }
        let rest = try client.jobs(
            limit: 1, where: JobConditions(before: ids[2], selector: "echo", key: [107]))
        #expect(rest.map(\.id) == [ids[1]])
        let oldest = try client.jobs(
            limit: 1, where: JobConditions(key: [107], oldestFirst: true, after: ids[0]))
        #expect(oldest.map(\.id) == [ids[1]])
        let page = try daemon.workerctl(
            "jobs", "--oldest", "--limit", "1", "--after", "\(ids[1])", "--json")
        #expect(page.text.contains("\"id\":\(ids[2])"), "\(page.text)")
        #expect(try client.jobs(where: JobConditions(olderThan: .seconds(3_600))).isEmpty)
        let failed = clientError {
            _ = try client.performAndWait(
                onThread: "mail", selector: "fail", payload: Array("why".utf8))
        }
        #expect(word(failed) == "FAILED")
        let row = try client.jobs(
            state: .failed, where: JobConditions(newerThan: .seconds(60), withFailures: true))
        #expect(row.first?.failure == "why")
        #expect(row.first?.endedAt != nil)
        let shown = try daemon.workerctl(
            "jobs", "--failures", "--selector", "fail", "--newer", "1h")
        #expect(shown.text.contains("ENDED") && shown.text.contains("why"), "\(shown.text)")
        let second = try daemon.workerctl(
            "jobs", "--key", "k", "--before", "\(ids[1])", "--json")
        #expect(second.text.contains("\"id\":\(ids[0]),"), "\(second.text)")
    }

    @Test func `a job under a unique name is told from an earlier one`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        let name = Array("order-17".utf8)
        let first = try client.performOnce(
            as: name, onThread: "images", selector: "echo", payload: [1])
        #expect(first.isNew)
        let second = try client.performOnce(
            as: name, onThread: "images", selector: "echo", payload: [1])
        #expect(second == UniqueJob(id: first.id, isNew: false))
        let conflict = clientError {
            _ = try client.performOnce(
                as: name, onThread: "images", selector: "echo", payload: [2])
        }
        #expect(word(conflict) == "CONFLICT")
        #expect(try client.result(of: first.id, wait: .forever) == [1])
        let again = PerformOptions(
            uniqueRule: PerformOptions.UniqueRule(againWhenEnded: true, holds: .seconds(60)))
        let third = try client.performOnce(
            as: name, onThread: "images", selector: "echo", payload: [3], options: again)
        #expect(third.isNew)
        let told = try daemon.workerctl(
            "perform", "images", "echo", "paid", "--unique", "u", "--tell", "--for", "1h")
        #expect(told.text == "\(third.id + 1) new\n")
        let known = try daemon.workerctl(
            "--json", "perform", "images", "echo", "paid", "--unique", "u", "--tell", "--again")
        #expect(known.text.hasPrefix("{\"id\":"), "\(known.text)")
        let alone = try daemon.workerctl("perform", "images", "echo", "paid", "--again")
        #expect(alone.status == 64)
    }

    @Test func `what the daemon refuses is an error with its word`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        func error(_ body: () throws -> Void) -> String? { word(clientError(body)) }
        #expect(error { _ = try client.perform(onThread: "no", selector: "echo") } == "NOTHREAD")
        #expect(
            error { _ = try client.perform(onThread: "images", selector: "no") } == "NOSELECTOR")
        #expect(error { _ = try client.job(9_999) } == "NOJOB")
        #expect(error { _ = try client.job(.max) } == "NOJOB")
        #expect(error { try client.pause("nobody") } == "NOTHREAD")
        let failed = #expect(throws: WorkerClientError.self) {
            try client.performAndWait(
                onThread: "images", selector: "fail", payload: Array("boom".utf8))
        }
        #expect(failed == .daemon(word: "FAILED", message: "job 1: boom"))
        try client.pause("mail")
        for _ in 0..<2 { _ = try client.perform(onThread: "mail", selector: "echo") }
        #expect(error { _ = try client.perform(onThread: "mail", selector: "echo") } == "BUSY")
        #expect(
            error {
                _ = try client.performAndWait(
                    onThread: "images", selector: "sleep", payload: Array("3600000".utf8),
                    wait: .atMost(.milliseconds(1)))
            } == "TIMEOUT")
        try client.ping()
    }

    @Test func `jobs are cancelled by number, and by thread, selector and payload`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        let later = PerformOptions(schedule: .after(.seconds(3_600)))
        func delayed(_ payload: UInt8) throws -> UInt64 {
            try client.perform(
                onThread: "images", selector: "echo", payload: [payload], options: later)
        }
        let first = try delayed(1)
        for payload in [2, 2, 3, 3, 3] as [UInt8] { _ = try delayed(payload) }
        #expect(try client.job(first).summary.state == .delayed)
        #expect(try client.cancel(first) == .cancelled)
        #expect(try client.cancel(first) == .tooLate)
        #expect(try client.job(first).summary.state == .cancelled)
        #expect(try client.cancel(onThread: "images", selector: "echo", payload: [2]) == 2)
        #expect(try client.cancel(onThread: "images", selector: "fail") == 0)
        #expect(try client.cancel(onThread: "images", selector: "echo") == 3)
        let due = WallClock.unixMilliseconds() + 3_600_000
        let id = try client.perform(
            onThread: "images", selector: "echo",
            options: PerformOptions(schedule: .at(unixMilliseconds: due)))
        #expect(try client.job(id).dueAt == due)
    }

    @Test func `what was buffered is performed once it is fired`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        let ids = try [7, 8].map {
            try client.buffer(onThread: "images", selector: "echo", payload: [$0])
        }
        #expect(try client.jobs(state: .buffered).map(\.id) == ids.reversed())
        #expect(try client.fire("images") == 2)
        #expect(try client.result(of: ids[1], wait: .forever) == [8])
        #expect(try client.result(of: ids[0]) == [7])
        #expect(try client.fire("images") == 0)
    }

    @Test func `threads, pools and selectors are described`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        #expect(try client.threads().map(\.name) == ["images", "mail/1", "mail/2"])
        try client.pause("mail/1")
        #expect(try client.threads().map(\.state) == ["idle", "paused", "idle"])
        guard case .thread(let member) = try client.thread("mail/1") else {
            Issue.record("mail/1 is a thread")
            return
        }
        #expect(member.pool == "mail")
        #expect(member.maxQueued == 2)
        #expect(member.jobID == nil)
        guard case .pool(let pool) = try client.thread("mail") else {
            Issue.record("mail is a pool")
            return
        }
        #expect(pool.members == ["mail/1", "mail/2"])
        let selectors = try client.selectors()
        #expect(selectors.map(\.name) == ["echo", "fail", "sha256", "shout", "sleep"])
        #expect(selectors[3].handler == "/usr/bin/tr a-z A-Z")
        #expect(try client.info("jobs").contains("total_jobs_accepted:0\r\n"))
        #expect(try client.info().contains("# Server\r\n"))
        try client.stop("images")
        let refused = clientError {
            _ = try client.perform(onThread: "images", selector: "echo")
        }
        #expect(word(refused) == "NOTHREAD")
    }

    @Test func `any command can be sent as it is`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        #expect(try client.command(["PING"]) == .status("PONG"))
        #expect(try client.command(["ECHO", .bytes([0, 255])]) == .bytes([0, 255]))
    }

    @Test func `a shutdown is waited for, and then nobody is there`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        try client.shutdown()
        #expect(try daemon.end() == "exit status 0")
        let error = try #require(
            clientError { _ = try WorkerClient(daemon.address) })
        guard case .notConnected(let address, _, let advice) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(address == daemon.socket)
        #expect(advice.contains("workerd --config"))
        #expect("\(error)".contains(daemon.socket))
    }

    @Test func `after a daemon was replaced the client goes on with the new one`() throws {
        let daemon = try TestDaemon()
        var options = ClientOptions()
        options.idleBeforeLook = .zero
        let client = try WorkerClient(daemon.address, options: options)
        try client.ping()
        try daemon.kill()
        let next = try TestDaemon(in: daemon.scratch)
        try client.ping()
        #expect(try client.info("jobs").contains("total_jobs_accepted:0"))
        try next.kill()
    }

    @Test func `a port asks for the password`() throws {
        let scratch = try Scratch()
        let file = try scratch.write(Array("hunter2\n".utf8), to: "password")
        let free = try freePort(at: "127.0.0.1").description
        let daemon = try TestDaemon(
            listen: "tcp: \"\(free)\", passwordFile: \"\(file)\"", in: scratch)
        let client = try WorkerClient(.tcp(free, password: "hunter2"))
        let result = try client.performAndWait(onThread: "images", selector: "echo", payload: [5])
        #expect(result == [5])
        let port = free.split(separator: ":").last ?? ""
        try WorkerClient(.tcp("localhost:\(port)", password: "hunter2")).ping()
        let wrong = clientError {
            _ = try WorkerClient(.tcp(free, password: "hunter3"))
        }
        #expect(word(wrong) == "WRONGPASS")
        let none = clientError {
            _ = try WorkerClient(.tcp(free, password: nil))
        }
        #expect(word(none) == "NOAUTH")
        try daemon.kill()
    }

    @Test func `an address that is none is told from one where nobody is`() throws {
        for text in ["nowhere", "example.org:1", "127.0.0.1:99999", "::1:7"] {
            let error = clientError {
                _ = try WorkerClient(.tcp(text, password: ""))
            }
            guard case .notConnected(text, _, "is the address right?") = error else {
                Issue.record("\(text): \(String(describing: error))")
                continue
            }
        }
        let long = "/" + String(repeating: "x", count: 108)
        let error = clientError {
            _ = try WorkerClient(.unix(long))
        }
        #expect("\(try #require(error))".contains("at most 107 bytes"))
    }

    @Test func `threads that share a client get their own results`() throws {
        let daemon = try TestDaemon()
        let client = try WorkerClient(daemon.address)
        let wrongCount = Atomic<Int>(0)
        try withThreads(4) { index in
            for turn in 0..<25 {
                let payload = [UInt8(index), UInt8(turn)]
                let result = try? client.performAndWait(
                    onThread: "images", selector: "echo", payload: payload)
                if result != payload { wrongCount.add(1, ordering: .relaxed) }
            }
        }
        #expect(wrongCount.load(ordering: .relaxed) == 0)
    }

    /// Runs `body` on so many threads and waits for all of them.
    private func withThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
        if count == 0 { return }
        let thread = try SystemThread(name: "client-\(count)") { body(count) }
        try withThreads(count - 1, body)
        thread.join()
    }
}
