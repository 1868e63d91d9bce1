// Jobs of an earlier run whose selector the configuration no longer names, though it names their
// thread. None of them comes into memory, and no lane counts them: they are counted here, by the
// stock that is taken of the file, since no new ones can come.

/// How many jobs wait for selectors that are not there, by their queues.
///
/// Owned by `JobQueues`.
package struct UnknownSelectorJobs {
    private var counts: [QueueName: [String: Int]] = [:]

    /// All of them, as far as they have been counted.
    package var count: Int { counts.values.reduce(0) { $1.values.reduce($0, +) } }

    /// How many each selector has on each thread, in the order of their names.
    package var byThread: [(selector: String, thread: String, count: Int)] {
        var sums: [String: [String: Int]] = [:]
        for (queue, selectors) in counts {
            for (selector, count) in selectors where count > 0 {
                sums[selector, default: [:]][queue.thread, default: 0] += count
            }
        }
        return sums.sorted { $0.key < $1.key }.flatMap { selector, threads in
            threads.sorted { $0.key < $1.key }.map { (selector, $0.key, $0.value) }
        }
    }

    /// How many each selector has, in the order of their names.
    package var bySelector: [(name: String, count: Int)] {
        let sums: [String: Int] = counts.values.reduce(into: [:]) {
            $0.merge($1, uniquingKeysWith: +)
        }
        return sums.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// So many jobs of a selector have been counted.
    mutating func add(_ count: Int, of selector: String, to queue: QueueName) {
        counts[queue, default: [:]][selector, default: 0] += count
    }

    /// A job was taken back that had been counted.
    ///
    /// - Returns: false if none was counted.
    mutating func remove(_ selector: String, from queue: QueueName) -> Bool {
        guard let count = counts[queue]?[selector], count > 0 else { return false }
        counts[queue]?[selector] = count - 1
        return true
    }
}
