// Jobs whose thread or selector is configured no more: what is shown of them, and what the log says.

internal import Jobs
internal import Wording

extension JobDesk {
    /// How many jobs in the journal wait for a thread or selector that is not there.
    var orphanedCount: Int {
        stored.orphans.count + stored.unserved.count
    }

    /// Tells how many jobs wait for threads that are not there, and what can be done.
    func reportOrphans() {
        for (thread, count) in stored.orphans.threads {
            log.warning(
                "thread \(quoted(thread)) is not configured any more, and has "
                    + "\(counted(count, "job")) in the journal: configure it again and they run, or "
                    + "take them back (JOBS \(thread) lists them, CANCEL ends them)")
        }
    }

    /// Tells how many jobs wait for selectors that are not there, and what can be done.
    func reportUnserved() {
        for (selector, thread, count) in stored.unserved.byThread {
            log.warning(
                "selector \(quoted(selector)) is not configured any more, and has "
                    + "\(counted(count, "job")) for thread \(quoted(thread)) in the journal: configure it "
                    + "again and they run, or take them back (JOBS \(thread) lists them, "
                    + "CANCEL \(thread) \(selector) ends them)")
        }
    }

    /// Whether there is code for a job.
    func isServed(_ job: Job) -> Bool { handlers[job.selector] != nil }

    /// Jobs of a queue have been counted that nobody serves, by their selectors.
    func noteUnserved(_ amounts: [String: JobAmount], of queue: QueueName) {
        let isOrphaned = (try? lane(of: queue.thread)) == nil
        for (selector, amount) in amounts {
            if isOrphaned {
                stored.orphans.add(amount, to: queue)
            } else {
                stored.unserved.add(amount.count, of: selector, to: queue)
            }
        }
    }

    /// Whether a name is that of a thread, or of one that is missing and has jobs.
    func isKnown(_ thread: String) -> Bool {
        stored.orphans.count(of: thread) != nil || (try? lane(of: thread)) != nil
    }

    /// The queues that a command about the jobs of a thread means, of one that is missing too.
    func queues(addressedBy thread: String, _ lane: Lane?) -> [QueueName] {
        guard let lane else { return stored.orphans.queues(of: thread) }
        return stored.backlogs(of: lane, addressedBy: thread).map(\.queue)
    }
}
