// How the system schedules a worker, and what a worker does when it is idle.

import Glibc
import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

@Suite(.timeLimit(.minutes(2))) struct `The system's scheduling of a worker` {
    private func niceness() -> Int {
        Int(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))
    }

    /// The processors on which the kernel lets the calling thread run: `0-1`.
    private func allowedProcessors() throws -> String {
        let status = try File.read("/proc/thread-self/status", atMost: 1 << 16)
        let lines = String(decoding: status, as: UTF8.self).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("Cpus_allowed_list:") })
        return String(line.split(whereSeparator: \.isWhitespace)[1])
    }

    @Test func `is set from another thread, also while the worker is paused`() throws {
        let worker = try WorkerThread(name: "placed")
        let all = try worker.submitAndWait { try allowedProcessors() }
        let one = try #require(all.split { $0 == "," || $0 == "-" }.first.flatMap { Int($0) })
        worker.pause()
        try worker.setProcessors([one])
        try worker.setNiceness(7)
        worker.resume()
        #expect(try worker.submitAndWait { try allowedProcessors() } == "\(one)")
        #expect(try worker.submitAndWait { niceness() } == 7)
        // Of that thread only.
        #expect(niceness() != 7)
        #expect(try allowedProcessors() == all)
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

@Suite(.timeLimit(.minutes(2))) struct `An idle worker` {
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
