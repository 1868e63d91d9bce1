// Operations of other threads on a loop's items, and the items' end with the loop's thread.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import Testing

/// A thread with a run loop that runs until it is told to end.
private final class LoopThread: Sendable {
    let loop: ThreadRunLoop
    private let thread: TestThread

    init() throws {
        let box = LoopBox()
        let ready = Latch()
        thread = try TestThread(name: "loop") {
            let loop = ThreadRunLoop.current
            box.loop = loop
            loop.keepAlive()
            ready.open()
            _ = loop.run(mode: .default)
        }
        ready.wait()
        loop = try #require(box.loop)
    }

    /// Stops the loop and waits until the thread is gone with all that was in its loop.
    func end() {
        loop.perform { [loop] in loop.stop() }
        thread.join()
    }
}

@Suite(.timeLimit(.minutes(2)))
struct `Items and other threads` {
    @Test func `a source enters and leaves several modes in the order in which it entered them`()
        throws
    {
        let trace = Trace()
        let modes: [ThreadRunLoop.Mode] = ["C", "A", .default, "B", "D"]
        try withScriptedLoop { loop, _ in
            let source = ThreadRunLoop.Source(
                schedule: { _, mode in trace.note("in \(mode)") },
                cancel: { _, mode in trace.note("out \(mode)") }, perform: {})
            for mode in modes { loop.add(source, to: mode) }
            #expect(source.modes == modes)
            source.invalidate()
        }
        #expect(trace.all == modes.map { "in \($0)" } + modes.map { "out \($0)" })
    }

    @Test func `a source added from another thread is scheduled, and performs once signalled`()
        throws
    {
        let thread = try LoopThread()
        let scheduled = Latch()
        let performed = Latch()
        let source = ThreadRunLoop.Source(
            schedule: { _, _ in scheduled.open() }, perform: { performed.open() })
        while !thread.loop.isWaiting {}
        thread.loop.add(source)
        scheduled.wait()
        source.signal()
        thread.loop.wakeUp()
        performed.wait()
        thread.end()
    }

    @Test func `a timer added from another thread wakes the loop for its date`() throws {
        let thread = try LoopThread()
        let fired = Latch()
        while !thread.loop.isWaiting {}
        thread.loop.add(ThreadRunLoop.Timer(after: .milliseconds(1)) { _ in fired.open() })
        fired.wait()
        thread.end()
    }

    @Test func `an item made invalid from another thread leaves, and wakes the loop for it`() throws
    {
        let thread = try LoopThread()
        let cancelled = Latch()
        let source = ThreadRunLoop.Source(cancel: { _, _ in cancelled.open() }, perform: {})
        thread.loop.add(source)
        while source.loop == nil || !thread.loop.isWaiting {}
        source.invalidate()
        #expect(!source.isValid)
        cancelled.wait()
        while source.loop != nil {}
        #expect(source.modes.isEmpty)
        thread.end()
    }

