// The messages of a port as an asynchronous sequence.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

@Suite(.timeLimit(.minutes(2))) struct `The messages of a port` {
    @Test func `come to a task in order, and end with the port`() async throws {
        let worker = try WorkerThread(name: "port")
        let (port, messages) = MessagePort.makeStream(of: Int.self)
        port.add(to: worker.runLoop)
        let sender = try WorkerThread(name: "sender")
        try sender.post { for number in 0..<1_000 { port.send(number) } }
        var seen: [Int] = []
        for await message in messages {
            seen.append(message)
            if message == 999 { break }
        }
        #expect(seen == Array(0..<1_000))
        let next = Task { await messages.next() }
        port.send(1_000)
        #expect(await next.value == 1_000)
        _ = try await worker.submit { port.invalidate() }
        #expect(await messages.next() == nil)
        #expect(port.send(1) == .closed)
    }

    @Test func `count for the port's limit until a task takes them`() async throws {
        let worker = try WorkerThread(name: "port")
        let (port, messages) = MessagePort.makeStream(of: Int.self, limit: 2)
        port.add(to: worker.runLoop)
        #expect((1...3).map { port.send($0) } == [.sent, .sent, .full])
        try worker.settle()
        #expect(port.send(3) == .full)
        #expect(await messages.next() == 1)
        #expect(port.send(4) == .sent)
        #expect(await messages.next() == 2)
        #expect(await messages.next() == 4)
    }

    @Test func `are not lost to a task that is cancelled`() async throws {
        let worker = try WorkerThread(name: "port")
        let (port, messages) = MessagePort.makeStream(of: Int.self)
        port.add(to: worker.runLoop)
        for round in 0..<200 {
            let task = Task { await messages.next() }
            if round % 2 == 0 { await Task.yield() }
            port.send(round)
            task.cancel()
            // Either the cancelled task has got it, or it is there for the next one.
            let got = await task.value
            if got == nil { #expect(await messages.next() == round) } else { #expect(got == round) }
        }
    }

    @Test func `that wait when the loop ends are counted, and the sequence ends`() async throws {
        let worker = try WorkerThread(name: "port")
        let (port, messages) = MessagePort.makeStream(of: Int.self)
        port.add(to: worker.runLoop)
        port.send(1)
        port.send(2)
        #expect(await messages.next() == 1)
        worker.stop()
        try await worker.ended()
        #expect(await messages.next() == nil)
        #expect(port.abandonedCount == 1)
        #expect(worker.abandonedCount == 1)
    }
}
