// What a worker does with a job that it takes from its lane: unless another job of its order comes
// first, it runs the job and reports the end. What all jobs have in common for that is here, so that
// each brings only what is its own.

internal import Jobs

/// Runs jobs on the threads of their lanes, and reports their ends to the desk.
///
/// - Thread: any thread.
final class JobRunner: Sendable {
    /// Where the ends are reported.
    let reports: ReportPort
    private let children: ChildRegistry
    private let journal: Journal?
    private let log: Log

    /// - Parameter journal: where beginnings are recorded; nil if all jobs are in memory only.
    init(_ reports: ReportPort, journal: Journal?, children: ChildRegistry, log: Log) {
        self.reports = reports
        self.journal = journal
        self.children = children
        self.log = log
    }

    /// Runs a job to its end, or gives it back.
    ///
    /// - Thread: a member's of the lane.
    func run(
        _ job: JobContext, _ handler: Handler, on lane: Lane, isDurable: Bool
    ) {
        let id = JobID(job.id)
        if job.order.holdsBack(id) { return reports.send(.heldBack(id, job.order)) }
        let completion = lane.run(
            job, handler, children: children, journal: isDurable ? journal : nil, log: log)
        guard let completion else { return }
        job.noteEnd(completion.outcome)
        reports.send(.ended(completion))
    }
}
