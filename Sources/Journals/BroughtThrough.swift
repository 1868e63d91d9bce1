// The boundary of each queue between jobs in memory and parked jobs. Jobs come queue by queue,
// mostly many of one after another.

package import Jobs

/// The last job of each queue that was loaded into memory or began there; parked jobs are behind
/// it.
///
/// Confined to the journal's thread.
package struct BroughtThrough {
    private var others: [QueueName: JobID] = [:]
    /// The queue of the latest note, which may be among the others with an earlier job.
    private var latest: (queue: QueueName, id: JobID)?

    /// The last job of a queue; the number 0 for none.
    package subscript(queue: QueueName) -> JobID {
        if let latest, latest.queue == queue { return latest.id }
        return others[queue] ?? JobID(0)
    }

    /// No job of a queue is in memory any more.
    mutating func forget(_ queue: QueueName) {
        others[queue] = nil
        if latest?.queue == queue { latest = nil }
    }

    /// A job is in memory.
    mutating func note(_ id: JobID, of queue: QueueName) {
        if let latest, latest.queue != queue { others[latest.queue] = latest.id }
        latest = (queue, id)
    }
}
