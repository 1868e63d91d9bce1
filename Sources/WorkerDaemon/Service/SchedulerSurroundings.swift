// The scheduler's questions about the threads around it, which its driver answers.

internal import Jobs
internal import Synchronization
internal import WorkerThreads

/// The driver's answers to the questions of its scheduler.
///
/// Confined to the driver's thread.
final class SchedulerSurroundings: SchedulerEnvironment {
    /// The driver, until it is closed: not weak, as `WorkerExchange.door`.
    var driver: SchedulerDriver? {
        _read { yield unsafe uncheckedDriver }
        _modify { yield unsafe &uncheckedDriver }
    }
    // SAFETY: as the driver's scheduler.
    @exclusivity(unchecked) private var uncheckedDriver: SchedulerDriver?

    private var groups: [WorkerGroup] { driver?.groupsByIndex ?? [] }

    func withdraw(_ attempt: AnyObject) -> Bool { (attempt as? JobContext)?.withdraw() ?? true }

    func beginning(of attempt: AnyObject) -> (thread: String, startedAt: Int64)? {
        (attempt as? JobContext)?.run.map { ($0.thread, $0.startedAt) }
    }

    func progress(of attempt: AnyObject) -> JobProgress? { (attempt as? JobContext)?.progress }

    func written(by attempt: AnyObject) -> WrittenBytes? { (attempt as? JobContext)?.written }

    func waitingCount(of group: ThreadGroup) -> Int {
        guard let group = driver?.groupsByIndex[group.index] else { return 0 }
        return group.pool.waitingCount + group.awaitingWorkerCount.load(ordering: .relaxed)
            + (driver?.exchange.lobby.count(of: group) ?? 0)
    }

    func isStopped(_ thread: String, of group: ThreadGroup) -> Bool {
        guard let group = driver?.groupsByIndex[group.index] else { return true }
        return (try? group.pool.isStopped(onThread: thread)) != false
    }

    func runningJobs() -> [(id: JobID, thread: String, startedAt: Int64)] {
        groups.flatMap(\.members).compactMap { member in
            guard let context = member.current.withLock({ $0 }), let run = context.run else {
                return nil
            }
            return (JobID(context.id), run.thread, run.startedAt)
        }
    }

    func dropped(_ id: JobID) { driver?.children.outputs.forget(id.number) }

    func endedUnbegun(_ id: JobID, of thread: String, _ outcome: Outcome) {
        driver?.figures?.timelines.note(
            outcome, of: id, thread: thread, at: driver?.scheduler.now.unixMilliseconds ?? 0)
    }

    func isGone(_ client: UInt64) -> Bool { driver?.door.isGone(client) ?? true }
}
