// Ports on descriptors, with the real kernel and with a scripted one.

import Glibc
import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import Testing

/// Runs `body` on a new thread whose run loop sleeps in the real kernel.
private func withSystemLoop<Result: Sendable>(
    _ body: @escaping @Sendable (ThreadRunLoop) throws -> Result
) throws -> Result {
    try onNewThread { Swift.Result { try body(ThreadRunLoop.current) } }.get()
}

@Suite(.timeLimit(.minutes(2)))
struct `Port on a descriptor` {
    @Test func `what it is ready for reads as words`() {
        #expect("\(Readiness([.writable, .readable, .closed]))" == "readable+writable+closed")
        #expect("\(Readiness.closed)" == "closed")
        #expect("\(Readiness([]))" == "nothing")
    }

    @Test func `it wakes the loop and is handled in the same pass`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            add(scripted(5, "five", trace), to: loop)
            loop.observe(trace)
            poller.at(.seconds(1)) { poller.setReady(5, .readable) }
            #expect(loop.run(for: .seconds(9), returnAfterSourceHandled: true) == .handledSource)
        }
        #expect(
            trace.all == [
                "entry", "before-timers", "before-sources", "before-waiting", "after-waiting",
                "five 1", "exit",
            ])
    }

    @Test func `ready before the loop would sleep, it keeps the loop from sleeping`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            add(scripted(5, "five", trace), to: loop)
            loop.observe(trace)
            poller.setReady(5, .readable)
            #expect(loop.run(for: .seconds(9), returnAfterSourceHandled: true) == .handledSource)
        }
        #expect(trace.all == ["entry", "before-timers", "before-sources", "five 1", "exit"])
    }

    @Test func `it is handled in each pass for as long as it is ready`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let port = scripted(5, "five", trace) { _ in
                if trace.all.count == 3 { poller.setReady(5, []) }
            }
            add(port, to: loop)
            poller.setReady(5, .readable)
            #expect(loop.run(for: .seconds(9)) == .timedOut)
        }
        #expect(trace.all == ["five 1", "five 1", "five 1"])
    }

    @Test func `an event is held while another mode runs`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            add(scripted(5, "five", trace), to: loop, mode: "A")
            loop.keepAlive("B")
            poller.setReady(5, .readable)
            #expect(loop.run(mode: "B", for: .seconds(1)) == .timedOut)
            #expect(trace.all.isEmpty)
            let result = loop.run(mode: "A", for: .seconds(1), returnAfterSourceHandled: true)
            #expect(result == .handledSource)
        }
        #expect(trace.all == ["five 1"])
    }

    @Test func `a reader is told of an end of file, and a writer that nobody reads`() throws {
        let trace = Trace()
        try withSystemLoop { loop in
            var ends: [CInt] = [-1, -1]
            for hangsUp in [1, 0] {
                try #require(unsafe pipe(&ends) == 0)
                let port = ThreadRunLoop.Port(
                    watching: ends[1 - hangsUp], for: hangsUp == 1 ? .readable : .writable
                ) { _, readiness in trace.note("\(readiness)") }
                try loop.add(port)
                #expect(close(ends[hangsUp]) == 0)
                _ = loop.run(until: .distantPast)
                port.invalidate()
                #expect(close(ends[1 - hangsUp]) == 0)
            }
        }
        #expect(trace.all == ["readable+closed", "writable+closed"])
    }

    @Test func `smaller orders come first, be they signalled or the kernel's`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let signalled = [3, 1].map { order in
                ThreadRunLoop.Port(order: order) { _, _ in trace.note("signalled \(order)") }
            }
            for port in signalled { add(port, to: loop) }
            for (descriptor, order) in [(5, 2), (6, 0), (7, 4), (8, 3)] as [(CInt, Int)] {
                add(scripted(descriptor, "kernel's \(order)", trace, order: order), to: loop)
                poller.setReady(descriptor, .readable)
            }
            for port in signalled { port.signal() }
            _ = loop.run(until: .distantPast)
        }
        #expect(
            trace.all == [
                "kernel's 0 1", "signalled 1", "kernel's 2 1", "signalled 3", "kernel's 3 1",
                "kernel's 4 1",
            ])
    }

    @Test func `a signalled one that a port before it took out of the mode keeps its signal`()
        throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let held = ThreadRunLoop.Port(order: 1) { _, _ in
                trace.note("held, in \(loop.currentMode.map { "\($0)" } ?? "no mode")")
            }
            let first = ThreadRunLoop.Port { _, _ in
                trace.note("first")
                loop.remove(held)
            }
            for port in [first, held] { add(port, to: loop) }
            add(held, to: loop, mode: "other")
            first.signal()
            held.signal()
            _ = loop.run(until: .distantPast)
            #expect(held.isSignalled)
            _ = loop.run(mode: "other", until: .distantPast)
        }
        #expect(trace.all == ["first", "held, in other"])
    }

    @Test func `smaller orders come first, whatever the kernel's sequence`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            for (descriptor, order) in [(5, 2), (6, 0), (7, 1)] as [(CInt, Int)] {
                add(scripted(descriptor, "order", trace, order: order), to: loop)
                poller.setReady(descriptor, [.readable, .closed])
            }
            add(scripted(8, "last", trace, order: 3), to: loop)
            poller.setReady(8, .readable)
            _ = loop.run(until: .distantPast)
        }
        #expect(trace.all == ["order 5", "order 5", "order 5", "last 1"])
    }

    @Test func `a run that returns after a source handles one port, the next run the next`() throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            for descriptor: CInt in [5, 6] {
                let port = scripted(descriptor, "\(descriptor)", trace) { _ in
                    poller.setReady(descriptor, [])
                }
                add(port, to: loop)
                poller.setReady(descriptor, .readable)
            }
            for _ in 0..<2 {
                let result = loop.run(for: .seconds(1), returnAfterSourceHandled: true)
                #expect(result == .handledSource)
                trace.note("returned")
            }
        }
        #expect(trace.all == ["5 1", "returned", "6 1", "returned"])
    }

    @Test func `runs that return after a source take turns at ports that are always ready`() throws
    {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            for (descriptor, order) in [(5, 0), (6, 0), (7, 1)] as [(CInt, Int)] {
                add(scripted(descriptor, "\(descriptor)", trace, order: order), to: loop)
                poller.setReady(descriptor, .readable)
            }
            let signalled = ThreadRunLoop.Port { port, _ in
                trace.note("signalled")
                port.signal()
            }
            add(signalled, to: loop)
            signalled.signal()
            for _ in 0..<6 {
                let result = loop.run(for: .seconds(1), returnAfterSourceHandled: true)
                #expect(result == .handledSource)
            }
        }
        let round = ["signalled", "5 1", "6 1"]
        #expect(trace.all == round + round)
    }

    @Test func `one that an earlier callout made invalid or uninterested is not called`() throws {
        for change in 0..<3 {
            let trace = Trace()
            try withScriptedLoop { loop, poller in
                let second = scripted(6, "second", trace, order: 2)
                let first = scripted(5, "first", trace, order: 1) { _ in
                    switch change {
                    case 0: second.invalidate()
                    case 1: second.interest = []
                    default: loop.remove(second)
                    }
                }
                add(first, to: loop)
                add(second, to: loop)
                poller.setReady(5, .readable)
                poller.setReady(6, .readable)
                _ = loop.run(until: .distantPast)
            }
            #expect(trace.all == ["first 1"])
        }
    }

    @Test func `its interest can change while it is in a loop`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let port = scripted(5, "five", trace)
            port.interest = []
            add(port, to: loop)
            poller.setReady(5, [.readable, .writable])
            #expect(loop.run(until: .distantPast) == .timedOut)
            port.interest = .writable
            _ = loop.run(until: .distantPast)
            port.interest = [.readable, .writable]
            _ = loop.run(until: .distantPast)
            #expect(port.interest == [.readable, .writable])
        }
        #expect(trace.all == ["five 2", "five 3"])
    }

    @Test func `a descriptor has one port in a mode, and an other one in another mode`() throws {
        try withScriptedLoop { loop, _ in
            let trace = Trace()
            let first = scripted(5, "first", trace)
            let second = scripted(5, "second", trace)
            add(first, to: loop)
            add(first, to: loop)
            let error = #expect(throws: SystemError.self) { try loop.add(second) }
            #expect(error?.errno == EEXIST)
            #expect(!loop.contains(second) && second.loop == nil && second.modes.isEmpty)
            add(second, to: loop, mode: "A")
            // It can't join all common modes, so it joins none that it was not in.
            loop.addCommonMode("A")
            loop.addCommonMode("B")
            #expect(throws: SystemError.self) { try loop.add(second, to: .common) }
            #expect(second.modes == ["A"])
            first.invalidate()
            add(second, to: loop)
            #expect(loop.contains(second))
        }
    }

    @Test func `with the real kernel: bytes of another thread arrive`() throws {
        let total = try withSystemLoop { loop in
            let pipe = try Pipe()
            let (readNumber, writeNumber) = (pipe.readEnd.number, pipe.writeEnd.number)
            let seen = Counter()
            try loop.add(
                ThreadRunLoop.Port(watching: readNumber) { _, readiness in
                    #expect(readiness == .readable)
                    var byte: UInt8 = 0
                    while unsafe read(readNumber, &byte, 1) == 1 { seen.increment() }
                    if seen.count == 100 { loop.stop() }
                })
            let writer = try SystemThread(name: "writer") {
                for _ in 0..<100 {
                    var byte: UInt8 = 1
                    _ = unsafe write(writeNumber, &byte, 1)
                }
            }
            #expect(loop.run(mode: .default) == .stopped)
            writer.join()
            _ = pipe.readEnd.number
            return seen.count
        }
        #expect(total == 100)
    }

    @Test func `with the real kernel: an event is held while another mode runs`() throws {
        let words = try withSystemLoop { loop in
            let trace = Trace()
            let pipe = try Pipe()
            let port = ThreadRunLoop.Port(watching: pipe.readEnd.number) { _, _ in
                trace.note("in \(loop.currentMode?.name ?? "none")")
            }
            try loop.add(port)
            loop.keepAlive("B")
            _ = try pipe.writeEnd.write(contentsOf: [1])
            _ = loop.run(mode: "B", until: .distantPast)
            _ = loop.run(mode: "B", for: .milliseconds(1))
            #expect(trace.all.isEmpty)
            for _ in 0..<2 {
                #expect(loop.run(returnAfterSourceHandled: true) == .handledSource)
            }
            port.interest = []
            #expect(loop.run(for: .milliseconds(1)) == .timedOut)
            port.invalidate()
            #expect(loop.run(mode: .default) == .finished)
            _ = pipe.readEnd.number
            return trace.all
        }
        #expect(words == ["in default", "in default"])
    }

    @Test func `with the real kernel: who wants nothing more is told of the end once, and sleeps`()
        throws
    {
        let words = try withSystemLoop { loop in
            let trace = Trace()
            let pipe = try Pipe()
            let number = pipe.readEnd.number
            let readEnd = pipe.keepReadEnd()
            let port = ThreadRunLoop.Port(watching: number, for: []) { _, readiness in
                trace.note("\(readiness.contains(.closed))")
            }
            try loop.add(port)
            try loop.add(port, to: "B")
            #expect(loop.run(returnAfterSourceHandled: true) == .handledSource)
            for mode: ThreadRunLoop.Mode in [.default, "B"] {
                let passes = loop.counters.passCount
                #expect(loop.run(mode: mode, for: .milliseconds(1)) == .timedOut)
                #expect(loop.counters.passCount - passes <= 2)
            }
            trace.note("asks")
            port.interest = .readable
            #expect(loop.run(returnAfterSourceHandled: true) == .handledSource)
            #expect(
                loop.run(mode: "B", returnAfterSourceHandled: true) == .handledSource)
            port.invalidate()
            #expect(loop.run(mode: .default) == .finished)
            _ = readEnd.number
            return trace.all
        }
        #expect(words == ["true", "asks", "true", "true"])
    }

    @Test func `with the real kernel: what is out of the ordinary is told to who asked for it`()
        throws
    {
        let words = try withSystemLoop { loop in
            let trace = Trace()
            let listener = try Listener(at: SocketAddress("127.0.0.1:0"))
            let sender = try listener.address.connect(timeoutMilliseconds: 60_000)
            // A client may know of its connection before the listener does.
            try waitUntilReady(listener.descriptor.number)
            guard case .connection(let receiver) = try listener.accept() else { return ["nobody"] }
            let port = ThreadRunLoop.Port(watching: receiver.number, for: .writable) {
                trace.note("\($1)")
            }
            try loop.add(port)
            let urgent = [UInt8(33)]
            #expect(unsafe send(sender.number, urgent, 1, CInt(MSG_OOB)) == 1)
            #expect(loop.run(returnAfterSourceHandled: true) == .handledSource)
            port.interest = .urgent
            #expect(loop.run(returnAfterSourceHandled: true) == .handledSource)
            port.invalidate()
            _ = (sender.number, receiver.number)
            return trace.all
        }
        #expect(words == ["writable", "urgent"])
    }

    @Test func `with the real kernel: a regular file and a second port are refused`() throws {
        try withSystemLoop { loop in
            let regular = unsafe open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
            defer { _ = close(regular) }
            let port = ThreadRunLoop.Port(watching: regular) { _, _ in }
            #expect(
                #expect(throws: SystemError.self) { try loop.add(port) }?.errno == EPERM)
            #expect(loop.run(mode: .default) == .finished)
            let pipe = try Pipe()
            try loop.add(ThreadRunLoop.Port(watching: pipe.readEnd.number) { _, _ in })
            let second = ThreadRunLoop.Port(watching: pipe.readEnd.number) { _, _ in }
            #expect(
                #expect(throws: SystemError.self) { try loop.add(second) }?.errno == EEXIST)
            _ = pipe.readEnd.number
        }
    }

    @Test func `with the real kernel: a number that was closed too early is its next port's`()
        throws
    {
        let words = try withSystemLoop { loop in
            let trace = Trace()
            let early = try Pipe()
            let number = dup(early.readEnd.number)
            _ = consume early
            defer { _ = close(number) }
            let first = ThreadRunLoop.Port(watching: number) { _, _ in trace.note("first") }
            try loop.add(first)
            let pipe = try Pipe()
            // Closes what had the number, and gives it to the pipe.
            _ = dup2(pipe.readEnd.number, number)
            let second = ThreadRunLoop.Port(watching: number) { _, _ in trace.note("second") }
            try loop.add(second)
            first.invalidate()
            _ = try pipe.writeEnd.write(contentsOf: [1])
            #expect(
                loop.run(for: .seconds(20), returnAfterSourceHandled: true) == .handledSource)
            second.invalidate()
            #expect(loop.run(mode: .default) == .finished)
            // The number is free again.
            try loop.add(ThreadRunLoop.Port(watching: number) { _, _ in trace.note("third") })
            #expect(
                loop.run(for: .seconds(20), returnAfterSourceHandled: true) == .handledSource)
            return trace.all
        }
        #expect(words == ["second", "third"])
    }

    @Test func `a loop never gets the number of a closed standard stream`() throws {
        let run = try ProgramRun(built: "ProgramDescriptors", ["loop-without-streams"])
        #expect(run.status == .exited(0), "\(run.output)")
    }

    @Test func `with the real kernel: the other side's end is told`() throws {
        let readiness = try withSystemLoop { loop in
            let pipe = try Pipe()
            let seen = Trace()
            let number = pipe.readEnd.number
            let readEnd = pipe.keepReadEnd()
            try loop.add(
                ThreadRunLoop.Port(watching: number) { port, readiness in
                    seen.note("\(readiness.contains(.closed))")
                    port.invalidate()
                })
            #expect(loop.run(mode: .default) == .finished)
            _ = readEnd.number
            return seen.all
        }
        #expect(readiness == ["true"])
    }

    @Test func `one that was told of the end and sleeps keeps its descriptor for itself`() throws {
        let words = try withScriptedLoop { loop, poller in
            let trace = Trace()
            let first = ThreadRunLoop.Port(watching: 7, for: []) { _, _ in trace.note("first") }
            try loop.add(first)
            poller.setReady(7, .closed)
            loop.stepOnePass()
            let second = scripted(7, "second", trace)
            do throws(SystemError) { try loop.add(second) } catch {
                trace.note(error.errno == EEXIST ? "refused" : "\(error)")
            }
            first.interest = .readable
            loop.stepOnePass()
            first.invalidate()
            try loop.add(second)
            loop.stepOnePass()
            return trace.all
        }
        #expect(words.count == 4 && words.prefix(3) == ["first", "refused", "first"], "\(words)")
    }
}
