// Messages between threads: received one by one, in order, held while another mode runs.

import Kernel
import RunLoops
import RunLoopsTesting
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

    @Test(.timeLimit(.minutes(4)))
    func `it refuses once it is invalid, and once its loop's thread has ended`() throws {
        let worker = try WorkerThread(name: "receiver")
        let one = MessagePort<Int> { _ in }
        let two = MessagePort<Int> { _ in }
        one.add(to: worker.runLoop)
        two.add(to: worker.runLoop, mode: "elsewhere")
        try worker.submitAndWait {}
        #expect(two.send(7))
        try worker.submitAndWait { #expect(two.invalidate() == [7]) }
        #expect(!two.send(8))
        worker.stop()
        worker.join()
        #expect(!one.send(1))
    }

    @Test(.timeLimit(.minutes(4)))
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
            try sender.submit { for number in 0..<1_000 { port.send((index, number)) } }
        }
        all.wait()
        #expect(seen.value == Array(repeating: Array(0..<1_000), count: 3))
    }
}
