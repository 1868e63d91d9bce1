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
        dateExpiriesAnew()
        keepDue()
    }

    /// What a command has made due and is parked stays due: the journal dates it anew, and then brings it.
    ///
    /// What is in memory has been let go when it was due.
    private func keepDue() {
        let now = wall.unixMilliseconds()
        let inquiry = Inquiry.then { [unowned self] fault in
            guard fault == nil else { return keepDueLater() }
            for backlog in stored.backlogs.values {
                backlog.held.fired(at: now)
                bringMore(of: backlog)
            }
        }
        ask(inquiry) { .keepDue(at: now, ticket: $0) }
    }

    /// Tries again in a while, when the journal may be able to write.
    private func keepDueLater() {
        let desk = Confined(self, to: loop)
        loop.schedule(after: .seconds(1)) { desk.value.keepDue() }
    }
}
