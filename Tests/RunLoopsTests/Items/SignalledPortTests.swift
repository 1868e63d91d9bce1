// Ports without a descriptor, which are signalled from any thread.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `Signalled port` {
    @Test func `several signals before it is handled are one, and wake the loop`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let port = ThreadRunLoop.Port { _, readiness in trace.note("\(readiness.rawValue)") }
            add(port, to: loop)
            poller.at(.seconds(1)) { for _ in 0..<3 { port.signal() } }
            #expect(loop.run(for: .seconds(2)) == .timedOut)
        }
        #expect(trace.all == ["0"])
    }

    @Test func `a signal is held while another mode runs, and from before it was added`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            let port = ThreadRunLoop.Port { _, _ in trace.note("handled") }
            port.signal()
            add(port, to: loop, mode: "A")
            loop.keepAlive("B")
            #expect(loop.run(mode: "B", for: .seconds(1)) == .timedOut)
            #expect(trace.all.isEmpty)
            let result = loop.run(mode: "A", for: .seconds(1), returnAfterSourceHandled: true)
            #expect(result == .handledSource)
        }
    }

    @Test func `one that signals itself in each call leaves descriptors their turn`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, poller in
            add(scripted(5, "five", trace) { _ in loop.stop() }, to: loop)
            poller.setReady(5, .readable)
            let busy = ThreadRunLoop.Port { port, _ in
                trace.note("busy")
                if trace.all.count < 9 { port.signal() }
            }
            add(busy, to: loop)
            busy.signal()
            #expect(loop.run(for: .seconds(9)) == .stopped)
        }
        #expect(trace.all == ["busy", "busy", "five 1"])
    }

    @Test func `signalled from inside its own call it is handled in the next pass`() throws {
        let trace = Trace()
        try withScriptedLoop { loop, _ in
            let port = ThreadRunLoop.Port { port, _ in
                trace.note("handled")
                if trace.all.count < 3 { port.signal() }
            }
            add(port, to: loop)
            port.signal()
            #expect(loop.run(for: .seconds(1)) == .timedOut)
            #expect(loop.counters.portCount == 3)
        }
        #expect(trace.all.count == 3)
    }
}
