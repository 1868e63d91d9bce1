// A program that can't be started because the machine is short of processes or descriptors for a while: its
// job waits, as a client does that finds no descriptor. It is not the job that is at fault.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import WorkerThreads

/// Runs a program for a job as soon as there is room for it.
enum ProgramStart {
    /// How long is waited before the next try.
    private static let rest = Duration.milliseconds(100)

    /// Starts the program and serves it until it has ended.
    ///
    /// - Thread: a worker thread.
    /// - Blocks: until then, or until the job's time is over; the thread serves its loop in mode `job`.
    static func run(
        _ selector: Configuration.Selector, job: JobContext, children: ChildRegistry, log: Log
    ) -> Outcome {
        var isTold = false
        while true {
            let run = ProgramRun(selector, job: job, children: children, log: log)
            do throws(SystemError) {
                return try run.run()
            } catch {
                let fault = "can't start \(selector.program.executable): \(error)"
                guard error.isForWantOfRoom, !job.isOverTime else { return .failed(reason: fault) }
                if job.isCancelRequested { return .cancelled }
                if !isTold {
                    isTold = true
                    log.warning("job \(job.id) (\(job.selector)) waits for room: \(fault)")
                }
                takeRest(run.worker)
            }
        }
    }

    private static func takeRest(_ worker: WorkerCore) {
        let loop = worker.loop
        let end = loop.now.advanced(by: rest)
        let alarm = ThreadRunLoop.Timer(at: end) { _ in loop.stop() }
        loop.add(alarm, to: .job)
        worker.serveJob { loop.now >= end }
        alarm.invalidate()
    }
}
