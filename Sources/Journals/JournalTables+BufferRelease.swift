// The release of buffered jobs, a batch at a time.

internal import Jobs

extension JournalTables {
    /// Releases some buffered jobs; part of a transaction.
    ///
    /// - Parameters:
    ///   - stock: the jobs that have been counted.
    ///   - isServed: whether a selector has a handler; jobs without one are counted apart.
    func fire(
        _ part: ReleaseBatch, _ stock: RecoveryCount, isServed: (String) -> Bool
    ) throws(StoreFault) -> BufferRelease {
        var firing = BufferRelease()
        for (place, queue) in part.queues.enumerated() {
            let room = part.countMax - firing.count
            let after = part.place(of: queue).id
            let fired = try fire(
                queue, after: after, before: part.before, limit: room, at: part.moment)
            firing.count += fired.count
            var amount = JobAmount()
            for job in fired
            where stock.includes(job.id) && isServed(job.selector) {
                amount += .one(job.byteCount)
            }
            firing.counted[queue] = amount
            if fired.count == room {
                var rest = part
                rest.queues = Array(part.queues[place...])
                rest.after = fired.last?.id ?? after
                rest.isSynced = false
                firing.rest = rest
                break
            }
        }
        return firing
    }
}
