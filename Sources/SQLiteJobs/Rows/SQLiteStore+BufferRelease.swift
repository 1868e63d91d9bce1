// Letting buffered jobs go, a batch at a time.

internal import Jobs

extension SQLiteStore {
    /// Lets some buffered jobs go; part of a transaction.
    ///
    /// - Parameters:
    ///   - stock: which jobs have been counted.
    ///   - isServed: told a selector; jobs of those that nobody serves are not counted with the others.
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
