// How the system schedules a worker, and what a worker does when it is idle.

import Glibc
import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

@Suite(.timeLimit(.minutes(5))) struct `The system's scheduling of a worker` {
    private func niceness() -> Int {
        Int(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))
    }

    @Test func `is set from another thread, also while the worker is paused`() throws {
        let worker = try WorkerThread(name: "placed")
        let all = try worker.submitAndWait { try SystemThread.currentProcessors() }
        let one = try #require(all.min())
        worker.pause()
        try worker.setProcessors([one])
        try worker.setNiceness(7)
        worker.resume()
        #expect(try worker.submitAndWait { try SystemThread.currentProcessors() } == [one])
        #expect(try worker.submitAndWait { niceness() } == 7)
        // Of that thread only.
        #expect(niceness() != 7)
        #expect(try SystemThread.currentProcessors() == all)
    }

    @Test func `is set on the thread itself, and refused where it can't be`() throws {
        let worker = try WorkerThread(name: "placed")
        let own = try worker.submitAndWait { [unowned worker] in
            try worker.setNiceness(5)
            return niceness()
        }
        #expect(own == 5)
        #expect(throws: SystemError.self) { try worker.setProcessors([8_191]) }
        worker.stop()
        worker.join()
        #expect(throws: SystemError(operation: "setpriority", errno: ESRCH)) {
            try worker.setNiceness(5)
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct `An idle worker` {
    @Test func `is told so before it sleeps, and again after the work of its idle handler`() throws
    {
        let worker = try WorkerThread(name: "idle")
        let trace = Trace()
        let gate = try worker.hold()
        let observer = worker.whenIdle { [unowned worker] in
            trace.note("idle")
            if trace.all.count == 3 { try? worker.post { trace.note("posted when idle") } }
        }
        try worker.post { trace.note("work") }
        try worker.post { trace.note("more work") }
        gate.open()
        try worker.settle()
        #expect(trace.all == ["work", "more work", "idle", "posted when idle", "idle"])
        observer.invalidate()
        try worker.submitAndWait {}
        try worker.settle()
        #expect(trace.all.count == 5)
    }
}
