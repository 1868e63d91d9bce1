// Stored jobs whose thread the configuration no longer names: none of them comes into memory, and
// no lane counts them. They are counted here, so that they are seen, and so that a thread that
// comes back finds them counted.

/// How many jobs wait for threads that are not there, by their queues.
///
/// Owned by `JobQueues`.
package struct OrphanedJobs {
    /// The jobs of one queue.
    struct Counts {
        /// By their states in the store.
        var amounts: [JobState: JobAmount] = [:]
        /// Jobs without a handler, by selector and state.
        var unserved: [String: [JobState: JobAmount]] = [:]

        var count: Int {
            unserved.values.reduce(amounts.values.reduce(0) { $0 + $1.count }) { sum, amounts in
                amounts.values.reduce(sum) { $0 + $1.count }
            }
        }
    }

    private var counts: [QueueName: Counts] = [:]

    /// All of them, as far as they have been counted.
    package var count: Int { counts.values.reduce(0) { $0 + $1.count } }

    /// The names of the missing threads with the number of their jobs, in the order of the names.
    package var threads: [(name: String, count: Int)] {
        var sums: [String: Int] = [:]
        for (queue, jobs) in counts where jobs.count > 0 {
            sums[queue.thread, default: 0] += jobs.count
        }
        return sums.sorted { $0.key < $1.key }.map { (name: $0.key, count: $0.value) }
    }

    /// How many jobs wait for a thread that is missing; nil if none ever did.
    package func count(of thread: String) -> Int? {
        let queues = queues(of: thread)
        return queues.isEmpty ? nil : queues.reduce(0) { $0 + (counts[$1]?.count ?? 0) }
    }

    /// The queues of a missing thread, or of all.
    func queues(of thread: String?) -> [QueueName] {
        counts.keys.filter { thread == nil || $0.thread == thread }
    }

    /// There is such a queue.
    mutating func add(_ queue: QueueName) {
        if counts[queue] == nil { counts[queue] = Counts() }
    }

    /// So many jobs of a queue have been counted.
    mutating func add(_ amount: JobAmount, _ state: JobState, to queue: QueueName) {
        counts[queue, default: Counts()].amounts[state, default: JobAmount()] += amount
    }

    /// So many jobs without a handler have been counted.
    mutating func add(
        _ amount: JobAmount, _ state: JobState, of selector: String, to queue: QueueName
    ) {
        counts[queue, default: Counts()]
            .unserved[selector, default: [:]][state, default: JobAmount()] += amount
    }

    /// A job was taken back that had been counted.
    ///
    /// - Returns: false if none was counted.
    mutating func remove(_ job: CountedJob, from queue: QueueName) -> Bool {
        let one = JobAmount.one(job.byteCount)
        if counts[queue]?.unserved[job.selector]?[job.state]?.subtract(one) == true { return true }
        return counts[queue]?.amounts[job.state]?.subtract(one) ?? false
    }

    /// Buffered jobs of a queue and selector were released: they are delayed, and due.
    mutating func release(_ amount: JobAmount, of selector: String, to queue: QueueName) {
        if counts[queue]?.unserved[selector]?[.buffered]?.subtract(amount) == true {
            add(amount, .delayed, of: selector, to: queue)
        } else if counts[queue]?.amounts[.buffered]?.subtract(amount) == true {
            add(amount, .delayed, to: queue)
        }
    }

    /// The thread of a queue is there again.
    mutating func take(_ queue: QueueName) -> Counts? { counts.removeValue(forKey: queue) }

    /// There is a handler for a selector.
    mutating func serve(_ selector: String) {
        for queue in counts.keys {
            guard let amounts = counts[queue]?.unserved.removeValue(forKey: selector) else {
                continue
            }
            for (state, amount) in amounts { add(amount, state, to: queue) }
        }
    }
}
