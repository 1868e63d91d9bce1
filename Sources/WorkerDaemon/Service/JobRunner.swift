// What a worker does with a job that it takes from its lane: it runs the job and reports the end. What all
// jobs have in common for that is here, so that each brings only what is its own.

internal import Jobs
internal import Kernel
internal import Synchronization
internal import WorkerThreads

/// What a worker says to the desk, in the order in which it happened.
enum WorkerReport: Sendable {
    /// A job has ended. The worker waits in front of the latch, if there is one, until the desk has taken back
    /// what follows the job.
    case ended(Completion, Latch?)
    /// A job was not begun, because it is too late.
    case expired(JobID)
}

/// Runs jobs on the threads of their lanes, and reports their ends to the desk.
///
/// - Thread: any thread.
final class JobRunner: Sendable {
    /// Where the ends are reported.
    let reports: MessagePort<WorkerReport>
    private let children: ChildRegistry
    private let journal: any JobStore
    private let log: Log
    private let failures: FailureLog
    /// The workers that wait for the desk, by their names; nil once the desk is closed.
    private let waiting = Mutex<[String: Latch]?>([:])

    /// - Parameter journal: where beginnings are recorded.
    init(
        _ reports: MessagePort<WorkerReport>, journal: any JobStore, children: ChildRegistry,
        log: Log
    ) {
        self.reports = reports
        self.journal = journal
        self.children = children
        self.log = log
        failures = FailureLog(log)
    }

    /// Runs a job to its end.
    ///
    /// - Thread: a member's of the lane.
    /// - Blocks: until the job has ended; and if it holds up others, until the desk has taken these back.
    func run(
        _ job: JobContext, _ handler: Handler, on lane: Lane, isDurable: Bool
    ) {
        guard !lane.expires(job) else {
            reports.send(.expired(JobID(job.id)))
            return
        }
        let completion = lane.run(
            job, handler, children: children, journal: isDurable ? journal : nil, log: log,
            failures: failures)
        guard let completion else { return }
        let holdsUpOthers =
            job.retry.blocks && completion.outcome.state == .failed && !job.isCancelRequested
            && job.retry.follows(attempt: job.attempt)
        if holdsUpOthers {
            reportAndWait(completion)
        } else {
            reports.send(.ended(completion, nil))
        }
    }

    /// Takes nothing more before the desk says so: it could be what follows the job.
    private func reportAndWait(_ completion: Completion) {
        let latch = Latch()
        guard reports.send(.ended(completion, latch)) == .sent else { return }
        let mayWait = waiting.withLock { waiting in
            if !latch.isOpen { waiting?[completion.thread] = latch }
            return waiting != nil
        }
        if mayWait { latch.wait() }
    }

    /// Lets a worker go on that has reported something and waits.
    ///
    /// - Thread: the desk's.
    func letGo(_ name: String, _ latch: Latch) {
        waiting.withLock { waiting in
            latch.open()
            if waiting?[name] === latch { waiting?[name] = nil }
        }
    }

    /// Whether a worker has reported something and waits for the desk.
    func isWaiting(_ name: String) -> Bool { waiting.withLock { $0?[name] != nil } }

    /// Lets all workers go on: the desk says nothing more.
    func close() {
        let latches = waiting.withLock { $0.take() } ?? [:]
        for latch in latches.values { latch.open() }
    }
}
