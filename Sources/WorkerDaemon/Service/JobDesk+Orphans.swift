// Jobs whose thread is configured no more: what is shown of them, and what the log says.

internal import Jobs
internal import Wording

extension JobDesk {
    /// Tells how many jobs wait for threads that are not there, and what can be done.
    func reportOrphans() {
        for (thread, count) in durable?.orphans.threads ?? [] {
            log.warning(
                "thread \(quoted(thread)) is not configured any more, and has "
                    + "\(counted(count, "job")) in the journal: configure it again and they run, or "
                    + "take them back (JOBS \(thread) lists them, CANCEL ends them)")
        }
    }

    /// Finds out whether a name is that of a thread, or of one that is missing and has jobs.
    func checkKnown(_ thread: String) throws(WireError) {
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
