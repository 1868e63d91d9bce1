// What a worker does with a job that it takes from its lane: unless another job of its order comes
// first, it runs the job and reports the end. What all jobs have in common for that is here, so that
// each brings only what is its own.

internal import Jobs
internal import WorkerThreads

/// What a worker says to the desk, in the order in which it happened.
enum WorkerReport: Sendable {
    /// A job has ended.
    case ended(Completion)
    /// A job was not begun, because another one of its order comes first.
    case heldBack(JobID, JobOrder)
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
    private let journal: (any JobStore)?
    private let log: Log
    private let failures: FailureLog

    /// - Parameter journal: where beginnings are recorded; nil if all jobs are in memory only.
    init(
        _ reports: MessagePort<WorkerReport>, journal: (any JobStore)?, children: ChildRegistry,
        log: Log
    ) {
        self.reports = reports
        self.journal = journal
        self.children = children
        self.log = log
        failures = FailureLog(log)
    }

    /// Runs a job to its end, or gives it back.
    ///
    /// - Thread: a member's of the lane.
    func run(
        _ job: JobContext, _ handler: Handler, on lane: Lane, isDurable: Bool
    ) {
        let id = JobID(job.id)
        guard !job.order.holdsBack(id) else {
            reports.send(.heldBack(id, job.order))
            return
        }
        guard !lane.expires(job) else {
            reports.send(.expired(id))
            return
        }
        let completion = lane.run(
            job, handler, children: children, journal: isDurable ? journal : nil, log: log,
            failures: failures)
        guard let completion else { return }
        job.noteEnd(completion.outcome)
        reports.send(.ended(completion))
    }
}
