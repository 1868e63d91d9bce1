// The driver's memory of changes of its threads and selectors.

internal import Jobs
internal import WorkerThreads

/// The answers that changes wait for, replaced threads, and the pauses on record.
///
/// Confined to the driver's thread.
struct ServingChanges {
    /// The name of changes as a client of the scheduler.
    static let client = UInt64.max - 1

    private var awaited: [UInt64: (JobError?) -> Void] = [:]
    private var lastNumber: UInt64 = 0
    /// Threads of groups that were removed or changed, until they have ended.
    private(set) var retired: [WorkerGroup] = []
    /// The names of threads and pools that are paused, also of missing ones.
    private(set) var pausedNames: Set<String> = []
    /// The threads of which a claim that was under way may have read jobs as such without a handler
    /// that have one now.
    private var stale: Set<String> = []

    /// Whether no change waits for an answer.
    var areDone: Bool { awaited.isEmpty }

    /// A token whose answer is told to `body`.
    mutating func reply(then body: @escaping (JobError?) -> Void) -> ReplyToken {
        lastNumber += 1
        awaited[lastNumber] = body
        return ReplyToken(client: Self.client, number: lastNumber)
    }

    /// Takes out the receiver of an answer.
    mutating func take(_ number: UInt64) -> ((JobError?) -> Void)? {
        awaited.removeValue(forKey: number)
    }

    /// Some threads have jobs that have got a handler, and are not served here, or not yet.
    mutating func noteStale(_ threads: [String]) { stale.formUnion(threads) }

    /// Takes out the threads among these whose jobs have to be read anew.
    mutating func takeStale(of threads: [String]) -> [String] {
        let found = stale.intersection(threads)
        stale.subtract(found)
        return found.sorted()
    }

    mutating func retire(_ group: WorkerGroup) {
        retired.removeAll { $0.members.allSatisfy(\.thread.hasEnded) }
        retired.append(group)
    }

    /// Notes a change of the pauses, as the store records it.
    mutating func note(_ change: PauseChange) {
        pausedNames.subtract(change.goingOn)
        if let pool = change.poolGoingOn {
            pausedNames = pausedNames.filter { $0 != pool && !$0.hasPrefix("\(pool)/") }
        }
        pausedNames.formUnion(change.paused)
    }
}
