// Reports of the moments at which jobs begin. Mostly no reader wants them, and threads report only
// ends.

internal import Jobs
internal import Synchronization
internal import WorkerThreads

/// Tells the driver that jobs of a group begin, while it wants that.
///
/// - Thread: any thread.
final class BeginningReports: Sendable {
    private let isWanted = Atomic<Bool>(false)
    private let port = Mutex<MessagePort<WorkerReport>?>(nil)

    /// Begins to report, or ends that.
    ///
    /// - Parameter port: where to; nil for nowhere.
    func report(to port: MessagePort<WorkerReport>?) {
        self.port.withLock { $0 = port }
        isWanted.store(port != nil, ordering: .relaxed)
    }

    /// A job has begun.
    ///
    /// - Thread: the one that begins it: it reports the end later, behind this.
    func note(_ job: JobContext) {
        // Relaxed: a beginning that is not reported is told with the end.
        guard isWanted.load(ordering: .relaxed) else { return }
        _ = port.withLock { $0 }?.send(.began(JobID(job.id)))
    }
}
