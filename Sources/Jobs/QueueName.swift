// The queues of a thread's waiting jobs: one for each priority.

/// The lane in which a job waits; its raw value is the index of that lane, the highest first.
package enum Priority: Int, CaseIterable, Sendable {
    case high
    case normal
    case low

    /// Reads a name as the wire has it, in any letter case.
    package init?(name bytes: some Collection<UInt8>) {
        let match = Self.allCases.first { priority in
            // Upper and lower case ASCII letters differ in bit 5, which the names have set.
            priority.name.utf8.elementsEqual(bytes) { letter, byte in
                letter == byte || letter == byte ^ 0x20
            }
        }
        guard let match else { return nil }
        self = match
    }

    /// The name on the wire and in listings.
    package var name: String {
        switch self {
        case .high: "high"
        case .normal: "normal"
        case .low: "low"
        }
    }
}

/// A queue: the durable jobs of one priority that wait for one thread, or in one slot.
package struct QueueName: Hashable, Comparable, Sendable {
    /// The thread or pool that runs them, or their slot of a spread pool.
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
    package var queue: QueueName { QueueName(thread: slot, priority: priority) }
}
