// What follows a failed attempt of a job that may be tried again: the next one, after a while. The job
// moves aside meanwhile, so others of its thread go on, unless it holds them up (Order/).

internal import Jobs
internal import Kernel

extension JobDesk {
    /// Lets another attempt follow one that failed.
    func retry(_ job: LiveJob, _ completion: Completion) {
        noteStart(job.id, on: completion.thread, at: completion.startedAt)
        let attempt = job.context.attempt - job.retry.forgivenCount
        let due = completion.endedAt + .random(in: RetryPause.milliseconds(after: attempt))
        // First: who watches is told with it.
        job.lastFailure = completion.outcome.failureReason
        apply(.retry(dueAt: due), to: job.id, at: completion.endedAt)
        record(.retry(job.id, completion.attempt, dueAt: due), of: job)
        if isRefusing {
            // Going down: the journal has it, and its next attempt comes after the restart.
            live[job.id] = nil
            tell(job, .failed(.abandoned))
        } else {
            job.beginAnew()
            hold(job)
            placeAgain(job, dueAt: due)
        }
        holdUpOthers(behind: job)
        whenCompleted?()
    }
}
