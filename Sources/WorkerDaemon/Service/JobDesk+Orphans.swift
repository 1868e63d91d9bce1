// Jobs whose thread or selector is configured no more: what is shown of them, and what the log says.

internal import Jobs
internal import Wording

extension JobDesk {
    /// How many jobs in the journal wait for a thread or selector that is not there.
    var orphanedCount: Int {
        durable.map { $0.orphans.count + $0.unserved.count } ?? 0
    }

    /// Tells how many jobs wait for threads that are not there, and what can be done.
    func reportOrphans() {
        for (thread, count) in durable?.orphans.threads ?? [] {
            log.warning(
                "thread \(quoted(thread)) is not configured any more, and has "
                    + "\(counted(count, "job")) in the journal: configure it again and they run, or "
                    + "take them back (JOBS \(thread) lists them, CANCEL ends them)")
        }
    }

    /// Tells how many jobs wait for selectors that are not there, and what can be done.
    func reportUnserved() {
        for (selector, thread, count) in durable?.unserved.byThread ?? [] {
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
        guard let durable else { return }
        let isOrphaned = (try? lane(of: queue.thread)) == nil
        for (selector, amount) in amounts {
            if isOrphaned {
                durable.orphans.add(amount, to: queue)
            } else {
                durable.unserved.add(amount.count, of: selector, to: queue)
            }
        }
    }

    /// Finds out whether a name is that of a thread, or of one that is missing and has jobs.
    func checkKnown(_ thread: String) throws(JobError) {
        guard durable?.orphans.count(of: thread) == nil else { return }
        _ = try lane(of: thread)
    }

    /// The queues that a command about the jobs of a thread means, of one that is missing too.
    func queues(addressedBy thread: String, _ lane: Lane?) -> [QueueName] {
        guard let durable else { return [] }
        guard let lane else { return durable.orphans.queues(of: thread) }
        return durable.backlogs(of: lane, addressedBy: thread).map(\.queue)
    }
}
