// The few things that a scheduler asks of its driver while it handles an input. All else comes as
// an input or leaves as an effect.

/// Answers at once, and calls nothing of the scheduler's.
///
/// A simulation answers by its seed.
package protocol SchedulerEnvironment: AnyObject {
    /// Takes an attempt back that is queued.
    ///
    /// - Returns: false if it has begun; true means that it never begins.
    func withdraw(_ attempt: AnyObject) -> Bool

    /// Where an attempt has begun, and when in Unix milliseconds; nil if it has not.
    func beginning(of attempt: AnyObject) -> (thread: String, startedAt: Int64)?

    /// The latest report of an attempt's handler.
    func progress(of attempt: AnyObject) -> JobProgress?

    /// The output of an attempt's program; nil if there is none.
    func written(by attempt: AnyObject) -> WrittenBytes?

    /// How many offered jobs of a group have not begun.
    func waitingCount(of group: ThreadGroup) -> Int

    /// Whether a thread, or all of a pool, was stopped and takes no more jobs.
    func isStopped(_ thread: String, of group: ThreadGroup) -> Bool

    /// Whether no other scheduler has threads of the same store.
    var hasAllThreads: Bool { get }

    /// The running jobs, with thread and start in Unix milliseconds: threads report only ends.
    func runningJobs() -> [(id: JobID, thread: String, startedAt: Int64)]

    /// A failed job was dropped: data that others keep of it is of no use any more.
    func dropped(_ id: JobID)

    /// A job has ended that has not begun: it was cancelled, or has expired.
    func endedUnbegun(_ id: JobID, of thread: String, _ outcome: Outcome)

    /// Whether a client has left: no answer reaches it.
    func isGone(_ client: UInt64) -> Bool
}
