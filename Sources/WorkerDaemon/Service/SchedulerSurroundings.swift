// The scheduler's questions about the threads around it, which its driver answers.

internal import Jobs
internal import Synchronization
internal import WorkerThreads

/// The driver's answers to the questions of its scheduler.
///
/// Confined to the driver's thread.
final class SchedulerSurroundings: SchedulerEnvironment {
    /// The threads behind each group of the scheduler, by its index; also of removed groups.
    ///
    /// Here, because each new job asks about its group.
    var groupsByIndex: [WorkerGroup] {
        _read { yield unsafe uncheckedGroupsByIndex }
        _modify { yield unsafe &uncheckedGroupsByIndex }
    }
    /// The driver, until it is closed: not weak, as `WorkerExchange.door`.
    var driver: SchedulerDriver? {
        _read { yield unsafe uncheckedDriver }
        _modify { yield unsafe &uncheckedDriver }
    }
    // SAFETY: as the driver's scheduler; the groups are changed by reloads, which nothing overlaps.
    @exclusivity(unchecked) private var uncheckedDriver: SchedulerDriver?
    @exclusivity(unchecked) private var uncheckedGroupsByIndex: [WorkerGroup]

    init(_ groupsByIndex: [WorkerGroup]) { unsafe uncheckedGroupsByIndex = groupsByIndex }

    private var groups: [WorkerGroup] { driver == nil ? [] : groupsByIndex }

    func withdraw(_ attempt: AnyObject) -> Bool { (attempt as? JobContext)?.withdraw() ?? true }

    func beginning(of attempt: AnyObject) -> (thread: String, startedAt: Int64)? {
        (attempt as? JobContext)?.run.map { ($0.thread, $0.startedAt) }
    }

    func progress(of attempt: AnyObject) -> JobProgress? { (attempt as? JobContext)?.progress }

    func written(by attempt: AnyObject) -> WrittenBytes? { (attempt as? JobContext)?.written }

    func waitingCount(of group: ThreadGroup) -> Int {
        guard let driver else { return 0 }
        let threads = groupsByIndex[group.index]
        return threads.pool.waitingCount + threads.awaitingWorkerCount.load(ordering: .relaxed)
            + driver.exchange.lobby.count(of: threads)
    }

    func isStopped(_ thread: String, of group: ThreadGroup) -> Bool {
        guard unsafe uncheckedDriver != nil else { return true }
        let thread = group.slots.count > 1 ? PoolSlot.shown(thread) : thread
        let pool = unsafe uncheckedGroupsByIndex[group.index].pool
        return (try? pool.isStopped(onThread: thread)) != false
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

    var hasAllThreads: Bool { driver?.store.sharedSeat == nil }

    func isGone(_ client: UInt64) -> Bool { driver?.door.isGone(client) ?? true }
}
