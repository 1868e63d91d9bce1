// Several workers on a clock that is moved by hand, and waiting until all of them have settled.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

@Suite(.timeLimit(.minutes(2))) struct `Workers on a manual clock` {
    @Test func `have settled when nothing goes to and fro between them`() throws {
        let clock = ManualClock()
        let pair = [
            try WorkerThread(name: "ping", clock: clock),
            try WorkerThread(name: "pong", clock: clock),
        ]
        let trace = Trace()
        @Sendable func pass(_ count: Int) {
            trace.note("\(count)")
            if count > 0 { _ = try? pair[count % 2].post { pass(count - 1) } }
        }
        for round in 1...50 {
            try pair[1].post { pass(40) }
            try pair.settle()
            #expect(trace.take().last == "0", "round \(round)")
        }
    }

    @Test func `a pool's members go by it, whatever they are called`() throws {
        let clock = ManualClock()
        let trace = Trace()
        for pool in [
            try WorkerPool(name: "pool", count: 3, clock: clock),
            try WorkerPool(name: "pool", threads: ["a", "b"], clock: clock),
        ] {
            for _ in 0..<20 {
                try pool.post {
                    ThreadRunLoop.current.schedule(after: .seconds(60)) {
                        _ = try? pool.post { trace.note("a minute later") }
                    }
                }
            }
            try pool.settle()
            #expect(trace.all.count == 0)
            clock.advance(by: .seconds(60))
            try pool.settle()
            #expect(trace.take().count == 20)
        }
    }

    @Test func `the one that is busy is named, with the limit that was given`() throws {
        let pool = try WorkerPool(name: "pool", threads: ["a", "b"], clock: ManualClock())
        let gate = Gate()
        try pool.post(onThread: "b") { gate.pass() }
        gate.reached.wait()
        var error: NotSettled?
        repeat {
            // The other one may have begun so late that it does not sleep by then.
            error = #expect(throws: NotSettled.self) { try pool.settle(within: .milliseconds(1)) }
        } while error?.thread == "a"
        #expect(error == NotSettled(thread: "b", limit: .milliseconds(1)))
        gate.open()
        try pool.settle()
    }
}
