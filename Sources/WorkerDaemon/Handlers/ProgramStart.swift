// A program that can't be started because the machine is short of processes or descriptors for a while: its
// job waits, as a client does that finds no descriptor. It is not the job that is at fault.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import WorkerThreads

/// Runs a program for a job as soon as there is room for it.
///
/// Confined to the worker's thread.
final class ProgramStart {
    private let selector: Configuration.Selector
    private let job: JobContext
    private let children: ChildRegistry
    private let log: Log
    private let worker: WorkerCore
    private var isRested = false

    /// How long is waited before the next try.
    private static let rest = Duration.milliseconds(100)

    init(
        _ selector: Configuration.Selector, job: JobContext, children: ChildRegistry, log: Log
    ) {
        guard let worker = WorkerCore.current else { preconditionFailure("not on a worker thread") }
        self.selector = selector
        self.job = job
        self.children = children
        self.log = log
        self.worker = worker
    }

    /// Starts the program and serves it until it has ended.
    ///
    /// - Blocks: until then, or until the job's time is over; the thread serves its loop in mode `job`.
    func run() -> Outcome {
        var isTold = false
        while true {
            do throws(SystemError) {
                return try ProgramRun(selector, job: job, children: children, log: log).run()
            } catch {
                let fault = "can't start \(selector.program.executable): \(error)"
                guard error.isForWantOfRoom, !job.isOverTime else { return .failed(reason: fault) }
                if job.isCancelRequested { return .cancelled }
                if !isTold {
                    isTold = true
                    log.warning("job \(job.id) (\(job.selector)) waits for room: \(fault)")
                }
                takeRest()
            }
        }
    }

    private func takeRest() {
        let loop = worker.loop
        let start = Confined(self, to: loop)
        isRested = false
        let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: Self.rest)) { _ in
            start.value.isRested = true
            loop.stop()
        }
        loop.add(timer, to: .job)
        worker.serveJob { isRested }
    }
}
