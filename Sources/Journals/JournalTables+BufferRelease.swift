// The release of buffered jobs, a batch at a time.

internal import Jobs

extension JournalTables {
    /// Releases some buffered jobs; part of a transaction.
    ///
    /// - Parameter stock: the jobs that have been counted.
    func fire(
        _ part: ReleaseBatch, _ stock: RecoveryCount
    ) throws(StoreFault) -> BufferRelease {
        var firing = BufferRelease()
        for (place, queue) in part.queues.enumerated() {
            let room = part.countMax - firing.count
            let after = part.place(of: queue).id
            let fired = try fire(
                queue, after: after, before: part.before, limit: room, at: part.moment)
            firing.count += fired.count
            firing.counted[queue] = fired.reduce(into: [:]) { amounts, job in
                guard stock.includes(job.id) else { return }
                amounts[job.selector, default: JobAmount()] += .one(job.byteCount)
            }
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
