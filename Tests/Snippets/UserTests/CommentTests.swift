// The samples of the kit's own documentation.

import RunLoops
import RunLoopsTesting
import Testing
import WorkerThreads

@Suite struct CommentTests {
    @Test func `a scripted hour`() throws {
        // sample: scripted-hour
        let fired = try withScriptedLoop { loop, poller in
            let trace = Trace()
            let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: .seconds(3_600))) { _ in
                trace.note("fired after \(poller.manualClock.elapsed)")
            }
            loop.add(timer)
            _ = loop.run()
            return trace.all
        }
        #expect(fired == ["fired after 3600.0 seconds"])
        // end
    }

    @Test func `a worker at midnight`() throws {
        // sample: midnight
        let clock = ManualClock()
        let worker = try WorkerThread(name: "reminders", clock: clock)
        let trace = Trace()
        let midnight = worker.runLoop.now.advanced(by: .seconds(8 * 3_600))
        worker.runLoop.add(ThreadRunLoop.Timer(at: midnight) { _ in trace.note("midnight") })

        clock.advance(by: .seconds(8 * 3_600))
        try worker.settle()
        #expect(trace.all == ["midnight"])
        // end
    }

    @Test func `two workers that settle together`() throws {
        let sender = try WorkerThread(name: "sender", clock: ManualClock())
        let receiver = try WorkerThread(name: "receiver", clock: ManualClock())
        let trace = Trace()
        try sender.post { try? receiver.post { trace.note("received") } }
        // sample: settle-together
        try [sender, receiver].settle()
        // end
        #expect(trace.all == ["received"])
    }
}
