// Threads hand over by every way while another thread stops the worker: what was taken either runs,
// or is counted as abandoned.

import Kernel
import RunLoops
import Support
import Synchronization
import Testing
import WorkerThreads

@Suite struct `Handing over while the worker is stopped` {
    /// A way in which closures are handed over.
    enum Way: CaseIterable, Sendable {
        case submit, block, message, command, delayed
    }

    private static let roundCount = 150
    private static let senderCount = 2
    private static let handoverCount = 200

    private final class Performer: Sendable {
        let ran: Counter

        init(_ ran: Counter) { self.ran = ran }

        static let run = Selector<Performer, Int>("run") { target, _ in target.ran.increment() }
    }

    @Test(arguments: Way.allCases, [StopPolicy.finishQueued, .finishCurrent])
    func `nothing that was taken is lost in silence`(way: Way, policy: StopPolicy) throws {
        for _ in 0..<Self.roundCount {
            let worker = try WorkerThread(name: "storm")
            let (ran, taken) = (Counter(), Counter())
            let port = MessagePort<Int> { _ in ran.increment() }
            let buffer = CommandBuffer<Int> { commands in for _ in commands { ran.increment() } }
            port.add(to: worker.runLoop)
            buffer.add(to: worker.runLoop)
            let performer = Performer(ran)
            let handOver: @Sendable (Int) -> Bool = { number in
                switch way {
                case .submit: return (try? worker.post { ran.increment() }) != nil
                case .block: return worker.runLoop.perform { ran.increment() }
                case .message: return port.send(number) == .sent
                case .command:
                    defer { buffer.fire() }
                    return buffer.add(number)
                case .delayed:
                    return
                        (try? worker.perform(
                            Performer.run, on: performer, with: number, afterDelay: .zero)) != nil
                }
            }
            let started = Latch()
            let senders = try (0..<Self.senderCount).map { index in
                try TestThread(name: "sender \(index)") {
                    for number in 0..<Self.handoverCount {
                        if number == 20 { started.open() }
                        if handOver(number) { taken.increment() }
                    }
                    started.open()
                }
            }
            started.wait()
            worker.stop(policy)
            worker.join()
            senders.forEach { $0.join() }
            #expect(ran.count + worker.abandonedCount == taken.count)
            let left = buffer.invalidate().count
            #expect(left == buffer.abandonedCount)
            #expect(way == .message || port.abandonedCount == 0)
            withExtendedLifetime(performer) {}
        }
    }
}
