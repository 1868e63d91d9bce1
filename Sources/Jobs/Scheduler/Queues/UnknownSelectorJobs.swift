// Jobs of an earlier run whose selector the configuration no longer names, though it names their
// thread. None of them comes into memory, and no lane counts them: they are counted here, by the
// stock that is taken of the file, since no new ones can come.

/// How many jobs wait for selectors that are not there, by their queues.
///
/// Owned by `JobQueues`.
package struct UnknownSelectorJobs {
    private var counts: [QueueName: [String: [JobState: JobAmount]]] = [:]

    private static func count(_ amounts: [JobState: JobAmount]) -> Int {
        amounts.values.reduce(0) { $0 + $1.count }
    }

    /// All of them, as far as they have been counted.
    package var count: Int {
        counts.values.reduce(0) { $1.values.reduce($0) { $0 + Self.count($1) } }
    }

    /// How many each selector has on each thread, in the order of their names.
    package var byThread: [(selector: String, thread: String, count: Int)] {
        var sums: [String: [String: Int]] = [:]
        for (queue, selectors) in counts {
            for (selector, amounts) in selectors where Self.count(amounts) > 0 {
                sums[selector, default: [:]][PoolSlot.shown(queue.thread), default: 0] +=
                    Self.count(amounts)
            }
        }
        return sums.sorted { $0.key < $1.key }.flatMap { selector, threads in
            threads.sorted { $0.key < $1.key }.map { (selector, $0.key, $0.value) }
        }
    }

    /// How many each selector has, in the order of their names.
    package var bySelector: [(name: String, count: Int)] {
        let sums: [String: Int] = counts.values.reduce(into: [:]) {
            $0.merge($1.mapValues(Self.count), uniquingKeysWith: +)
        }
        return sums.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// So many jobs of a selector have been counted.
    mutating func add(
        _ amount: JobAmount, _ state: JobState, of selector: String, to queue: QueueName
    ) {
        counts[queue, default: [:]][selector, default: [:]][state, default: JobAmount()] += amount
    }

    /// A job was taken back that had been counted.
    ///
    /// - Returns: false if none was counted.
    mutating func remove(_ job: CountedJob, from queue: QueueName) -> Bool {
        counts[queue]?[job.selector]?[job.state]?.subtract(.one(job.byteCount)) ?? false
    }

    /// Buffered jobs of a selector were released: they are delayed, and due.
    mutating func release(_ amount: JobAmount, of selector: String, to queue: QueueName) {
        guard counts[queue]?[selector]?[.buffered]?.subtract(amount) == true else { return }
        add(amount, .delayed, of: selector, to: queue)
    }

    /// Takes out the jobs of a selector, for which there is a handler now, by queue and state.
    mutating func take(selector: String) -> [(queue: QueueName, amounts: [JobState: JobAmount])] {
        counts.keys.sorted().compactMap { queue in
            counts[queue]?.removeValue(forKey: selector).map { (queue, $0) }
        }
    }

    /// Takes out the jobs of a queue, whose thread goes.
    mutating func take(_ queue: QueueName) -> [String: [JobState: JobAmount]] {
        counts.removeValue(forKey: queue) ?? [:]
    }
}
