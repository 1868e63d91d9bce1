// Items that are moved from one thread's loop to another's, out of their own call or another
// item's.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `Items that are moved to another loop` {
    @Test func `an observer that leaves in its own call is told elsewhere when that is over`()
        throws
    {
        let (here, there) = (try RunningLoop(thread: "here"), try RunningLoop(thread: "there"))
        let (moved, told) = (Latch(), Latch())
        let trace = Trace()
        let observer = ThreadRunLoop.Observer(.beforeSources) { observer, _ in
            guard here.loop.isOnThread else { return told.open() }
            here.loop.remove(observer)
            there.loop.add(observer)
            // The second is run in a pass that has begun when it was there.
            for _ in 0..<2 { there.loop.performAndWait {} }
            trace.note("told meanwhile: \(told.isOpen)")
            moved.open()
        }
        here.loop.add(observer)
        moved.wait()
        here.end()
        there.loop.wakeUp()
        told.wait()
        #expect(observer.loop === there.loop)
        there.end()
        #expect(trace.all == ["told meanwhile: false"])
    }

    @Test func `an observer that is told once is so wherever its call moves it to`() throws {
        let (here, there) = (try RunningLoop(thread: "here"), try RunningLoop(thread: "there"))
        let moved = Latch()
        let calls = Counter()
        let observer = ThreadRunLoop.Observer(.beforeSources, repeats: false) { observer, _ in
            calls.increment()
            here.loop.remove(observer)
            there.loop.add(observer)
            there.loop.performAndWait {}
            moved.open()
        }
        here.loop.add(observer)
        moved.wait()
        here.end()
        for _ in 0..<2 { there.loop.performAndWait {} }
        #expect(!observer.isValid && observer.loop == nil)
        there.end()
        #expect(calls.count == 1)
    }

    @Test func `a timer that fires once leaves a loop that ends while another one calls it`() throws
    {
        let (here, there) = (try RunningLoop(thread: "here"), try RunningLoop(thread: "there"))
        let (moved, isToReturn) = (Latch(), Latch())
        let timer = ThreadRunLoop.Timer(after: .zero) { timer in
            here.loop.remove(timer)
            there.loop.performAndWait { there.loop.add(timer) }
            moved.open()
            isToReturn.wait()
        }
        here.loop.add(timer)
        moved.wait()
        #expect(timer.loop === there.loop)
        there.end()
        #expect(timer.loop == nil && !timer.isValid)
        isToReturn.open()
        here.end()
    }

    // Whether an item of a long list is still in it is found out in another way.
    @Test(arguments: [false, true], [0, 20])
    func `a round calls nothing that it has listed and another loop has had since`(
        isLeftThere: Bool, othersCount: Int
    ) throws {
        let trace = Trace()
        let there = try RunningLoop(thread: "there")
        try withScriptedLoop { loop, _ in
            let observer = ThreadRunLoop.Observer(.beforeSources, order: 1) { _, _ in
                trace.note("observer")
            }
            let source = ThreadRunLoop.Source(order: 1) { trace.note("source") }
            let port = ThreadRunLoop.Port(order: 1) { _, _ in trace.note("port") }
            let teller = ThreadRunLoop.Observer(.beforeSources) { _, _ in
                loop.remove(observer)
                there.loop.performAndWait {
                    there.loop.add(observer, to: "unused")
                    if !isLeftThere { there.loop.remove(observer, from: "unused") }
                }
            }
            let movers: [ThreadRunLoop.SignalledItem] = [
                (source as ThreadRunLoop.SignalledItem), port,
            ]
            .map { item in
                let move: @Sendable () -> Void = {
                    loop.remove(item)
                    there.loop.performAndWait {
                        there.loop.add(signalled: item, to: "unused")
                        if !isLeftThere { there.loop.remove(item, from: "unused") }
                    }
                }
                return item is ThreadRunLoop.Source
                    ? ThreadRunLoop.Source(perform: move)
                    : ThreadRunLoop.Port { _, _ in move() }
            }
            for item in [teller, observer] { loop.add(item) }
            for _ in 0..<othersCount {
                loop.add(ThreadRunLoop.Observer(.exit) { _, _ in })
                loop.add(ThreadRunLoop.Source {})
                try loop.add(ThreadRunLoop.Port { _, _ in })
            }
            for item in movers + [source, port] {
                loop.add(signalled: item)
                (item as? ThreadRunLoop.Source)?.signal()
                (item as? ThreadRunLoop.Port)?.signal()
            }
            _ = loop.run(until: .distantPast)
            #expect(source.isSignalled && port.isSignalled)
        }
        there.end()
        #expect(trace.all.isEmpty)
    }

    @Test func `one that moves to another loop as it enters a common mode enters no more of them`()
        throws
    {
        let there = try RunningLoop(thread: "there")
        let isThere = try withScriptedLoop { loop, _ in
            loop.addCommonMode("other")
            let itself = Mutex<ThreadRunLoop.Source?>(nil)
            let source = ThreadRunLoop.Source(schedule: { here, _ in
                guard here === loop, let source = itself.withLock({ $0.take() }) else { return }
                loop.remove(source, from: .common)
                there.loop.performAndWait { there.loop.add(source, to: .common) }
            }) {}
            itself.withLock { $0 = source }
            loop.add(source, to: .common)
            return source.loop === there.loop && !loop.contains(source, in: .common)
        }
        #expect(isThere)
        there.end()
    }

    @Test func `one that moves to another loop while a mode becomes common does not enter that`()
        throws
    {
        let there = try RunningLoop(thread: "there")
        let isThere = try withScriptedLoop { loop, _ in
            let source = ThreadRunLoop.Source {}
            let mover = ThreadRunLoop.Source(schedule: { _, mode in
                guard mode == "other" else { return }
                loop.remove(source, from: .common)
                there.loop.performAndWait { there.loop.add(source, to: .common) }
            }) {}
            loop.add(mover, to: .common)
            loop.add(source, to: .common)
            loop.addCommonMode("other")
            return source.loop === there.loop
        }
        #expect(isThere)
        there.end()
    }

    @Test func `one that the last call of another moves from a loop that ends is not taken along`()
        throws
    {
        let there = try RunningLoop(thread: "there")
        let moved = ThreadRunLoop.Source(order: 1) {}
        try onNewThread {
            let loop = ThreadRunLoop.current
            loop.add(moved)
            loop.add(
                ThreadRunLoop.Source(cancel: { _, _ in
                    loop.remove(moved)
                    there.loop.performAndWait { there.loop.add(moved) }
                }) {})
        }
        #expect(moved.isValid && moved.loop === there.loop)
        there.end()
    }
}
