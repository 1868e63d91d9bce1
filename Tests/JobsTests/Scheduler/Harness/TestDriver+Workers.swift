// Workers in other processes, as a test plays them.

import Jobs
import Kernel
import StoreTwin

extension TestDriver {
    /// The worker that holds an attempt gives it back, or vanishes, and another one takes it.
    func passOn(_ attempt: FakeAttempt, hasVanished: Bool) {
        twin?.noteHolder(attempt.id.number, attempt: attempt.number, nil)
        attempt.phase = .queued
        if hasVanished {
            attempt.number += 1
            input { $0.vanished(attempt.id) }
        } else {
            input { $0.givenBack(attempt.id) }
        }
        // Its thread has gone, or changes.
        guard attempt.phase == .queued else { return }
        attempt.phase = .running
        attempt.startedAt = now.unixMilliseconds
        noteStart(of: attempt, for: nil)
    }

    /// The worker that holds a job of an earlier life has vanished before a member began it.
    func vanish(_ id: JobID) {
        guard heldOver.removeValue(forKey: id) != nil, let job = scheduler.book.active(id) else {
            return
        }
        let attempt = job.attempt as? FakeAttempt
        if let attempt, attempt.isAskedToEnd, withdraw(attempt) {
            twin?.noteHolder(id.number, attempt: attempt.number, nil)
            let moment = now.unixMilliseconds
            return input {
                $0.ended(
                    Completion(
                        job: id, attemptNumber: attempt.number, outcome: .cancelled,
                        thread: job.thread, startedAt: moment, endedAt: moment))
            }
        }
        twin?.noteStart(id.number, Attempt(number: job.attemptNumber))
        attempt?.number += 1
        input { $0.vanished(id) }
    }

    /// Leaves held attempts to their workers: the daemon ends.
    func leaveToWorkers() {
        let unserved = heldOver.keys.filter { id in
            (scheduler.book.active(id)?.attempt as? FakeAttempt)?.isAskedToEnd == false
        }
        for id in heldAttempts.map(\.id) + unserved.sorted() {
            input { $0.leaveWithWorker(id) }
        }
    }

    /// The attempts that workers hold and that were not asked to end.
    var heldAttempts: [FakeAttempt] {
        groups.flatMap { $0.running.values }.filter { $0.isHeld && !$0.isAskedToEnd }
            .sorted { $0.id < $1.id }
    }
}
