// A place in a pool: who sits there changes when its thread is replaced
// (WorkerPool+Replacing.swift).

internal import Synchronization

/// A member's place, by which others wake its present occupant.
final class PoolSeat: Sendable {
    private let member: Mutex<PoolMember>

    init(_ member: PoolMember) { self.member = Mutex(member) }

    /// The present occupant.
    ///
    /// - Thread: any thread.
    var occupant: PoolMember { member.withLock { $0 } }

    /// Lets the occupant look at the queues.
    ///
    /// - Thread: any thread.
    func wake() { occupant.wake() }

    /// - Returns: the member that had the seat before.
    func seat(_ successor: PoolMember) -> PoolMember {
        member.withLock { member in
            defer { member = successor }
            return member
        }
    }
}

/// The threads of a pool, which change only when one is replaced.
final class PoolThreads: Sendable {
    private let first: [WorkerThread]
    /// Whether `current` has to be asked; set once, after that has been written.
    private let isChanged = Atomic<Bool>(false)
    private let current: Mutex<[WorkerThread]>

    init(_ threads: [WorkerThread]) {
        first = threads
        current = Mutex(threads)
    }

    /// All of them, in the order of their places.
    var all: [WorkerThread] { withAll { $0 } }

    /// Reads all of them, in the order of their places, mostly without a copy.
    func withAll<Result>(_ body: ([WorkerThread]) -> Result) -> Result {
        isChanged.load(ordering: .acquiring) ? body(current.withLock { $0 }) : body(first)
    }

    func replace(_ index: Int, by thread: WorkerThread) {
        // A new array: other threads read the old one's elements without the lock.
        current.withLock { current in
            var changed = Array(current)
            changed.reserveCapacity(current.count + 1)
            changed[index] = thread
            current = changed
        }
        isChanged.store(true, ordering: .releasing)
    }
}
