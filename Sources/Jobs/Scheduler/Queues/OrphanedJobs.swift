// Jobs of an earlier run whose thread the configuration no longer names: none of them comes into
// memory, and no lane counts them. They are counted here, so that they are seen.

/// How many jobs wait for threads that are not there, by their queues.
///
/// Owned by `JobQueues`.
package struct OrphanedJobs {
    private var amounts: [QueueName: JobAmount] = [:]

    /// All of them, as far as they have been counted.
    package var count: Int { amounts.values.reduce(0) { $0 + $1.count } }

    /// The names of the missing threads with the number of their jobs, in the order of the names.
    package var threads: [(name: String, count: Int)] {
        var counts: [String: Int] = [:]
        for (queue, amount) in amounts where amount.count > 0 {
            counts[queue.thread, default: 0] += amount.count
        }
        return counts.sorted { $0.key < $1.key }.map { (name: $0.key, count: $0.value) }
    }

    /// How many jobs wait for a thread that is missing; nil if none ever did.
    package func count(of thread: String) -> Int? {
        let queues = queues(of: thread)
        return queues.isEmpty ? nil : queues.reduce(0) { $0 + (amounts[$1]?.count ?? 0) }
    }

    /// The queues of a missing thread, or of all.
    func queues(of thread: String?) -> [QueueName] {
        amounts.keys.filter { thread == nil || $0.thread == thread }
    }

    /// There is such a queue, and so many of its jobs have been counted.
    mutating func add(_ amount: JobAmount, to queue: QueueName) {
        amounts[queue, default: JobAmount()] += amount
    }

    /// A job was taken back that had been counted.
    ///
    /// - Returns: false if none was counted.
    mutating func remove(byteCount: Int, from queue: QueueName) -> Bool {
        amounts[queue]?.subtract(.one(byteCount)) ?? false
    }
}
