// What becomes of delayed jobs when somebody sets the clock on the wall. Their timers are the loop's,
// which go on as if nothing had happened: right for a delay, wrong for a time of day.

internal import Jobs
internal import Kernel
internal import RunLoops

extension JobDesk {
    /// Dates all jobs anew that wait for a time of the clock, which was set or has slept with the machine.
    ///
    /// - Complexity: O(jobs in memory).
    func followClock() {
        for job in live.values where job.goesByClock && job.release != nil {
            guard let dueAt = store.job(job.id)?.dueAt else { continue }
            cancelRelease(of: job)
            delay(job, until: dueAt)
        }
    }
}
