// What follows a failed attempt of a job that may be tried again: the next one, after a while. The job
// moves aside meanwhile, so others of its thread go on, unless it holds them up (Order/).

internal import Jobs
internal import Kernel

extension JobDesk {
    /// The first pause between two attempts, doubled with each further one.
    private static let firstPauseMilliseconds: Int64 = 1_000
    /// The longest.
    private static let pauseMillisecondsMax: Int64 = 3_600_000

    /// Lets another attempt follow one that failed.
    func retry(_ job: LiveJob, _ completion: Completion) {
        noteStart(job.id, on: completion.thread, at: completion.startedAt)
        let pause = Self.pause(after: job.context.attempt - job.order.retry.forgivenCount)
        let due = completion.endedAt + pause
        // First: who watches is told with it.
        job.lastFailure = completion.outcome.failureReason
        apply(.retry(dueAt: due), to: job.id, at: completion.endedAt)
        if job.isDurable {
            durable?.journal.record(.retry(job.id, completion.attempt, dueAt: due))
        }
        if isRefusing {
            // Going down: the journal has it, and its next attempt comes after the restart.
            live[job.id] = nil
            job.tell(.failure(Self.abandoned))
        } else {
            job.beginAnew()
            hold(job)
            placeAgain(job, dueAt: due)
        }
        holdUpOthers(behind: job)
        whenCompleted?()
    }

    /// How long to wait after so many attempts, give or take a quarter.
    ///
    /// Without that, jobs that failed together would be tried again together.
    private static func pause(after attempt: Int) -> Int64 {
        let doublings = min(max(0, attempt - 1), 20)
        let pause = min(firstPauseMilliseconds << Int64(doublings), pauseMillisecondsMax)
        // Above the lower bound: the end that it is counted from is told in whole milliseconds.
        return Int64.random(in: pause * 3 / 4 + 1...pause * 5 / 4)
    }
}
