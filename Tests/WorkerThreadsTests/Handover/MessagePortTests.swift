// Messages between threads: received one by one, in order, held while another mode runs.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

@Suite struct `Message port` {
    @Test func `a message wakes the loop and is received in the same pass`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let port = MessagePort<String> { trace.note($0) }
            port.add(to: loop)
            loop.observe(trace)
            poller.at(.seconds(1)) {
                port.send("one")
                port.send("two")
            }
            #expect(loop.run(for: .seconds(9), returnAfterSourceHandled: true) == .handledSource)
        }
        #expect(
            trace.all == [
                "entry", "before-timers", "before-sources", "before-waiting", "after-waiting",
                "one",
                "two", "exit",
            ])
    }

    @Test func `it keeps its mode alive, and holds messages while another mode runs`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let port = MessagePort<String> { trace.note($0) }
            port.add(to: loop, mode: "A")
            loop.keepAlive("B")
            poller.whileAsleep { port.send("held") }
            #expect(loop.run(mode: "B", for: .seconds(1)) == .timedOut)
            #expect(trace.all.isEmpty)
            #expect(loop.run(mode: "A", for: .seconds(1)) == .timedOut)
            #expect(trace.all == ["held"])
            port.invalidate()
            #expect(loop.run(mode: "A", for: .seconds(1)) == .finished)
        }
    }

    @Test func `messages received together are one event, and no other one follows`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let port = MessagePort<Int> { trace.note("\($0)") }
            port.add(to: loop)
            for number in 1...3 { port.send(number) }
            let first = loop.run(for: .seconds(1), returnAfterSourceHandled: true)
            #expect(first == .handledSource)
            #expect(trace.all == ["1", "2", "3"])
            #expect(loop.run(for: .seconds(1), returnAfterSourceHandled: true) == .timedOut)
        }
    }

    @Test func `a message sent before the port is in a loop is received`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let port = MessagePort<String> { trace.note($0) }
            port.send("early")
            port.add(to: loop)
            #expect(loop.run(for: .seconds(1), returnAfterSourceHandled: true) == .handledSource)
            #expect(loop.now == Instant(nanoseconds: 0))
        }
        #expect(trace.all == ["early"])
    }

    @Test func `a run nested in the receiver goes on with the messages behind, in order`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let port = MessagePort<Int> { number in
                trace.note("begin \(number)")
                if number == 1 {
                    #expect(loop.run(until: .distantPast) == .timedOut)
                }
                trace.note("end \(number)")
            }
            port.add(to: loop)
            for number in 1...3 { port.send(number) }
            _ = loop.run(until: .distantPast)
        }
        #expect(trace.all == ["begin 1", "begin 2", "end 2", "begin 3", "end 3", "end 1"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `it refuses once it is invalid, and once its loop's thread has ended`() throws {
        let worker = try WorkerThread(name: "receiver")
        let one = MessagePort<Int> { _ in }
        let two = MessagePort<Int> { _ in }
        one.add(to: worker.runLoop)
        two.add(to: worker.runLoop, mode: "elsewhere")
        try worker.submitAndWait {}
        #expect(two.send(7) == .sent)
        try worker.submitAndWait { #expect(two.invalidate() == [7]) }
        #expect(two.send(8) == .closed)
        worker.stop()
        worker.join()
        #expect(one.send(1) == .closed)
    }

    @Test(.timeLimit(.minutes(2)))
    func `messages of many threads all arrive, those of each in order`() throws {
        let worker = try WorkerThread(name: "receiver")
        let seen = Shared<[[Int]]>([[], [], []])
        let all = Latch()
        let port = MessagePort<(Int, Int)> { sender, number in
            seen.change { $0[sender].append(number) }
            if seen.value.reduce(0, { $0 + $1.count }) == 3_000 { all.open() }
        }
        port.add(to: worker.runLoop)
        let senders = try (0..<3).map { try WorkerThread(name: "sender \($0)") }
        for (index, sender) in senders.enumerated() {
            try sender.post { for number in 0..<1_000 { port.send((index, number)) } }
        }
        all.wait()
        #expect(seen.value == Array(repeating: Array(0..<1_000), count: 3))
    }

    @Test(.timeLimit(.minutes(2)))
    func `as many messages wait as the limit says; one more is refused, received ones make room`()
        throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let port = MessagePort<Int>(limit: 2) { trace.note("\($0)") }
            #expect(port.send(1) == .sent)
            #expect(port.send(2) == .sent)
            #expect(port.send(3) == .full)
            port.add(to: loop)
            _ = loop.run(until: .distantPast)
            #expect(port.send(4) == .sent)
            #expect(port.send(5) == .sent)
            #expect(port.send(6) == .full)
            _ = loop.run(until: .distantPast)
            #expect(port.limit == 2)
        }
        #expect(trace.all == ["1", "2", "4", "5"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a full port takes exactly as many as its limit from many senders`() throws {
        let received = Counter()
        let sent = Counter()
        let port = MessagePort<Int>(limit: 100) { _ in received.increment() }
        let senders = try (0..<4).map { _ in
            try TestThread(name: "sender") {
                for number in 0..<100 where port.send(number) == .sent { sent.increment() }
            }
        }
        for sender in senders { sender.join() }
        #expect(sent.count == 100)
        try onNewThread {
            port.add(to: .current)
            _ = ThreadRunLoop.current.run(until: .distantPast)
        }
        #expect(received.count == 100)
    }

    @Test func `made invalid by its receiver, it receives nothing more and hands back the rest`()
        throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let found = Shared<MessagePort<Int>?>(nil)
            let port = MessagePort<Int> { number in
                trace.note("received \(number)")
                found.value?.send(4)
                trace.note("left \(found.value?.invalidate() ?? [])")
            }
            found.set(port)
            port.add(to: loop)
            for number in 1...3 { port.send(number) }
            _ = loop.run(until: .distantPast)
            #expect(!port.isValid)
            #expect(port.send(5) == .closed)
            found.set(nil)
        }
        #expect(trace.all == ["received 1", "left [2, 3, 4]"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `what waits is let go of when the loop's thread ends, or has ended before`() throws {
        let worker = try WorkerThread(name: "ending")
        let port = MessagePort<Token> { _ in }
        var token: Token? = Token()
        let watched = WeakReference(try #require(token))
        port.add(to: worker.runLoop, mode: "never")
        #expect(port.send(try #require(token)) == .sent)
        token = nil
        #expect(watched.object != nil)
        worker.stop()
        worker.join()
        #expect(watched.object == nil)
        let late = MessagePort<Int> { _ in }
        #expect(late.send(1) == .sent)
        late.add(to: worker.runLoop)
        #expect(late.send(2) == .closed)
    }
}
