// Jobs that workers of an earlier run hold: for how long a daemon keeps them, whether it sees the
// worker's process or not.

import Jobs
import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

@testable import WorkerDaemon

@Suite struct `An inherited job whose worker's process has ended` {
    private static func home(_ machine: String) -> JobHolder.Home {
        let bytes = Array(machine.utf8)
        return JobHolder.Home(machine: bytes, start: bytes, numbers: bytes)
    }

    /// A process number that no process has.
    private static let gone = Int(Int32.max)

    /// Checks whether a job is kept until a moment, or given up at once.
    private func check(
        _ home: JobHolder.Home?, isKeptUntil moment: Duration?,
        _ change: @escaping @Sendable (inout Configuration.Selector) -> Void = { _ in }
    ) throws {
        let clock = ManualClock()
        let io = try WorkerThread(name: "io", poller: SystemPoller(clock: clock))
        defer {
            io.stop()
            io.join()
        }
        let clocks = Clocks(loop: clock, wall: WallTime(on: clock, from: 0))
        let exchange = try io.submitAndWait {
            let loop = ThreadRunLoop.current
            let exchange = WorkerExchange(loop: loop, clocks: clocks, log: KeptLog().log)
            let process = JobHolder.Process(id: Self.gone, userID: 1, birth: 5, home: home)
            let job = Job(
                id: JobID(1),
                request: JobRequest(thread: "images", selector: "resize", payload: []),
                acceptedAt: 0)
            var selector = Configuration.Selector(name: "resize")
            change(&selector)
            exchange.restore([
                HeldJob(
                    job: job,
                    holder: JobHolder(
                        token: JobHolder.Token(high: 1, low: 1), process: process, since: 0,
                        name: "w"))
            ]) { _ in selector }
            return Confined(exchange, to: loop)
        }
        func isKept() throws -> Bool {
            try io.submitAndWait { !exchange.value.inherited.isEmpty }
        }
        if let moment {
            clock.advance(by: moment - .milliseconds(1))
            // A pass or two later it would have seen the end of the process, or of the time.
            for _ in 0..<10 { #expect(try isKept()) }
            clock.advance(by: .milliseconds(1))
        }
        try eventually("it is given up") { try !isKept() }
    }

    @Test(.timeLimit(.minutes(1))) func `is given up at once where that is seen`() throws {
        try check(.own, isKeptUntil: nil)
        // As by a daemon of an earlier version.
        try check(nil, isKeptUntil: nil)
    }

    @Test(.timeLimit(.minutes(1)))
    func `is kept elsewhere, for as long as the configuration says`() throws {
        let other = Self.home("another machine")
        try check(other, isKeptUntil: .seconds(60))
        try check(other, isKeptUntil: .seconds(9)) { $0.leaseAfterRestart = .seconds(9) }
        try check(other, isKeptUntil: .seconds(7)) {
            $0.lease = .seconds(7)
            $0.timeout = nil
        }
    }
}
