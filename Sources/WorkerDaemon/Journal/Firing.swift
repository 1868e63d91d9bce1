// Letting buffered jobs go, however many there are: part by part, each a transaction of its own, so that
// others have their turn in between and memory holds one part at a time.

internal import Jobs
internal import SQLiteJobs

/// Buffered jobs that are to be let go, and how many of them at once.
struct FirePart: Sendable {
    /// Whose jobs, one queue after another.
    var queues: [QueueName]
    /// Of the first queue, those up to this one have been let go.
    var after = JobID(0)
    /// None that was buffered later than the command came.
    let before: JobID
    /// When they are due.
    let moment: Int64
    /// Whether its answer waits for the disk: behind the first part, one sync at the end does for all.
    var isSynced = true
    /// How many are let go at once.
    let countMax: Int
    /// How many of them come with the answer, and how large they may be together.
    var loadCountMax = 1
    var loadByteCountMax = 1

    /// Behind which place the jobs of a queue are that this part lets go.
    func place(of queue: QueueName) -> DueKey {
        DueKey(dueAt: moment, id: queue == queues.first ? after : JobID(0))
    }
}

/// What a part of a firing has let go.
struct JournalFiring: Sendable {
    var count = 0
    /// Of those that had been counted, by the queues that it came to.
    var counted: [QueueName: JobAmount] = [:]
    /// What is left to do; nil if nothing is.
    var rest: FirePart?
}

extension SQLiteStore {
    /// Lets some buffered jobs go; part of a transaction.
    ///
    /// - Parameters:
    ///   - stock: which jobs have been counted.
    ///   - isServed: told a selector; jobs of those that nobody serves are not counted with the others.
    func fire(
        _ part: FirePart, _ stock: JournalStock, isServed: (String) -> Bool
    ) throws(StoreFault) -> JournalFiring {
        var firing = JournalFiring()
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
