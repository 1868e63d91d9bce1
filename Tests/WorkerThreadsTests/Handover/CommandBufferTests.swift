// A custom source with a buffer: collected without disturbing the thread, performed together.

import Kernel
import RunLoops
import RunLoopsTesting
import Testing
import WorkerThreads

@Suite struct `Command buffer` {
    @Test func `row 22: nothing before the firing, then all of it, in order, once`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let buffer = CommandBuffer<Int> { trace.note("perform \($0)") }
            loop.keepAlive()
            buffer.add(to: loop)
            poller.at(.seconds(1)) {
                for number in 1...3 { buffer.add(number) }
                loop.wakeUp()
            }
            poller.at(.seconds(2)) {
                trace.note("fire")
                buffer.add(4)
                for _ in 0..<5 { buffer.fire() }
            }
            poller.at(.seconds(3)) { buffer.fire() }
            #expect(loop.run(for: .seconds(5)) == .timedOut)
            #expect(buffer.isEmpty)
        }
        #expect(trace.all == ["fire", "perform [1, 2, 3, 4]"])
    }

    @Test func `row 23: a registered client learns of each mode entered and left`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let buffer = CommandBuffer<Int> { _ in }
            buffer.registerClient(
                scheduled: { _, to, mode in trace.note("in \(mode) \(to === loop)") },
                cancelled: { _, from, mode in trace.note("out \(mode) \(from === loop)") })
            buffer.add(to: loop)
            buffer.add(to: loop, mode: "A")
            buffer.add(to: loop, mode: "A")
            buffer.invalidate()
        }
        #expect(
            trace.all.sorted() == [
                "in A true", "in default true", "out A true", "out default true",
            ])
        #expect(trace.all.first == "in default true")
    }

    @Test func `row 23: a client that registers late learns where the buffer is, once`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let buffer = CommandBuffer<Int> { _ in }
            buffer.add(to: loop)
            buffer.add(to: loop, mode: "A")
            buffer.registerClient(
                scheduled: { _, to, mode in trace.note("in \(mode) \(to === loop)") },
                cancelled: { _, from, mode in trace.note("out \(mode) \(from === loop)") })
            trace.note("registered")
            buffer.add(to: loop, mode: "B")
            buffer.invalidate()
        }
        let modes = ["A", "B", "default"]
        #expect(trace.all.prefix(2).sorted() == ["in A true", "in default true"])
        #expect(trace.all.dropFirst(2).prefix(2) == ["registered", "in B true"])
        #expect(trace.all.dropFirst(4).sorted() == modes.map { "out \($0) true" })
    }

    @Test(.timeLimit(.minutes(2)))
    func `row 23: a client of another thread is told on the loop's thread`() throws {
        let worker = try WorkerThread(name: "loop")
        let trace = Trace()
        let buffer = CommandBuffer<Int> { _ in }
        buffer.add(to: worker.runLoop)
        try worker.submitAndWait {}
        buffer.registerClient(
            scheduled: { _, loop, mode in trace.note("in \(mode) \(loop.isOnThread)") },
            cancelled: { _, _, mode in trace.note("out \(mode)") })
        worker.stop()
        worker.join()
        #expect(trace.all == ["in default true", "out default"])
    }

    @Test func `row 23: a client that is unregistered learns of nothing more`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let buffer = CommandBuffer<Int> { _ in }
            let clients = (1...2).map { number in
                buffer.registerClient(
                    scheduled: { _, _, mode in trace.note("\(number) in \(mode)") },
                    cancelled: { _, _, mode in trace.note("\(number) out \(mode)") })
            }
            buffer.add(to: loop)
            #expect(buffer.unregisterClient(clients[0]))
            #expect(!buffer.unregisterClient(clients[0]))
            buffer.add(to: loop, mode: "A")
            buffer.invalidate()
        }
        #expect(trace.all.prefix(3) == ["1 in default", "2 in default", "2 in A"])
        #expect(trace.all.dropFirst(3).sorted() == ["2 out A", "2 out default"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `row 23: a client learns when the loop's thread ends, and the buffer then refuses`() throws
    {
        let worker = try WorkerThread(name: "loop")
        let trace = Trace()
        let buffer = CommandBuffer<Int> { trace.note("\($0)") }
        buffer.registerClient(
            scheduled: { _, _, mode in trace.note("in \(mode)") },
            cancelled: { _, _, mode in trace.note("out \(mode)") })
        buffer.add(to: worker.runLoop)
        #expect(buffer.add(1))
        worker.stop()
        worker.join()
        #expect(trace.all == ["in default", "out default"])
        #expect(!buffer.add(2))
        #expect(buffer.invalidate() == [1])
    }

    @Test(.timeLimit(.minutes(2)))
    func `commands of many threads all arrive, those of each in order`() throws {
        let worker = try WorkerThread(name: "loop")
        let seen = Shared<[[Int]]>([[], [], []])
        let buffer = CommandBuffer<(Int, Int)> { commands in
            seen.change { for (sender, number) in commands { $0[sender].append(number) } }
        }
        buffer.add(to: worker.runLoop)
        let senders = try (0..<3).map { try WorkerThread(name: "sender \($0)") }
        for (index, sender) in senders.enumerated() {
            try sender.post {
                for number in 0..<1_000 {
                    buffer.add((index, number))
                    if number % 7 == 0 { buffer.fire() }
                }
                buffer.fire()
            }
        }
        for sender in senders {
            sender.stop(.finishQueued)
            sender.join()
        }
        while !buffer.isEmpty {}
        try worker.submitAndWait {}
        #expect(seen.value == Array(repeating: Array(0..<1_000), count: 3))
    }

    @Test func `as many wait as the limit says, one more is refused, and room comes back`() throws {
        let batches = try withScriptedLoop { loop, _ in
            let trace = Trace()
            let buffer = CommandBuffer<Int>(limit: 2) { trace.note("\($0)") }
            buffer.add(to: loop)
            for _ in 0..<2 {
                trace.note("\((1...3).map { buffer.add($0) })")
                buffer.fire()
                _ = loop.run(until: .distantPast)
            }
            return trace.all
        }
        let round = ["[true, true, false]", "[1, 2]"]
        #expect(batches == round + round)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a loop whose thread has ended takes no buffer, and the buffer no command`() throws {
        let worker = try WorkerThread(name: "gone")
        worker.stop()
        worker.join()
        let buffer = CommandBuffer<Int> { _ in }
        buffer.add(1)
        buffer.add(to: worker.runLoop)
        #expect(buffer.add(2) == false)
        #expect(buffer.invalidate() == [1])
    }

    @Test func `an invalidated buffer gives back what nobody performed, and refuses`() throws {
        try withScriptedLoop { loop, _ in
            let buffer = CommandBuffer<Int> { _ in }
            buffer.add(to: loop)
            buffer.add(1)
            buffer.add(2)
            #expect(buffer.invalidate() == [1, 2])
            #expect(!buffer.add(3))
            #expect(buffer.invalidate() == [])
        }
    }

    @Test func `commands fired from inside a perform make another one, nested or not`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let reach = Shared<CommandBuffer<Int>?>(nil)
            let buffer = CommandBuffer<Int> { commands in
                trace.note("begin \(commands)")
                if commands == [1] {
                    reach.value?.add(2)
                    reach.value?.fire()
                    _ = loop.run(until: .distantPast)
                }
                trace.note("end \(commands)")
            }
            reach.set(buffer)
            buffer.add(to: loop)
            buffer.add(1)
            buffer.fire()
            _ = loop.run(until: .distantPast)
            reach.set(nil)
        }
        #expect(trace.all == ["begin [1]", "begin [2]", "end [2]", "end [1]"])
    }

    @Test func `a buffer that is let go of leaves its loop`() throws {
        try withScriptedLoop { loop, _ in
            var buffer: CommandBuffer<Int>? = CommandBuffer { _ in }
            buffer?.add(to: loop)
            #expect(loop.run(until: .distantPast) == .timedOut)
            buffer = nil
            #expect(loop.run(until: .distantPast) == .finished)
        }
    }
}
