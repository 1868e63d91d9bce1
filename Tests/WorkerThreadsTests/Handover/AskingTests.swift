// Messages that want an answer: a waiting sender gets it, or is told why none will come.

import Kernel
import RunLoops
import Support
import RunLoopsTesting
import Testing
import WorkerThreads

private typealias Doubling = MessagePort<Question<Int, Int>>

/// A worker that answers with twice what it is sent.
private func doubler(_ name: String = "doubler") throws -> (WorkerThread, Doubling) {
    let worker = try WorkerThread(name: name)
    let port = Doubling(answering: { 2 * $0 })
    port.add(to: worker.runLoop)
    return (worker, port)
}

/// The error of a port that `body` throws.
private func portError(_ body: () throws -> Void) -> PortError? {
    do {
        try body()
        return nil
    } catch {
        return error as? PortError
    }
}

@Suite struct `Asking through a message port` {
    @Test(.timeLimit(.minutes(2)))
    func `a worker checks in with a port of its own, as Apple's guide shows it`() throws {
        typealias Work = MessagePort<Question<String, String>>
        let trace = Trace()
        try onNewThread {
            let loop = ThreadRunLoop.current
            let worker = try? WorkerThread(name: "worker")
            // The main thread's port for answers, and the one where workers check in.
            let answers = MessagePort<Result<String, PortError>> { answer in
                trace.note("answer: \((try? answer.get()) ?? "none")")
                loop.stop()
            }
            // A port lives as long as it is held: the main thread keeps the worker's.
            let remote = Shared<Work?>(nil)
            let checkIn = MessagePort<Question<Work, Bool>> { message in
                trace.note("check-in \(message.id)")
                remote.set(message.body)
                message.reply.send(true)
                #expect(message.body.send("hello", id: 7, replyTo: answers) == .sent)
            }
            answers.add(to: loop)
            checkIn.add(to: loop)
            _ = try? worker?.post {
                let own = Work { message in
                    let name = WorkerThread.currentName ?? "?"
                    message.reply.send("\(message.body) \(message.id) from \(name)")
                }
                own.add(to: .current)
                let isWelcome = try? checkIn.askAndWait(own, id: 100)
                trace.note("welcome: \(isWelcome ?? false)")
            }
            #expect(loop.run() == .stopped)
            worker?.stop(.finishQueued)
            worker?.join()
        }
        #expect(
            trace.all.filter { !$0.hasPrefix("welcome") } == [
                "check-in 100", "answer: hello 7 from worker",
            ])
        #expect(trace.all.contains("welcome: true"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `a thread and a task wait for the answer`() async throws {
        let (worker, port) = try doubler()
        #expect(try await port.ask(21) == 42)
        #expect(try onNewThread { try? port.askAndWait(4) } == 8)
        let (other, otherPort) = try doubler("other")
        #expect(try await other.submit { try port.askAndWait(5) } == 10)
        #expect(try await worker.submit { try otherPort.askAndWait(6, serving: .default) } == 12)
        #expect(try await port.ask(8, timeout: .seconds(1_000)) == 16)
    }

    @Test(.timeLimit(.minutes(2)))
    func `an answer may be given later, from any thread, and once`() async throws {
        let kept = Shared<ReplyPort<String>?>(nil)
        let worker = try WorkerThread(name: "later")
        let port = MessagePort<Question<Int, String>> { kept.set($0.reply) }
        port.add(to: worker.runLoop)
        let task = Task { try await port.ask(1) }
        while kept.value == nil { await Task.yield() }
        let reply = try #require(kept.value)
        #expect(reply.isWanted)
        #expect(reply.send("first"))
        #expect(!reply.send("second"))
        #expect(!reply.isWanted)
        #expect(try await task.value == "first")
    }

    @Test(.timeLimit(.minutes(2)))
    func `two threads that ask each other both get their answer if each serves its mode`() throws {
        let (one, portOne) = try doubler("one")
        let (two, portTwo) = try doubler("two")
        let wrong = Counter()
        let ends = [Latch(), Latch()]
        for (worker, port, end) in [(one, portTwo, ends[0]), (two, portOne, ends[1])] {
            try worker.post {
                for number in 1...200
                where (try? port.askAndWait(number, serving: .default)) != 2 * number {
                    wrong.increment()
                }
                end.open()
            }
        }
        for end in ends { end.wait() }
        #expect(wrong.count == 0)
    }

    @Test func `an answer that does not come in time is refused when it comes`() throws {
        let kept = Shared<[ReplyPort<Int>]>([])
        let (worker, port) = try keeper(kept)
        try withScriptedLoop { loop, poller in
            let served = Trace()
            loop.add(
                ThreadRunLoop.Timer(at: loop.now.advanced(by: .seconds(2))) { _ in
                    served.note("timer")
                })
            #expect(portError { _ = try port.askAndWait(1, timeout: .seconds(5)) } == .timedOut)
            #expect(poller.manualClock.elapsed == .seconds(5))
            #expect(served.all.isEmpty)
            #expect(
                portError { _ = try port.askAndWait(1, timeout: .seconds(5), serving: .default) }
                    == .timedOut)
            #expect(poller.manualClock.elapsed == .seconds(10))
            #expect(served.all == ["timer"])
        }
        while kept.value.count < 2 { SystemThread.yield() }
        #expect(kept.value.map { $0.send(1) } == [false, false])
        worker.stop()
    }

    @Test(.timeLimit(.minutes(2)))
    func `a message that is let go of without an answer is told so, whoever waits`() async throws {
        let worker = try WorkerThread(name: "silent")
        let port = MessagePort<Question<Int, Int>> { _ in }
        port.add(to: worker.runLoop)
        await #expect(throws: PortError.closed) { try await port.ask(1) }
        #expect(try onNewThread { portError { _ = try port.askAndWait(2) } } == .closed)
        let told = Shared<Result<Int, PortError>?>(nil)
        let answers = MessagePort<Result<Int, PortError>> { told.set($0) }
        answers.add(to: worker.runLoop)
        #expect(port.send(3, replyTo: answers) == .sent)
        while told.value == nil { await Task.yield() }
        #expect(told.value == .failure(.closed))
    }

    @Test(.timeLimit(.minutes(2)))
    func `who waits for a thread that ends is told so, received or not`() async throws {
        let kept = Shared<[ReplyPort<Int>]>([])
        let (worker, port) = try keeper(kept)
        let unheard = MessagePort<Question<Int, Int>> { _ in }
        unheard.add(to: worker.runLoop, mode: "never")
        let waiting = Task { try await unheard.ask(1) }
        let received = Task { try await port.ask(1) }
        while kept.value.isEmpty { await Task.yield() }
        worker.stop()
        worker.join()
        await #expect(throws: PortError.closed) { try await waiting.value }
        kept.set([])
        await #expect(throws: PortError.closed) { try await received.value }
        await #expect(throws: PortError.closed) { try await port.ask(2) }
        #expect(try onNewThread { portError { _ = try port.askAndWait(3) } } == .closed)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a full port says so to who asks`() async throws {
        let port = MessagePort<Question<Int, Int>>(limit: 1, answering: { $0 })
        #expect(port.send(1, replyTo: MessagePort { _ in }) == .sent)
        await #expect(throws: PortError.full(limit: 1)) { try await port.ask(2) }
        #expect(try onNewThread { portError { _ = try port.askAndWait(3) } } == .full(limit: 1))
        let worker = try WorkerThread(name: "late")
        port.add(to: worker.runLoop)
        var answer: Int?
        while answer == nil {
            answer = try? await port.ask(4)
            await Task.yield()
        }
        #expect(answer == 4)
    }

    @Test(.timeLimit(.minutes(2)))
    func `cancelling the task ends its waiting at once`() async throws {
        let kept = Shared<[ReplyPort<Int>]>([])
        let (worker, port) = try keeper(kept)
        let task = Task { try await port.ask(1) }
        while kept.value.isEmpty { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(kept.value.map { $0.isWanted } == [false])
        #expect(kept.value.map { $0.send(1) } == [false])
        worker.stop()
    }

    @Test func `asking one's own thread is refused, unless it serves the port meanwhile`() throws {
        try withScriptedLoop { loop, _ in
            let port = Doubling(answering: { 2 * $0 })
            port.add(to: loop)
            #expect(portError { _ = try port.askAndWait(1) } == .ownThread)
            #expect(portError { _ = try port.askAndWait(1, serving: "other") } == .ownThread)
            #expect((try? port.askAndWait(1, serving: .default)) == 2)
        }
    }

    @Test func `who waits is told when the port is let go of while its thread ends`() throws {
        let trace = Trace()
        try onPlainThread {
            let loop = ThreadRunLoop.current
            let port = Shared<MessagePort<Question<Int, Int>>?>(MessagePort { _ in })
            port.value?.add(to: loop)
            port.value?.send(
                Question(body: 1, reply: ReplyPort { trace.note("\($0 == .failure(.closed))") }))
            // The first to leave: by then the loop takes no requests any more.
            let first = ThreadRunLoop.Source(
                order: .min,
                cancel: { _, _ in
                    #expect(throws: Never.self) { try onPlainThread { port.set(nil) } }
                }, perform: {})
            loop.add(first)
        }
        #expect(trace.all == ["true"])
    }

    @Test func `a stop that comes while a callout waits ends the run around it afterwards`() throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let kept = Shared<[ReplyPort<Int>]>([])
            let port = MessagePort<Question<Int, Int>> { kept.set([$0.reply]) }
            port.add(to: loop, mode: "asked")
            loop.keepAlive()
            loop.perform {
                poller.at(.seconds(1)) { loop.stop() }
                poller.at(.seconds(2)) {
                    trace.note("answered")
                    kept.value.first?.send(5)
                }
                trace.note("got \((try? port.askAndWait(1, serving: "asked")) ?? 0)")
            }
            #expect(loop.run(for: .seconds(9)) == .stopped)
            #expect(poller.manualClock.elapsed == .seconds(2))
        }
        #expect(trace.all == ["answered", "got 5"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `answers, refusals, time limits and cancellations meet: each waiting ends once`()
        async throws
    {
        let worker = try WorkerThread(name: "fickle")
        let kept = Shared<[ReplyPort<Int>]>([])
        let port = MessagePort<Question<Int, Int>> { message in
            switch message.body % 3 {
            case 0: message.reply.send(message.body)
            case 1: break
            default: kept.change { $0.append(message.reply) }
            }
        }
        port.add(to: worker.runLoop)
        let tasks = (0..<300).map { number in
            Task {
                let timeout: Duration? = number % 2 == 0 ? .microseconds(number) : nil
                do {
                    return try await port.ask(number, timeout: timeout) == number
                        ? "right" : "wrong"
                } catch {
                    return "\(error)"
                }
            }
        }
        for task in tasks[200...] { task.cancel() }
        worker.stop(.finishQueued)
        worker.join()
        kept.set([])
        var endings: [String] = []
        for task in tasks { endings.append(await task.value) }
        #expect(endings.count == 300)
        #expect(!endings.contains("wrong"))
    }

    /// A worker that keeps the reply ports of what it is sent.
    private func keeper(
        _ kept: Shared<[ReplyPort<Int>]>
    ) throws -> (WorkerThread, MessagePort<Question<Int, Int>>) {
        let worker = try WorkerThread(name: "keeper")
        let port = MessagePort<Question<Int, Int>> { message in
            kept.change { $0.append(message.reply) }
        }
        port.add(to: worker.runLoop)
        return (worker, port)
    }
}
