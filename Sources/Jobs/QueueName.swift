// The name of a queue: jobs of one thread and priority, in order.

/// A queue: the durable jobs of one priority that wait for one thread.
package struct QueueName: Hashable, Comparable, Sendable {
    /// The thread or pool that runs them.
    package let thread: String

    /// Their priority.
    package let priority: Priority

    /// The queue of a thread and priority.
    package init(thread: String, priority: Priority) {
        self.thread = thread
        self.priority = priority
    }
}

extension QueueName {
    /// By thread, then by priority.
    package static func < (left: QueueName, right: QueueName) -> Bool {
        left.thread != right.thread
            ? left.thread < right.thread : left.priority.rawValue < right.priority.rawValue
    }
}

extension Job {
    /// The queue in which it waits.
    package var queue: QueueName { QueueName(thread: thread, priority: priority) }
}
