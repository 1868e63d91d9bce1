// Many threads against one loop, for a bounded number of times: nothing is lost, nothing hangs.

import Glibc
import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `Eight threads against one loop` {
    private static let threadCount = 8
    private static let roundCount = 400

    @Test func `a timer with a delay that all of them add begins once`() throws {
        let running = try RunningLoop(thread: "served")
        let loop = running.loop
        let delay = Duration.seconds(1_000)
        for round in 1...50 {
            let timer = ThreadRunLoop.Timer(after: delay) { _ in }
            let before = loop.now
            let adders = try (0..<Self.threadCount).map { number in
                try TestThread(name: "adder \(number)") {
                    loop.add(timer, to: ThreadRunLoop.Mode("mode \(number)"))
                }
            }
            for adder in adders { adder.join() }
            loop.performAndWait {}
            let range = before.advanced(by: delay)...loop.now.advanced(by: delay)
            #expect(range.contains(timer.fireDate), "round \(round)")
            #expect(timer.modes.count == Self.threadCount)
            timer.invalidate()
        }
        running.end()
    }

    /// With a descriptor in the mode the loop sleeps in epoll, without one on a futex.
    @Test(arguments: [false, true])
    func `every signal, block, stop and item is seen`(sleepsInEpoll: Bool) throws {
        let made = Latch()
        let performs = (0..<Self.threadCount).map { _ in Counter() }
        let (blocks, held, stops, signals, scheduled, cancelled) =
            (Counter(), Counter(), Counter(), Counter(), Counter(), Counter())
        let finished = Counter()
        let box = LoopBox()
        let pipe = try Pipe()
        let readNumber = pipe.readEnd.number
        let runner = try SystemThread(name: "runner") {
            let loop = ThreadRunLoop.current
            box.loop = loop
            loop.keepAlive()
            if sleepsInEpoll {
                try? loop.add(ThreadRunLoop.Port(watching: readNumber) { _, _ in })
            }
            made.open()
            // Each stop ends at most one run; the thread lives on until all have finished.
            while finished.count < Self.threadCount {
                if loop.run(mode: .default) == .stopped { stops.increment() }
                _ = loop.run(mode: "other", until: .distantPast)
            }
            _ = loop.run(until: .distantPast)
            _ = loop.run(mode: "other", until: .distantPast)
        }
        made.wait()
        let loop = try #require(box.loop)
        var senders: [TestThread] = []
        for index in 0..<Self.threadCount {
            senders.append(
                try TestThread(name: "sender \(index)") {
                    let seen = performs[index]
                    let source = ThreadRunLoop.Source { seen.increment() }
                    loop.add(source)
                    let port = ThreadRunLoop.Port { _, _ in signals.increment() }
                    try? loop.add(port)
                    for round in 1...Self.roundCount {
                        // Each signal is seen before the next: a lost one would hang here.
                        source.signal()
                        loop.wakeUp()
                        while seen.count < round { sched_yield() }
                        loop.perform { blocks.increment() }
                        loop.perform(inModes: ["other"]) { held.increment() }
                        port.signal()
                        if round % 16 == 0 { loop.stop() }
                        let brief = ThreadRunLoop.Source(
                            schedule: { _, _ in scheduled.increment() },
                            cancel: { _, _ in cancelled.increment() }, perform: {})
                        loop.add(brief)
                        brief.invalidate()
                    }
                    source.invalidate()
                    finished.increment()
                    loop.perform { loop.stop() }
                })
        }
        for sender in senders { sender.join() }
        runner.join()
        let total = Self.threadCount * Self.roundCount
        #expect(performs.map(\.count) == Array(repeating: Self.roundCount, count: Self.threadCount))
        #expect(blocks.count == total)
        #expect(held.count == total)
        #expect(signals.count > 0 && signals.count <= total)
        #expect(stops.count > 0)
        #expect(scheduled.count == cancelled.count)
        _ = pipe.writeEnd.number
    }

    @Test func `a loop that is asked from many sides while it ends refuses or does all of it`()
        throws
    {
        for _ in 0..<30 {
            let box = LoopBox()
            let made = Latch()
            let runner = try SystemThread(name: "runner") {
                box.loop = ThreadRunLoop.current
                ThreadRunLoop.current.keepAlive()
                made.open()
                _ = ThreadRunLoop.current.run(mode: .default)
            }
            made.wait()
            let loop = try #require(box.loop)
            let (scheduled, cancelled) = (Counter(), Counter())
            var senders: [TestThread] = []
            for index in 0..<4 {
                senders.append(
                    try TestThread(name: "sender \(index)") {
                        for round in 0..<50 {
                            loop.add(
                                ThreadRunLoop.Source(
                                    schedule: { _, _ in scheduled.increment() },
                                    cancel: { _, _ in cancelled.increment() }, perform: {}))
                            if index == 0 && round == 25 { loop.perform { loop.stop() } }
                        }
                    })
            }
            for sender in senders { sender.join() }
            runner.join()
            #expect(scheduled.count == cancelled.count)
        }
    }
}