    @Test
    func `an item has left when its own thread makes it invalid, be that for the second time`()
        throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let source = ThreadRunLoop.Source(
                cancel: { _, mode in trace.note("cancel \(mode)") }, perform: {})
            let port = ThreadRunLoop.Port(watching: 5) { _, _ in }
            for mode in [ThreadRunLoop.Mode.default, "A"] {
                loop.add(source, to: mode)
                try loop.add(port, to: mode)
            }
            try onNewThread {
                source.invalidate()
                port.invalidate()
            }
            // The requests of that thread are yet to be done.
            #expect(source.modes.count == 2 && port.modes.count == 2)
            source.invalidate()
            port.invalidate()
            #expect(source.loop == nil && port.loop == nil)
            // The descriptor may be closed, and be another's.
            try loop.add(ThreadRunLoop.Port(watching: 5) { _, _ in })
        }
        #expect(trace.all == ["cancel default", "cancel A"])
    }

    @Test func `adding and invalidating at the same time leaves nothing behind`() throws {
        let thread = try LoopThread()
        for _ in 0..<500 {
            let timer = ThreadRunLoop.Timer(at: .distantPast, every: .seconds(1)) { _ in }
            thread.loop.add(timer)
            timer.invalidate()
        }
        let arrived = Latch()
        let trace = Trace()
        thread.loop.perform { [loop = thread.loop] in
            trace.note("\(loop.nextTimerFireDate() == nil)")
            arrived.open()
        }
        arrived.wait()
        #expect(trace.all == ["true"])
        while !thread.loop.isWaiting {}
        thread.end()
    }

    @Test func `requests that reach a thread at its end still schedule and cancel`() throws {
        for _ in 0..<50 {
            let thread = try LoopThread()
            let trace = Trace()
            let source = ThreadRunLoop.Source(
                schedule: { _, _ in trace.note("schedule") },
                cancel: { _, _ in trace.note("cancel") }, perform: {})
            thread.loop.perform { [loop = thread.loop] in loop.stop() }
            thread.loop.add(source)
            thread.end()
            #expect(trace.all == ["schedule", "cancel"] || trace.all.isEmpty)
        }
    }

    @Test func `when its thread ends every item is invalid, cancelled and lets go`() throws {
        let trace = Trace()
        let items = try onNewThread { () -> [ThreadRunLoop.Item] in
            let loop = ThreadRunLoop.current
            let token = Trace()
            let source = ThreadRunLoop.Source(
                cancel: { _, mode in trace.note("cancel \(mode)") }, perform: { _ = token })
            loop.add(source)
            loop.add(source, to: "A")
            let timer = ThreadRunLoop.Timer(after: .seconds(900)) { _ in _ = token }
            loop.add(timer, to: .common)
            let observer = ThreadRunLoop.Observer { _, _ in _ = token }
            loop.add(observer)
            let port = ThreadRunLoop.Port { _, _ in _ = token }
            loop.keepAlive("A")
            return [source, timer, observer, port]
        }
        #expect(trace.all.sorted() == ["cancel A", "cancel default"])
        #expect(items.map(\.isValid) == [false, false, false, true])
        #expect(items.allSatisfy { $0.loop == nil && $0.modes.isEmpty })
    }

    @Test func `the last callouts of a thread find its loop, which takes no blocks any more`()
        throws
    {
        let trace = Trace()
        try onNewThread {
            ThreadRunLoop.current.add(
                ThreadRunLoop.Source(
                    cancel: { loop, _ in
                        trace.note("its own: \(ThreadRunLoop.current === loop)")
                        trace.note("takes a block: \(ThreadRunLoop.current.perform {})")
                    }, perform: {}))
        }
        #expect(trace.all == ["its own: true", "takes a block: false"])
    }

    @Test func `what another thread makes invalid while the loop ends is let go of too`() throws {
        let watched = try onNewThread { () -> [WeakTrace] in
            let loop = ThreadRunLoop.current
            let tokens = (0..<3).map { _ in Trace() }
            let items: [ThreadRunLoop.Item] = [
                ThreadRunLoop.Source { [token = tokens[0]] in _ = token },
                ThreadRunLoop.Timer(after: .seconds(900)) { [token = tokens[1]] _ in _ = token },
                ThreadRunLoop.Observer { [token = tokens[2]] _, _ in _ = token },
            ]
            // The first to leave: by then the loop takes no requests any more.
            let first = ThreadRunLoop.Source(
                order: .min,
                cancel: { _, _ in
                    #expect(throws: Never.self) {
                        try onNewThread { for item in items { item.invalidate() } }
                    }
                }, perform: {})
            loop.add(first)
            for case let item as ThreadRunLoop.Source in items { loop.add(item) }
            for case let item as ThreadRunLoop.Timer in items { loop.add(item, to: .common) }
            for case let item as ThreadRunLoop.Observer in items { loop.add(item) }
            return tokens.map { WeakTrace($0) }
        }
        #expect(watched.allSatisfy { $0.trace == nil })
    }

    @Test
    func `what is asked to leave, and made invalid before it does, by an ending loop lets go`()
        throws
    {
        let (source, token) = try onNewThread { () -> (ThreadRunLoop.Source, WeakTrace) in
            let loop = ThreadRunLoop.current
            let token = Trace()
            let source = ThreadRunLoop.Source { _ = token }
            // The loop takes no requests any more when this one leaves.
            let first = ThreadRunLoop.Source(
                cancel: { _, _ in
                    #expect(throws: Never.self) { try onNewThread { source.invalidate() } }
                }, perform: {})
            loop.add(first)
            loop.add(source)
            #expect(throws: Never.self) {
                try onNewThread {
                    loop.remove(first)
                    loop.remove(source)
                }
            }
            return (source, WeakTrace(token))
        }
        #expect(token.trace == nil)
        #expect(!source.isValid)
    }

    @Test func `a timer that is moved to another loop in its own call goes on there`() throws {
        let (here, there) = (try LoopThread(), try LoopThread())
        let isWaiting = Flag()
        let called = Latch()
        let timer = ThreadRunLoop.Timer(after: .zero, every: .seconds(900)) { timer in
            here.loop.remove(timer)
            there.loop.add(timer)
            // It is in that loop, though this call is not over.
            there.loop.performAndWait {
                if there.loop.nextTimerFireDate() == nil { isWaiting.clear() }
            }
            called.open()
        }
        here.loop.add(timer)
        called.wait()
        here.end()
        #expect(isWaiting.isSet)
        #expect(timer.loop === there.loop)
        there.end()
        #expect(!timer.isValid)
    }

    @Test func `what is moved to another loop is not called by the round that has listed it`()
        throws
    {
        let trace = Trace()
        let there = try LoopThread()
        try withScriptedLoop { loop, _ in
            let told = ThreadRunLoop.Observer(.beforeSources, order: 1) { _, _ in
                trace.note("told on its thread: \(there.loop.isOnThread)")
            }
            let performed = ThreadRunLoop.Source(order: 1) {
                trace.note("performed on its thread: \(there.loop.isOnThread)")
            }
            let teller = ThreadRunLoop.Observer(.beforeSources) { _, _ in
                loop.remove(told)
                there.loop.performAndWait { there.loop.add(told, to: "unused") }
            }
            let mover = ThreadRunLoop.Source {
                loop.remove(performed)
                there.loop.performAndWait { there.loop.add(performed, to: "unused") }
            }
            for observer in [teller, told] { loop.add(observer) }
            for source in [mover, performed] {
                loop.add(source)
                source.signal()
            }
            _ = loop.run(until: .distantPast)
            #expect(performed.isSignalled)
        }
        there.end()
        #expect(trace.all.isEmpty)
    }

    @Test func `a timer that leaves its loop in its own call can be put into it again`() throws {
        let thread = try LoopThread()
        let isWaiting = Flag()
        let (called, looked) = (Latch(), Latch())
        let timer = ThreadRunLoop.Timer(after: .zero, every: .seconds(900)) {
            [loop = thread.loop] in
            loop.remove($0)
            called.open()
        }
        thread.loop.add(timer)
        called.wait()
        thread.loop.performAndWait { [loop = thread.loop] in
            loop.add(timer)
            if loop.nextTimerFireDate() == nil { isWaiting.clear() }
            looked.open()
        }
        looked.wait()
        #expect(isWaiting.isSet)
        thread.end()
    }

    @Test func `what a last callout adds while the loop ends is let go of too`() throws {
        let watched = try onNewThread { () -> WeakTrace in
            let loop = ThreadRunLoop.current
            let token = Trace()
            loop.add(
                ThreadRunLoop.Source(
                    cancel: { loop, _ in
                        let heir = ThreadRunLoop.Source { [weak loop] in _ = (token, loop) }
                        heir.signal()
                        // It holds itself until it is invalid.
                        let observer = ThreadRunLoop.Observer { _, _ in _ = (token, heir) }
                        loop.add(heir, to: "late")
                        loop.add(observer, to: "late")
                    }, perform: {}))
            return WeakTrace(token)
        }
        #expect(watched.trace == nil)
    }

    /// Sees a trace go away.
    private final class WeakTrace: @unchecked Sendable {
        // SAFETY: weak references may be read from any thread; it is written only by `init`.
        private(set) weak var trace: Trace?

        init(_ trace: Trace) { self.trace = trace }
    }

    @Test func `a loop whose thread has ended takes nothing, and passes for nobody's`() throws {
        let loop = try onNewThread { ThreadRunLoop.current }
        #expect(!loop.perform {})
        #expect(!loop.isOnThread)
        let source = ThreadRunLoop.Source {}
        loop.add(source)
        #expect(source.loop == nil)
        loop.wakeUp()
        loop.stop()
        // The system gives the ended thread's number to the next one.
        for _ in 0..<4 {
            let passes = try onNewThread { loop.isOnThread }
            #expect(!passes)
        }
    }

    @Test func `an item of one loop cannot be added to another`() async {
        await #expect(processExitsWith: .failure) {
            let source = ThreadRunLoop.Source {}
            ThreadRunLoop.current.add(source)
            try onNewThread { ThreadRunLoop.current.add(source) }
        }
    }

    @Test func `one that its cancel puts back into the common modes is in all of them`() throws {
        let modes = try withScriptedLoop { loop, _ in
            loop.addCommonMode("other")
            let itself = Mutex<ThreadRunLoop.Source?>(nil)
            let source = ThreadRunLoop.Source(cancel: { _, _ in
                guard let source = itself.withLock({ $0.take() }) else { return }
                loop.add(source, to: .common)
            }) {}
            itself.withLock { $0 = source }
            loop.add(source, to: .common)
            loop.remove(source, from: .common)
            return loop.contains(source, in: .common) ? source.modes : []
        }
        #expect(Set(modes) == [.default, "other"])
    }

    @Test func `to take one out of a mode that nobody knows makes no mode`() throws {
        let text = try withScriptedLoop { loop, _ in
            loop.remove(ThreadRunLoop.Source {}, from: "unknown")
            return loop.describe()
        }
        #expect(!text.contains("unknown"))
    }

    @Test func `all modes are those that were run, furnished or made common`() throws {
        let modes = try withScriptedLoop { loop, _ in
            #expect(loop.allModes == [.default])
            loop.add(ThreadRunLoop.Source {}, to: "furnished")
            loop.addCommonMode("common too")
            _ = loop.run(mode: "run", until: .distantPast)
            loop.add(ThreadRunLoop.Observer { _, _ in }, to: .common)
            _ = loop.contains(ThreadRunLoop.Source {}, in: "asked for")
            return loop.allModes
        }
        #expect(modes == [.default, "furnished", "run", "common too"])
    }
}
